// Faults at the system calls of one process, by strace: of pawl itself, not of what it starts.
// strace counts the calls of each name on its own, so a point is a name and a number.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/files.h"

namespace pawl::fault {

// What changes files. All of it is traced whatever is injected: strace injects nothing into a call
// that it does not trace.
inline constexpr const char* kWriteCalls =
    "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,mkdir,"
    "mkdirat,ftruncate,openat";

struct Point {
  std::string call;
  int at = 0;  // from 1

  std::string Text() const;
};

class Strace {
 public:
  explicit Strace(os::Path output) : output_(std::move(output)) {}

  // Why this machine does not let one process trace another; empty when it does.
  static std::string Missing();

  // Command lines to put before the program's.
  std::vector<std::string> Watching() const;
  std::vector<std::string> Killing(const Point& point) const;
  // `error` is a name such as "ENOSPC"; with `on`, from that point on and not only there.
  std::vector<std::string> Failing(const Point& point, const std::string& error,
                                   bool on = false) const;

  // Of the last call: how often each name was called, and how many faults fired in it.
  std::map<std::string, int> Counts() const;
  int Kills() const;
  int Failures() const;

 private:
  std::vector<std::string> Argv(const std::string& injection) const;
  std::vector<std::string> Lines() const;

  os::Path output_;
};

}  // namespace pawl::fault
