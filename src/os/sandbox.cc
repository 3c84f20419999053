// The front of the sandbox: names, and one run from its description to its outcome. The parts:
// run_setup (what to start), bubblewrap (how, at L3), run_session (until nothing lives), run_bound
// (memory), shim/ (what happens inside).
#include "os/sandbox.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "os/run_session.h"
#include "os/run_setup.h"
#include "os/spawn.h"

namespace pawl::os {
namespace {

constexpr int kLogPipeBytes = 256 << 10;  // so that printing rarely makes a measured command wait

struct SocketPair {
  Fd ours;
  Fd theirs;
};

Result<SocketPair> MakeSocketPair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("cannot make a socket pair", errno);
  }
  SocketPair pair{Fd(ends[0]), Fd(ends[1])};
  const int yes = 1;
  if (::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
    return SystemError("cannot ask for credentials", errno);
  }
  return pair;
}

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? Format("SIG{}", name) : Format("signal {}", signal);
}

}  // namespace

std::string_view LevelName(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::kL0:
      return "L0";
    case IsolationLevel::kL1:
      return "L1";
    case IsolationLevel::kL2:
      return "L2";
    case IsolationLevel::kL3:
      return "L3";
  }
  return "L0";
}

std::optional<IsolationLevel> ParseLevel(std::string_view name) {
  for (const IsolationLevel level :
       {IsolationLevel::kL0, IsolationLevel::kL1, IsolationLevel::kL2, IsolationLevel::kL3}) {
    if (name == LevelName(level)) return level;
  }
  return std::nullopt;
}

std::string_view RunEndName(RunEnd end) {
  switch (end) {
    case RunEnd::kExited:
      return "exited";
    case RunEnd::kSignalled:
      return "signalled";
    case RunEnd::kTimeout:
      return "timeout";
    case RunEnd::kOutOfMemory:
      return "out-of-memory";
    case RunEnd::kCancelled:
      return "cancelled";
  }
  return "exited";
}

std::string RunOutcome::Describe() const {
  switch (end) {
    case RunEnd::kExited:
      return Format("exit {}", exit_code);
    case RunEnd::kSignalled:
      return Format("killed by {}", SignalName(signal));
    case RunEnd::kTimeout:
      return Format("timeout after {}", FormatSeconds(wall_s));
    case RunEnd::kOutOfMemory:
      return "killed at the memory limit";
    case RunEnd::kCancelled:
      return "cancelled";
  }
  return "exit 0";
}

std::vector<Mount> SystemMounts() {
  std::vector<Mount> mounts;
  for (const char* path :
       {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives",
        "/etc/group", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd",
        "/etc/ssl", "/sys/devices/system"}) {
    if (Exists(path)) mounts.push_back({path, path, Access::kReadOnly});
  }
  return mounts;
}

Result<RunOutcome> RunSandboxed(const SandboxSpec& spec, const SandboxProbe& probe) {
  const Monotonic::time_point called = Monotonic::now();
  PAWL_ASSIGN(RunSetup setup, RunSetup::Make(spec, probe));
  PAWL_ASSIGN(LogSink log, LogSink::Open(spec.log, spec.limits.log_bytes));
  PAWL_ASSIGN(RunBound bound,
              RunBound::Make(probe.memory_group, probe.cpu_group, spec.limits.memory_bytes));
  PAWL_ASSIGN(SocketPair sockets, MakeSocketPair());
  PAWL_ASSIGN(Pipe pipe, MakePipe());
  // Refused only above the system's limit for pipes; the default size works too.
  if (::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, kLogPipeBytes) < 0) errno = 0;
  PAWL_ASSIGN(const Fd null, OpenNull());
  // Bubblewrap and the shim get an empty environment: the command's could steer their loader.
  PAWL_ASSIGN(Child child,
              Spawn({.program = setup.program,
                     .argv = setup.argv,
                     .env = {},
                     .cwd = "/",
                     .descriptors = {null.get(), pipe.write_end.get(), pipe.write_end.get()},
                     .extra = sockets.theirs.get()}));
  sockets.theirs.Reset();
  pipe.write_end.Reset();
  RunSession session({.child = std::move(child),
                      .socket = std::move(sockets.ours),
                      .log_pipe = std::move(pipe.read_end),
                      .log = std::move(log),
                      .bound = std::move(bound),
                      .user = setup.user ? std::optional(setup.user->id()) : std::nullopt},
                     spec);
  return session.Run(setup.plan, called);
}

}  // namespace pawl::os
