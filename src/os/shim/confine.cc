#include "os/shim/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "os/shim/landlock.h"
#include "os/shim/syscall_filter.h"

namespace pawl::os {
namespace {

constexpr rlim_t kOpenFilesHard = 16384;
constexpr rlim_t kOpenFilesSoft = 4096;

// Lowers a limit; never asks for more than there is, which only root may.
int Limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return errno;
  now.rlim_max = std::min(now.rlim_max, hard);
  now.rlim_cur = std::min(now.rlim_max, soft);
  return ::setrlimit(resource, &now) == 0 ? 0 : errno;
}

int SetLimits(const Plan& plan) {
  int failed = Limit(RLIMIT_CORE, 0, 0);
  if (failed == 0) failed = Limit(RLIMIT_NOFILE, kOpenFilesSoft, kOpenFilesHard);
  if (failed == 0) failed = Limit(RLIMIT_NPROC, plan.processes, plan.processes);
  if (failed == 0) failed = Limit(RLIMIT_FSIZE, plan.file_size_bytes, plan.file_size_bytes);
  return failed;
}

// So that the kernel, when memory runs out, takes the command and not Pawl. It may be refused where
// /proc is read-only; the memory bound does not rest on it.
void VolunteerForOomKiller() {
  // The file belongs to root as long as the process is not dumpable, which the shim is not.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    if (::write(file, "800", 3) < 0) errno = 0;
    ::close(file);
  }
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int DropBoundingSet() {
  for (int capability = 0; capability < 64; ++capability) {
    if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) != 1) continue;
    // Only who holds CAP_SETPCAP may, and only who may hold a capability needs to.
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return errno;
  }
  return 0;
}

int ClearCapabilities() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(__NR_capset, &header, none.data()) == 0 ? 0 : errno;
}

int BecomeUser(uid_t user) {
  const gid_t group = user;
  if (::setgroups(0, nullptr) != 0) return errno;
  if (::setresgid(group, group, group) != 0) return errno;
  return ::setresuid(user, user, user) == 0 ? 0 : errno;
}

void ResetSignals() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none{};
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int CloseAllBut(int keep) {
  if (keep > 3 && ::syscall(__NR_close_range, 3U, static_cast<unsigned>(keep) - 1U, 0U) != 0) {
    return errno;
  }
  return ::syscall(__NR_close_range, static_cast<unsigned>(keep) + 1U, ~0U, 0U) == 0 ? 0 : errno;
}

}  // namespace

ConfineFailure Confine(const Plan& plan, int keep) {
  ::setsid();
  ::umask(022);
  ResetSignals();
  VolunteerForOomKiller();
  if (const int e = SetLimits(plan)) return {"set resource limits", e};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {"set no_new_privs", errno};
  if (plan.landlock_abi > 0) {
    if (const int e = ApplyLandlock(plan)) return {"apply Landlock", e};
  }
  if (const int e = DropBoundingSet()) return {"drop the bounding set", e};
  if (plan.own_user) {
    if (const int e = BecomeUser(plan.user)) return {"change the user", e};
  }
  // Should the shim be lost, the command goes with it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return {"tie the command to the shim", errno};
  if (const int e = ClearCapabilities()) return {"clear capabilities", e};
  if (::chdir(plan.folder) != 0) return {"enter the working folder", errno};
  if (const int e = CloseAllBut(keep)) return {"close descriptors", e};
  if (plan.filter) {
    if (const int e = InstallSyscallFilter(plan.sockets)) return {"install the call filter", e};
  }
  return {};
}

}  // namespace pawl::os
