// Who lives below a process, read from /proc. Also compiled into pawl-shim, so it uses nothing but
// the system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace pawl::os {

// What belongs together: every descendant of `root`, and every process of `user` when that is a
// user of its own.
struct Family {
  pid_t root = -1;  // itself not a member
  std::optional<uid_t> user{};
};

// Living members (zombies are left out). A snapshot: members may fork meanwhile.
std::vector<pid_t> LivingMembers(const Family& family);

// Threads that count towards the user's RLIMIT_NPROC.
std::uint64_t LivingThreads(uid_t user);

// Sends the signal to each member of one snapshot, through descriptors that cannot hit a successor
// of the number. Returns how many there were.
std::size_t SignalMembers(const Family& family, int signal);

// Sums the resident memory of the family: first the cheap figure, which counts shared pages once
// a process; only when that is above `bound` the exact proportional one.
std::uint64_t ResidentBytes(const Family& family, std::uint64_t bound);

}  // namespace pawl::os
