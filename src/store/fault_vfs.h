// For tests only: an SQLite VFS that lies between SQLite and the disk. It fails, tears or kills at
// the N-th operation that changes a file, and it can show what a power loss would leave: the synced
// state of every file plus any part of what was not synced.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "os/files.h"

namespace pawl::store {

enum class Fault : std::uint8_t {
  kNone,
  kNoSpace,     // half of the write lands, then ENOSPC; a sync fails alike
  kIoError,     // nothing lands, EIO
  kShortWrite,  // half of the write lands, then EIO
  kKill,        // half of the write lands, then SIGKILL
};

class FaultVfs {
 public:
  // Becomes SQLite's default VFS until destruction; one at a time.
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // The `at`-th changing operation from now on (0: the next one) gets the fault; later ones are
  // fine unless `sticky`.
  void Arm(Fault fault, std::int64_t at, bool sticky = false);
  void Disarm();
  std::int64_t operations() const { return operations_; }  // since Arm
  std::int64_t fired() const { return fired_; }            // faults since Arm

  // Writes what a power loss now could leave of the files below `from` into `to`.
  void CopyAfterPowerLoss(const os::Path& from, const os::Path& to, std::mt19937_64& rng) const;

  // For the shim's functions.
  Fault Next();
  void NoteOpen(const std::string& path);
  void NoteWrite(const std::string& path, std::string bytes, std::int64_t offset);
  void NoteTruncate(const std::string& path, std::int64_t size);
  void NoteSync(const std::string& path);
  void NoteDelete(const std::string& path);

 private:
  struct Change {
    std::int64_t offset = 0;  // of a write, or the new size
    std::string bytes;
    bool truncate = false;
  };
  struct Tracked {
    std::string synced;
    std::vector<Change> unsynced;
  };
  static void Apply(std::string& content, const Change& change);

  Fault fault_ = Fault::kNone;
  std::int64_t at_ = 0;
  bool sticky_ = false;
  std::int64_t operations_ = 0;
  std::int64_t fired_ = 0;
  std::map<std::string, Tracked> files_;
};

}  // namespace pawl::store
