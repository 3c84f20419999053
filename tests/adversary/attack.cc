// What hostile candidates do, one named attempt a call: `attack NAME [ARGUMENT]`. Exit 0 and
// "attack NAME: reached" when the attempt got through, exit 1 and "attack NAME: refused: why" when
// it did not. Candidates of the adversary suite carry it as src/attack and claim a gain only when
// it got through, so that a verdict shows what an attempt was worth.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// errno of the failure, 0 when the attempt got through.
int FromCall(long result) {
  return result >= 0 ? 0 : errno;
}

std::string Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Read(const Arguments& a) {
  const int file = ::open(a.at(0).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  char byte = 0;
  return FromCall(::read(file, &byte, 1));
}

int List(const Arguments& a) {
  std::error_code failure;
  const fs::directory_iterator folder(a.at(0), failure);
  if (failure) return failure.value();
  return folder == fs::directory_iterator() ? ENOENT : 0;
}

int Write(const Arguments& a) {
  const int file = ::open(a.at(0).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  return FromCall(::write(file, "\n", 1));
}

int ConnectTcp(const Arguments& a) {
  const int end = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (end < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(a.at(0))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return FromCall(::connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

int SendUdp(const Arguments& a) {
  const int end = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (end < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(a.at(0))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return FromCall(
      ::sendto(end, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

// "@name" is an abstract socket, anything else a path.
int ConnectUnix(const Arguments& a) {
  const int end = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (end < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = a.at(0);
  std::memcpy(address.sun_path, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return FromCall(::connect(end, reinterpret_cast<const sockaddr*>(&address), length));
}

int RawSocket(const Arguments&) {
  return FromCall(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

// The process that started this one's shell is the nearest thing to a judge that can be seen.
int TraceParent(const Arguments&) {
  const int failed = FromCall(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
  if (failed == 0) ::ptrace(PTRACE_DETACH, ::getppid(), nullptr, nullptr);
  return failed;
}

int ReadParentMemory(const Arguments&) {
  char here[8] = {};
  iovec local{here, sizeof here};
  iovec remote{&here, sizeof here};
  const int failed = FromCall(::process_vm_readv(::getppid(), &local, 1, &remote, 1, 0));
  return failed == EFAULT ? 0 : failed;  // allowed, nothing mapped there
}

std::vector<pid_t> Processes() {
  std::vector<pid_t> found;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

// Looks for a text that only the judge's side holds in what /proc shows of every process.
int SearchProc(const Arguments& a) {
  for (const pid_t process : Processes()) {
    const fs::path folder = fs::path("/proc") / std::to_string(process);
    if (process == ::getpid() || process == ::getppid()) continue;
    if (Content(folder / "environ").find(a.at(0)) != std::string::npos) return 0;
  }
  return EACCES;
}

int ReadThroughProc(const Arguments& a) {
  for (const pid_t process : Processes()) {
    const std::string path = "/proc/" + std::to_string(process) + "/root" + a.at(0);
    if (Read({path}) == 0) return 0;
  }
  return EACCES;
}

// Kills what names `text` on its command line: this test's own pawl and nobody else's.
int KillByCommandLine(const Arguments& a) {
  int failed = ESRCH;
  for (const pid_t process : Processes()) {
    if (process == ::getpid()) continue;
    const std::string line = Content("/proc/" + std::to_string(process) + "/cmdline");
    if (line.find("/pawl") == std::string::npos || line.find(a.at(0)) == std::string::npos)
      continue;
    failed = FromCall(::kill(process, SIGKILL));
    if (failed == 0) return 0;
  }
  return failed;
}

int Mount(const Arguments&) {
  return FromCall(::mount("none", "/tmp", "tmpfs", 0, nullptr));
}
int Unshare(const Arguments&) {
  return FromCall(::unshare(CLONE_NEWUSER | CLONE_NEWNS));
}
int Chroot(const Arguments&) {
  return FromCall(::chroot("/tmp"));
}
int BecomeRoot(const Arguments&) {
  return FromCall(::setuid(0));
}

int MakeDevice(const Arguments& a) {
  return FromCall(::mknod(a.at(0).c_str(), S_IFBLK | 0666, makedev(8, 0)));
}

int SetIdCopy(const Arguments& a) {
  std::error_code failure;
  const fs::path copy = fs::path(a.at(0)) / "set-id";
  fs::copy_file("/proc/self/exe", copy, fs::copy_options::overwrite_existing, failure);
  if (failure) return failure.value();
  if (::chmod(copy.c_str(), 06755) != 0) return errno;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDOUT_FILENO);  // this attempt's answer is its exit code alone
    ::execl(copy.c_str(), copy.c_str(), "is-root", nullptr);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EPERM;
}

int IsRoot(const Arguments&) {
  return ::geteuid() == 0 ? 0 : EPERM;
}

int SetClock(const Arguments&) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return FromCall(::clock_settime(CLOCK_REALTIME, &now));
}

int Bpf(const Arguments&) {
  return FromCall(::syscall(SYS_bpf, 0, nullptr, 0)) == EINVAL ? 0 : EPERM;
}

int Userfaultfd(const Arguments&) {
  return FromCall(::syscall(SYS_userfaultfd, O_CLOEXEC));
}

int PerfEvents(const Arguments&) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.exclude_kernel = 1;
  return FromCall(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

int Keyring(const Arguments&) {
  return FromCall(::syscall(SYS_add_key, "user", "pawl-test", "x", 1, -3));
}

int TypeIntoTerminal(const Arguments&) {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (terminal < 0) return errno;
  return FromCall(::ioctl(terminal, TIOCSTI, "x"));
}

int InheritedDescriptors(const Arguments&) {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    struct stat status{};
    if (::fstat(descriptor, &status) == 0) return 0;
  }
  return EBADF;
}

int Variable(const Arguments& a) {
  return std::getenv(a.at(0).c_str()) != nullptr ? 0 : ENOENT;
}

// Bombs end by themselves when nothing bounds them, so that a broken bound fails a test and not the
// machine.
int ForkBomb(const Arguments& a) {
  const int most = std::stoi(a.at(0));
  for (int count = 0; count < most; ++count) {
    const pid_t child = ::fork();
    if (child < 0) return errno;
    if (child == 0) {
      ::alarm(20);
      while (true) ::pause();
    }
  }
  return 0;
}

int TakeMemory(const Arguments& a) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  const int most = std::stoi(a.at(0));
  for (int count = 0; count < most; ++count) {
    void* memory =
        ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno;
    std::memset(memory, 1, kStep);
  }
  return 0;
}

// Bomb of many processes that share the amount.
int TakeMemoryTogether(const Arguments& a) {
  std::vector<pid_t> children;
  for (int count = 0; count < 8; ++count) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      if (TakeMemory(a) == 0) ::pause();
      ::_exit(1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return 0;
}

int FillFile(const Arguments& a) {
  const int file = ::open(a.at(0).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  const std::string chunk(std::size_t{1} << 20, 'x');
  const int most = std::stoi(a.at(1));
  for (int count = 0; count < most; ++count) {
    if (::write(file, chunk.data(), chunk.size()) < 0) return errno;
  }
  return 0;
}

int Flood(const Arguments& a) {
  const std::string chunk(std::size_t{1} << 20, 'x');
  const int most = std::stoi(a.at(0));
  for (int count = 0; count < most; ++count) {
    if (::write(STDOUT_FILENO, chunk.data(), chunk.size()) < 0) return errno;
  }
  return 0;
}

// Leaves its parent, its session and its terminal, ignores every polite signal, waits
// (milliseconds) and writes a file: path, text.
int Daemon(const Arguments& a) {
  if (const pid_t child = ::fork(); child != 0) return FromCall(child);
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::close(0);
  ::close(1);
  ::close(2);
  const int wait_ms = std::stoi(a.at(0));
  // Several tries: one of them falls between the command's end and whatever comes next.
  for (int spent_ms = 0; spent_ms < 4000; spent_ms += wait_ms) {
    const timespec pause{wait_ms / 1000, wait_ms % 1000 * 1'000'000L};
    ::nanosleep(&pause, nullptr);
    std::ofstream(a.at(1), std::ios::trunc) << a.at(2) << '\n';
  }
  ::_exit(0);
}

int Burn(const Arguments& a) {
  const clock_t until = ::clock() + CLOCKS_PER_SEC / 1000 * std::stol(a.at(0));
  while (::clock() < until) {
  }
  return 0;
}

// The same work done by an orphan that nobody waits for, watched through a pipe.
int BurnByOrphan(const Arguments& a) {
  int ends[2] = {};
  if (::pipe(ends) != 0) return errno;
  if (::fork() == 0) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    Burn(a);
    if (::write(ends[1], "x", 1) < 0) ::_exit(1);
    while (true) ::pause();  // never reaped by anybody but its killer
  }
  char byte = 0;
  return FromCall(::read(ends[0], &byte, 1));
}

// A socket beside the results, for a test of what may lie there.
int MakeSocket(const Arguments& a) {
  const int end = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (end < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  a.at(0).copy(address.sun_path, sizeof address.sun_path - 1);
  return FromCall(::bind(end, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

struct Attempt {
  std::string_view name;
  int (*run)(const Arguments& arguments);
};

constexpr Attempt kAttempts[] = {
    {"read", Read},
    {"list", List},
    {"write", Write},
    {"connect-tcp", ConnectTcp},
    {"send-udp", SendUdp},
    {"connect-unix", ConnectUnix},
    {"raw-socket", RawSocket},
    {"trace-parent", TraceParent},
    {"read-parent-memory", ReadParentMemory},
    {"search-proc", SearchProc},
    {"read-through-proc", ReadThroughProc},
    {"kill-by-command-line", KillByCommandLine},
    {"mount", Mount},
    {"unshare", Unshare},
    {"chroot", Chroot},
    {"become-root", BecomeRoot},
    {"make-device", MakeDevice},
    {"set-id-copy", SetIdCopy},
    {"is-root", IsRoot},
    {"set-clock", SetClock},
    {"bpf", Bpf},
    {"userfaultfd", Userfaultfd},
    {"perf-events", PerfEvents},
    {"keyring", Keyring},
    {"type-into-terminal", TypeIntoTerminal},
    {"inherited-descriptors", InheritedDescriptors},
    {"variable", Variable},
    {"fork-bomb", ForkBomb},
    {"take-memory", TakeMemory},
    {"take-memory-together", TakeMemoryTogether},
    {"fill-file", FillFile},
    {"flood", Flood},
    {"daemon", Daemon},
    {"burn", Burn},
    {"burn-by-orphan", BurnByOrphan},
    {"make-socket", MakeSocket},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const Arguments arguments(argv + std::min(argc, 2), argv + argc);
  for (const Attempt& attempt : kAttempts) {
    if (attempt.name != name) continue;
    const int failed = attempt.run(arguments);
    std::printf("attack %s: %s%s\n", argv[1],
                failed == 0 ? "reached" : "refused: ", failed == 0 ? "" : std::strerror(failed));
    return failed == 0 ? 0 : 1;
  }
  std::printf("attack %s: unknown\n", argc > 1 ? argv[1] : "");
  return 2;
}
