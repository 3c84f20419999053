// Content-addressed files: named by the SHA-256 of their bytes, written once, never changed. An
// artifact is durable before the record that names it is committed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "os/files.h"

namespace pawl::store {

class Artifacts {
 public:
  // Folder layout: <folder>/ab/cdef... (64 hex digits split after two).
  static Result<Artifacts> Open(const os::Path& folder);

  // Stores bytes or a file's content (moved in by link or copy); not durable until Flush().
  Result<Sha256> Put(std::string_view bytes);
  Result<Sha256> PutFile(const os::Path& file);
  // Syncs everything put since the last Flush in as few system calls as possible.
  Status Flush();

  // Reads and re-hashes: kCorrupt when the bytes are not what the name says, kNotFound when absent.
  Result<std::string> Get(const Sha256& hash,
                          std::uint64_t max_bytes = std::uint64_t{256} << 20) const;
  bool Contains(const Sha256& hash) const;
  os::Path PathOf(const Sha256& hash) const;
  Status Check(const Sha256& hash) const;  // re-hash only

  // Everything stored, for verify and gc.
  Result<std::vector<Sha256>> List() const;
  Status Remove(const Sha256& hash);

 private:
  explicit Artifacts(os::Path folder) : folder_(std::move(folder)) {}
  os::Path folder_;
  std::vector<os::Path> unsynced_;
};

}  // namespace pawl::store
