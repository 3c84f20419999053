#include "os/shim/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "os/process_tree.h"
#include "os/shim/confine.h"
#include "os/shim/protocol.h"

namespace pawl::os {
namespace {

std::int64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Report Failure(ReportKind kind, int error, const char* step) {
  Report report;
  report.kind = kind;
  report.value = error;
  std::snprintf(report.text.data(), report.text.size(), "%s", step);
  return report;
}

// ---- the child

void Put(int pipe, const Report& report) {
  // Nobody is left to tell when this fails; the parent sees the end of the pipe.
  if (::write(pipe, &report, sizeof report) < 0) ::_exit(125);
}

[[noreturn]] void RunCommand(Plan& plan, int pipe) {
  if (const ConfineFailure failure = Confine(plan, pipe); failure.step != nullptr) {
    Put(pipe, Failure(ReportKind::kRefused, failure.error, failure.step));
    ::_exit(125);
  }
  Report started;
  started.kind = ReportKind::kStarted;
  started.a_ns = MonotonicNs();
  Put(pipe, started);
  // A name without a slash is looked up on the command's own PATH.
  ::environ = plan.env.data();
  ::execvp(plan.argv[0], plan.argv.data());
  const int error = errno;
  Put(pipe, Failure(ReportKind::kNoProgram, error, "exec"));
  ::_exit(error == ENOENT ? 127 : 126);
}

// ---- the supervisor

class Supervisor {
 public:
  explicit Supervisor(const Plan& plan) : init_(::getpid() == 1) {
    family_.root = ::getpid();
    if (plan.own_user) family_.user = plan.user;
  }

  bool Start(Plan& plan) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return Refuse("make a pipe");
    main_ = ::fork();
    if (main_ < 0) return Refuse("fork");
    if (main_ == 0) RunCommand(plan, pipe[1]);
    ::close(pipe[1]);
    // From here on only the command and its offspring hold the log.
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    Report report;
    bool any = false;
    while (::read(pipe[0], &report, sizeof report) == sizeof report) {
      any = true;
      if (!Send(report)) break;
    }
    ::close(pipe[0]);
    return any;
  }

  // Until nothing lives.
  void Watch() {
    sigset_t child{};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    std::array<pollfd, 2> waits = {
        pollfd{::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0},
        pollfd{kShimSocket, POLLIN, 0}};
    while (true) {
      if (Reap()) return;
      if (killing_) SignalAll(SIGKILL);
      // While killing, look again soon: what was forked meanwhile was in no snapshot.
      const int again_ms = killing_ ? 2 : -1;
      if (::poll(waits.data(), waits.size(), again_ms) < 0 && errno != EINTR) return;
      signalfd_siginfo drained{};
      while (::read(waits[0].fd, &drained, sizeof drained) > 0) {
      }
      if (waits[1].revents != 0) Obey(waits[1]);
    }
  }

 private:
  static bool Refuse(const char* step) {
    Send(Failure(ReportKind::kRefused, errno, step));
    return false;
  }

  void SignalAll(int signal) {
    if (init_) {
      ::kill(-1, signal);  // all of the namespace but ourselves
    } else {
      SignalMembers(family_, signal);
    }
  }

  void Obey(pollfd& socket) {
    char request = 0;
    const ssize_t got = ::recv(socket.fd, &request, 1, MSG_DONTWAIT);
    if (got == 1 && request == kAskTerm) SignalAll(SIGTERM);
    if (got == 1 && request == kKillNow) killing_ = true;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      killing_ = true;  // Pawl is gone
      socket.fd = -1;
    }
  }

  // Takes every ended child; true when none is left at all. Descendants whose parents ended are our
  // children too, so then nothing of the command lives.
  bool Reap() {
    while (true) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
      if (pid == 0) return false;
      if (pid < 0) return errno == ECHILD;
      if (pid != main_) continue;
      Report ended;
      ended.kind = ReportKind::kEnded;
      ended.value = status;
      ended.a_ns = MonotonicNs();
      Send(ended);
      killing_ = true;  // what it left behind, if this loop finds any
    }
  }

  bool init_;
  Family family_;
  pid_t main_ = -1;
  bool killing_ = false;
};

void SendUsage() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  Report report;
  report.kind = ReportKind::kUsage;
  report.a_ns = (std::int64_t{usage.ru_utime.tv_sec} + usage.ru_stime.tv_sec) * 1'000'000'000 +
                (std::int64_t{usage.ru_utime.tv_usec} + usage.ru_stime.tv_usec) * 1000;
  report.b_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  Send(report);
}

}  // namespace

bool Send(const Report& report) {
  return ::send(kShimSocket, &report, sizeof report, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof report);
}

int Supervise(Plan& plan) {
  if (::getpid() != 1 && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    Send(Failure(ReportKind::kRefused, errno, "become subreaper"));
    return 125;
  }
  sigset_t all{};
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  Supervisor supervisor(plan);
  const bool started = supervisor.Start(plan);
  if (started) supervisor.Watch();
  SendUsage();
  return started ? 0 : 125;
}

}  // namespace pawl::os
