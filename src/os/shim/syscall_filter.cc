#include "os/shim/syscall_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace pawl::os {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the system call filter knows x86-64 and AArch64"
#endif

constexpr std::uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kAbsent = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kNamespaceFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                          CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                          CLONE_NEWCGROUP;

constexpr int kDenied[] = {
    // other processes
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_process_madvise,
    __NR_pidfd_getfd,
    __NR_kcmp,
    __NR_perf_event_open,
    // mounts and namespaces
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_move_mount,
    __NR_open_tree,
    __NR_fsopen,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fspick,
    __NR_mount_setattr,
    __NR_setns,
    __NR_open_by_handle_at,
    __NR_name_to_handle_at,
    __NR_fanotify_init,
    __NR_quotactl,
    // wide doors into the kernel
    __NR_bpf,
    __NR_userfaultfd,
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    // the machine
    __NR_kexec_load,
    __NR_kexec_file_load,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_swapon,
    __NR_swapoff,
    __NR_reboot,
    __NR_acct,
    __NR_syslog,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_vhangup,
    // clocks
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_clock_adjtime,
    __NR_adjtimex,
#if defined(__x86_64__)
    __NR_iopl,
    __NR_ioperm,
    __NR_modify_ldt,
#endif
};

class Program {
 public:
  void Load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void Return(std::uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
  // Skips the next `count` instructions unless the loaded word equals `value`.
  void SkipUnless(std::uint32_t value, std::uint8_t count) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
  }
  void ReturnIf(std::uint32_t value, std::uint32_t action) {
    SkipUnless(value, 1);
    Return(action);
  }
  void ReturnIfAnyBit(std::uint32_t bits, std::uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    Return(action);
  }
  void ReturnIfAtLeast(std::uint32_t value, std::uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1));
    Return(action);
  }

  std::vector<sock_filter>& code() { return code_; }

 private:
  std::vector<sock_filter> code_;
};

constexpr std::size_t kNumber = offsetof(seccomp_data, nr);

// The low half of an argument: flags, families and requests all fit, on little-endian machines.
constexpr std::size_t Argument(std::size_t index) {
  return offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
}

std::uint32_t NumberOf(long call) {
  return static_cast<std::uint32_t>(call);
}

void AddSocketRule(Program& program, SocketRule sockets) {
  std::vector<std::uint32_t> families;
  if (sockets != SocketRule::kNone) families = {AF_UNIX, AF_INET, AF_INET6};
  if (sockets == SocketRule::kAllNet) families.push_back(AF_NETLINK);
  program.SkipUnless(NumberOf(__NR_socket), static_cast<std::uint8_t>(2 + 2 * families.size()));
  program.Load(Argument(0));
  for (const std::uint32_t family : families) program.ReturnIf(family, SECCOMP_RET_ALLOW);
  program.Return(kDeny);
}

Program Build(SocketRule sockets) {
  Program program;
  program.Load(offsetof(seccomp_data, arch));
  program.SkipUnless(kArchitecture, 1);
  program.code().push_back(BPF_STMT(BPF_JMP | BPF_JA, 1));
  program.Return(SECCOMP_RET_KILL_PROCESS);
  program.Load(kNumber);
#if defined(__x86_64__)
  program.ReturnIfAtLeast(0x40000000U, SECCOMP_RET_KILL_PROCESS);  // the x32 numbers
#endif
  for (const int call : kDenied) program.ReturnIf(NumberOf(call), kDeny);
  program.ReturnIf(NumberOf(__NR_clone3), kAbsent);
  for (const long call : {long{__NR_clone}, long{__NR_unshare}}) {
    program.SkipUnless(NumberOf(call), 4);
    program.Load(Argument(0));
    program.ReturnIfAnyBit(kNamespaceFlags, kDeny);
    program.Return(SECCOMP_RET_ALLOW);
  }
  program.SkipUnless(NumberOf(__NR_ioctl), 6);
  program.Load(Argument(1));
  program.ReturnIf(TIOCSTI, kDeny);  // types into the terminal of whoever started Pawl
  program.ReturnIf(0x541CU, kDeny);  // TIOCLINUX, the same by pasting
  program.Return(SECCOMP_RET_ALLOW);
  AddSocketRule(program, sockets);
  program.Return(SECCOMP_RET_ALLOW);
  return program;
}

}  // namespace

int InstallSyscallFilter(SocketRule sockets) {
  Program program = Build(sockets);
  sock_fprog filter{};
  filter.len = static_cast<unsigned short>(program.code().size());
  filter.filter = program.code().data();
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 ? 0 : errno;
}

}  // namespace pawl::os
