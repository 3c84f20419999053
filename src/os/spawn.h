// The one place that starts processes: posix_spawn in an own process group, with a pidfd. Below
// process.h and sandbox.h; other modules use those.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace pawl::os {

struct Pipe {
  Fd read_end;   // non-blocking
  Fd write_end;  // blocking
};
Result<Pipe> MakePipe();
Result<Fd> OpenNull();

struct SpawnPlan {
  Path program;
  std::vector<std::string> argv;
  std::vector<std::string> env;
  Path cwd;                          // empty: the caller's
  std::array<int, 3> descriptors{};  // become 0, 1, 2
  int extra = -1;                    // becomes 3; everything else is closed
};

struct Child {
  pid_t pid = -1;
  Fd pidfd;  // readable when the child has ended
};
Result<Child> Spawn(const SpawnPlan& plan);

struct Reaped {
  int wait_status = 0;
};
// Waits for the end of the child and releases its number.
Result<Reaped> Reap(const Child& child);

// Opens a descriptor for a process that is not reaped yet.
Fd OpenPidfd(pid_t pid);
// Sends a signal through the descriptor: never to a process that took over the number.
void SendSignal(const Fd& pidfd, int signal);

}  // namespace pawl::os
