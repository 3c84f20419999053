// Content-addressed files: named by the SHA-256 of their bytes, written once, never changed. An
// artifact is durable before the record that names it is committed. Nothing in the folder that is
// not a regular file under its own hash is ever opened, followed or trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "os/files.h"
#include "store/sqlite.h"

namespace pawl::store {

class Artifacts {
 public:
  // Folder layout: <folder>/ab/cdef... (64 hex digits split after two). kCreate belongs to the
  // single writer: it makes the folder and clears temporary files of a killed one. With kReadOnly a
  // folder that does not exist is an empty store.
  static Result<Artifacts> Open(const os::Path& folder, OpenMode mode = OpenMode::kCreate);

  // Stores bytes or a copy of a regular file (links refused); not durable until Flush(). Content
  // that is there already is re-read, and replaced when it is damaged.
  Result<Sha256> Put(std::string_view bytes);
  Result<Sha256> PutFile(const os::Path& file);
  // Syncs everything put since the last Flush: the file system as a whole where that is cheapest,
  // which depends on how much others are writing, or file by file. After a failed
  // sync the kernel may have dropped the data, so the objects are removed and every later Flush
  // fails too: the process must end and start anew.
  enum class Sync : std::uint8_t { kCheapest, kEachFile };
  Status Flush(Sync how = Sync::kCheapest);

  // Reads and re-hashes: kCorrupt when the bytes are not what the name says, kNotFound when absent.
  Result<std::string> Get(const Sha256& hash,
                          std::uint64_t max_bytes = std::uint64_t{256} << 20) const;
  bool Contains(const Sha256& hash) const;
  os::Path PathOf(const Sha256& hash) const;
  Status Check(const Sha256& hash) const;  // re-hash only

  // Everything stored, sorted, for verify and gc.
  Result<std::vector<Sha256>> List() const;
  // Names below the folder that are no objects: links, devices, foreign files.
  Result<std::vector<std::string>> Strangers() const;
  Status Remove(const Sha256& hash);

 private:
  struct Unsynced {
    Sha256 hash;
    bool fresh = false;  // written by this process; otherwise it was there already
  };

  explicit Artifacts(os::Path folder) : folder_(std::move(folder)) {}
  Result<os::Fd> OpenObject(const Sha256& hash) const;
  Result<os::Fd> OpenFan(const Sha256& hash) const;
  Result<os::Fd> MakeFan(const Sha256& hash);
  // Writes a temporary file with what `fill` writes to its descriptor and gives it its name.
  Result<Sha256> Store(const std::function<Result<Sha256>(int fd)>& fill);
  Status Settle(const std::string& temporary, const Sha256& hash);
  Status SyncWhole() const;
  Status SyncEach() const;
  Status Stream(const Sha256& hash, const std::function<Status(std::string_view)>& take) const;

  os::Path folder_;
  os::Fd fd_;  // of the folder; invalid for a reader of a store that does not exist
  std::vector<Unsynced> unsynced_;
  Status failure_;
};

}  // namespace pawl::store
