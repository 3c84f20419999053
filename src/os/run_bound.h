// The memory bound and the complete CPU time of one run: a control group where this machine lets us
// make one, otherwise the sum of resident memory, looked at often.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "os/files.h"
#include "os/process_tree.h"

namespace pawl::os {

// Where groups can be made; found by making one.
struct GroupHomes {
  Path memory;  // empty: none
  bool memory_v2 = false;
  Path cpu;  // a v2 folder; it counts CPU time even without controllers
};
// Also ends and removes groups of Pawls that died.
GroupHomes FindGroupHomes();

class RunBound {
 public:
  static Result<RunBound> Make(const Path& memory_home, const Path& cpu_home,
                               std::uint64_t memory_bytes);
  ~RunBound();
  RunBound(RunBound&& other) noexcept;
  RunBound& operator=(RunBound&&) = delete;
  RunBound(const RunBound&) = delete;
  RunBound& operator=(const RunBound&) = delete;

  // Puts a process with one thread, and all that it will start, under the bound.
  Status Adopt(pid_t pid);
  // Whether the bound was hit. Cheap with a group; walks the family without one.
  bool MemoryExceeded(const Family& family) const;
  bool grouped() const { return !memory_.empty(); }
  // How often MemoryExceeded is to be asked.
  std::chrono::milliseconds interval() const;
  // Of everything that ever lived in the group; nothing without one.
  std::optional<double> CpuSeconds() const;

 private:
  explicit RunBound(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}
  Status LimitMemory();

  std::uint64_t memory_bytes_;
  Path memory_;
  Path cpu_;  // may be the same folder
};

}  // namespace pawl::os
