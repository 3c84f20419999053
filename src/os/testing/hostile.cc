// The commands that the sandbox tests run: each does one thing that a command must not get away
// with, or reports what it could do. Statically linked, so that it runs at every level.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

namespace {

void SleepForever() {
  while (true) ::pause();
}

void EatMemory() {
  constexpr std::size_t kStep = std::size_t{4} << 20;
  while (true) {
    void* block =
        ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) SleepForever();
    std::memset(block, 1, kStep);
  }
}

// Forks until it is refused, prints how often that worked, and leaves the children.
void ForkUntilRefused() {
  int count = 0;
  while (true) {
    const pid_t pid = ::fork();
    if (pid == 0) SleepForever();
    if (pid < 0) break;
    ++count;
  }
  std::printf("%d\n", count);
}

void ForkForever() {
  while (true) ::fork();
}

// Leaves group, session and parent behind again and again.
void Hop() {
  if (::fork() != 0) return;
  while (true) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
  }
}

void LeaveZombies() {
  for (int i = 0; i < 100; ++i) {
    if (::fork() == 0) ::_exit(0);
  }
  ::usleep(20'000);
}

void StopEverything() {
  if (::fork() == 0) {
    ::kill(::getpid(), SIGSTOP);
    SleepForever();
  }
  ::kill(::getpid(), SIGSTOP);
}

void IgnoreAskingNicely() {
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  if (::fork() == 0) SleepForever();
  SleepForever();
}

void FillDisk(const char* path) {
  const int file = ::open(path, O_CREAT | O_WRONLY, 0644);
  if (file < 0) ::_exit(3);
  static char block[1 << 16];
  while (::write(file, block, sizeof block) > 0) {
  }
  ::_exit(4);
}

void Flood() {
  std::puts("the head of the log");
  std::fflush(stdout);
  static char block[1 << 16];
  std::memset(block, 'x', sizeof block);
  for (int i = 0; i < 4096; ++i) {
    if (::write(i % 2 == 0 ? 1 : 2, block, sizeof block) < 0) ::_exit(3);
  }
  std::puts("the tail of the log");
}

void Burn(double seconds) {
  while (static_cast<double>(::clock()) / CLOCKS_PER_SEC < seconds) {
  }
}

// Children of a process that ignores SIGCHLD are never waited for: rusage forgets them.
void HideCpuTime() {
  ::signal(SIGCHLD, SIG_IGN);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Burn(0.3);
    ::_exit(0);
  }
  while (::kill(pid, 0) == 0) ::usleep(2000);
}

void Try(const char* name, long result) {
  std::printf("%s=%s\n", name, result >= 0 ? "ok" : ::strerrorname_np(errno));
}

void TryCalls() {
  Try("ptrace", ::syscall(__NR_ptrace, 0, 0, 0, 0));
  Try("process_vm_readv", ::syscall(__NR_process_vm_readv, ::getpid(), 0, 0, 0, 0, 0));
  Try("unshare_user", ::unshare(CLONE_NEWUSER));
  Try("unshare_files", ::unshare(CLONE_FILES));
  Try("clone_user", ::syscall(__NR_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  Try("clone3", ::syscall(__NR_clone3, nullptr, 0));
  Try("setns", ::syscall(__NR_setns, 0, 0));
  Try("mount", ::syscall(__NR_mount, "none", "/tmp", "tmpfs", 0, nullptr));
  Try("bpf", ::syscall(__NR_bpf, 0, nullptr, 0));
  Try("perf_event_open", ::syscall(__NR_perf_event_open, nullptr, 0, -1, -1, 0));
  Try("userfaultfd", ::syscall(__NR_userfaultfd, 0));
  Try("io_uring_setup", ::syscall(__NR_io_uring_setup, 1, nullptr));
  Try("keyctl", ::syscall(__NR_keyctl, 0, 0, 0, 0, 0));
  Try("kexec_load", ::syscall(__NR_kexec_load, 0, 0, nullptr, 0));
  Try("init_module", ::syscall(__NR_init_module, nullptr, 0, nullptr));
  Try("swapon", ::syscall(__NR_swapon, "/none", 0));
  Try("reboot", ::syscall(__NR_reboot, 0, 0, 0, nullptr));
  timespec now{};
  Try("clock_settime", ::syscall(__NR_clock_settime, CLOCK_REALTIME, &now));
  Try("adjtimex", ::syscall(__NR_adjtimex, nullptr));
  Try("tiocsti", ::ioctl(0, TIOCSTI, "x"));
  Try("packet", ::socket(AF_PACKET, SOCK_RAW, 0));
  Try("netlink", ::socket(AF_NETLINK, SOCK_RAW, 0));
  Try("inet", ::socket(AF_INET, SOCK_STREAM, 0));
  Try("unix", ::socket(AF_UNIX, SOCK_STREAM, 0));
  int pair[2];
  Try("socketpair", ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

void Connect(const char* port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<unsigned short>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Try("connect",
      socket < 0 ? -1 : ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

int Run(std::string_view what, const char* argument) {
  if (what == "memory") EatMemory();
  if (what == "memory-in-child") {
    if (::fork() == 0) EatMemory();
    ::wait(nullptr);
    SleepForever();
  }
  if (what == "fork-until-refused") ForkUntilRefused();
  if (what == "fork-forever") ForkForever();
  if (what == "hop") Hop();
  if (what == "zombies") LeaveZombies();
  if (what == "stop") StopEverything();
  if (what == "ignore-term") IgnoreAskingNicely();
  if (what == "fill-disk") FillDisk(argument);
  if (what == "flood") Flood();
  if (what == "burn") Burn(0.2);
  if (what == "hide-cpu") HideCpuTime();
  if (what == "calls") TryCalls();
  if (what == "connect") Connect(argument);
  if (what == "kill") Try("kill", ::kill(std::atoi(argument), 0));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return Run(argv[1], argc > 2 ? argv[2] : "");
}
