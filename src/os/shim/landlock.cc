#include "os/shim/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace pawl::os {
namespace {

// The structures of the kernel's interface; the headers of older systems lack the later members.
struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;  // since version 4
  std::uint64_t scoped = 0;   // since version 6
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

constexpr std::uint64_t kExecute = 1U << 0;
constexpr std::uint64_t kWriteFile = 1U << 1;
constexpr std::uint64_t kReadFile = 1U << 2;
constexpr std::uint64_t kReadFolder = 1U << 3;
constexpr std::uint64_t kRefer = 1U << 13;
constexpr std::uint64_t kTruncate = 1U << 14;
constexpr std::uint64_t kDeviceIoctl = 1U << 15;
constexpr std::uint64_t kFirstVersion = (1U << 13) - 1;
constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceIoctl;
constexpr std::uint64_t kBindAndConnectTcp = 3;
constexpr std::uint64_t kAbstractSocketsAndSignals = 3;
constexpr int kPathRule = 1;
constexpr unsigned kAskVersion = 1;

std::uint64_t FileRights(int version) {
  return kFirstVersion | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0) |
         (version >= 5 ? kDeviceIoctl : 0);
}

int Allow(int ruleset, const char* path, std::uint64_t rights) {
  const int parent = ::open(path, O_PATH | O_CLOEXEC);
  if (parent < 0) return errno == ENOENT ? 0 : errno;
  struct stat info{};
  int failed = ::fstat(parent, &info) == 0 ? 0 : errno;
  PathRule rule;
  rule.parent = parent;
  rule.allowed = S_ISDIR(info.st_mode) ? rights : rights & kFileRights;
  if (failed == 0 && ::syscall(__NR_landlock_add_rule, ruleset, kPathRule, &rule, 0) != 0) {
    failed = errno;
  }
  ::close(parent);
  return failed;
}

int AllowAll(int ruleset, const std::vector<const char*>& paths, std::uint64_t rights) {
  for (const char* path : paths) {
    if (const int failed = Allow(ruleset, path, rights); failed != 0) return failed;
  }
  return 0;
}

}  // namespace

int LandlockVersion() {
  const long version =
      ::syscall(__NR_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

int ApplyLandlock(const Plan& plan) {
  const int version = std::min(plan.landlock_abi, LandlockVersion());
  if (version < 1) return ENOSYS;
  RulesetAttributes attributes;
  attributes.files = FileRights(version);
  if (plan.sockets != SocketRule::kAllNet && version >= 4) attributes.network = kBindAndConnectTcp;
  if (version >= 6) attributes.scoped = kAbstractSocketsAndSignals;
  const std::size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const int ruleset =
      static_cast<int>(::syscall(__NR_landlock_create_ruleset, &attributes, size, 0U));
  if (ruleset < 0) return errno;
  const std::uint64_t device =
      kReadFile | kWriteFile | (attributes.files & (kTruncate | kDeviceIoctl));
  int failed = AllowAll(ruleset, plan.read_only, kExecute | kReadFile | kReadFolder);
  if (failed == 0) failed = AllowAll(ruleset, plan.writable, attributes.files);
  if (failed == 0) failed = AllowAll(ruleset, plan.devices, device);
  if (failed == 0 && ::syscall(__NR_landlock_restrict_self, ruleset, 0U) != 0) failed = errno;
  ::close(ruleset);
  return failed;
}

}  // namespace pawl::os
