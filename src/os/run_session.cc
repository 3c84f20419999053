#include "os/run_session.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "os/process.h"

namespace pawl::os {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(30);  // a loaded machine, not a command
constexpr auto kKillLimit = std::chrono::seconds(15);   // until the shim counts as lost
constexpr std::size_t kLogBurst = std::size_t{1} << 20;

// One report with the sender's number as this PID namespace sees it; nothing when none has come.
struct Received {
  std::optional<Report> report;
  pid_t sender = 0;
  bool ended = false;
};

Received Receive(int socket) {
  Received received;
  Report report;
  iovec data{&report, sizeof report};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return received;
  if (got != static_cast<ssize_t>(sizeof report)) {
    received.ended = true;
    return received;
  }
  received.report = report;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
      header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    received.sender = sender.pid;
  }
  return received;
}

Status SendPlan(int socket, const std::string& plan) {
  const auto size = static_cast<std::uint32_t>(plan.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += plan;
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent = ::send(socket, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return SystemError("cannot instruct pawl-shim", errno);
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return OkStatus();
}

std::int64_t Nanoseconds(Monotonic::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

double BetweenSeconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

RunSession::RunSession(Parts parts, const SandboxSpec& spec)
    : parts_(std::move(parts)), spec_(spec) {
  family_.user = parts_.user;
}

Result<RunOutcome> RunSession::Run(const std::string& plan, Monotonic::time_point called) {
  Status status = Greet(plan);
  if (status.ok()) status = Follow();
  // Whatever went wrong above, nothing may live afterwards.
  if (Status ended = AwaitEnd(); status.ok()) status = std::move(ended);
  if (Status finished = parts_.log.Finish(); status.ok()) status = std::move(finished);
  // Only now all its words are there, and how it ended is known.
  if (did_not_come_up_) return DidNotComeUp(wait_status_);
  if (!status.ok()) return status.error();
  return Judge(called);
}

// ---- phases

Status RunSession::Greet(const std::string& plan) {
  alarm_ = Monotonic::now() + kStartLimit;
  while (!greeted_) {
    did_not_come_up_ = socket_ended_ || child_ended_ || Monotonic::now() >= alarm_;
    if (did_not_come_up_) return DidNotComeUp(0);
    PAWL_TRY(WaitOnce(alarm_));
  }
  PAWL_TRY(parts_.bound.Adopt(family_.root));
  return SendPlan(parts_.socket.get(), plan);
}

Status RunSession::Follow() {
  while (phase_ != Phase::kOver) {
    PAWL_TRY(WaitOnce(NextAlarm()));
    HoldLimits();
    if (usage_ || socket_ended_) phase_ = Phase::kOver;
  }
  return OkStatus();
}

Status RunSession::WaitOnce(std::optional<Monotonic::time_point> until) {
  const int stop = phase_ == Phase::kRunning ? StopDescriptor() : -1;
  std::array<pollfd, 4> waits = {pollfd{socket_ended_ ? -1 : parts_.socket.get(), POLLIN, 0},
                                 pollfd{log_ended_ ? -1 : parts_.log_pipe.get(), POLLIN, 0},
                                 pollfd{child_ended_ ? -1 : parts_.child.pidfd.get(), POLLIN, 0},
                                 pollfd{stop, POLLIN, 0}};
  int wait_ms = -1;
  if (until) {
    const auto left = std::chrono::ceil<milliseconds>(*until - Monotonic::now()).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  if (::poll(waits.data(), waits.size(), wait_ms) < 0 && errno != EINTR) {
    return SystemError("cannot wait for a run", errno);
  }
  if (waits[1].revents != 0) PAWL_TRY(PumpLog());
  if (waits[0].revents != 0) PAWL_TRY(TakeReports());
  if (waits[2].revents != 0) child_ended_ = true;
  return OkStatus();
}

Status RunSession::PumpLog() {
  std::array<char, 65536> chunk{};
  for (std::size_t taken = 0; taken < kLogBurst;) {
    const ssize_t got = ::read(parts_.log_pipe.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return OkStatus();
    if (got <= 0) {
      log_ended_ = true;
      return OkStatus();
    }
    taken += static_cast<std::size_t>(got);
    PAWL_TRY(parts_.log.Append({chunk.data(), static_cast<std::size_t>(got)}));
  }
  return OkStatus();
}

Status RunSession::TakeReports() {
  while (true) {
    const Received received = Receive(parts_.socket.get());
    if (received.ended) socket_ended_ = true;
    if (!received.report) return OkStatus();
    if (received.report->kind == ReportKind::kHello) {
      family_.root = received.sender;
      shim_pidfd_ = OpenPidfd(received.sender);
      greeted_ = true;
      // The plan goes out before anything else can come in.
      return OkStatus();
    }
    PAWL_TRY(TakeReport(*received.report));
  }
}

Status RunSession::TakeReport(const Report& report) {
  switch (report.kind) {
    case ReportKind::kHello:
      break;
    case ReportKind::kStarted:
      started_ = report;
      phase_ = Phase::kRunning;
      alarm_ = Monotonic::now() + spec_.limits.timeout;
      next_look_ = Monotonic::now() + parts_.bound.interval();
      break;
    case ReportKind::kRefused:
      return SystemError(Format("the sandbox failed to {}", report.text.data()), report.value)
          .Within(LevelName(spec_.level));
    case ReportKind::kNoProgram:
      no_program_ = report;
      break;
    case ReportKind::kEnded:
      ended_ = report;
      phase_ = Phase::kKilling;  // the shim ends what the command left
      alarm_ = Monotonic::now() + kKillLimit;
      break;
    case ReportKind::kUsage:
      usage_ = report;
      break;
  }
  return OkStatus();
}

// ---- limits

std::optional<Monotonic::time_point> RunSession::NextAlarm() const {
  if (phase_ == Phase::kStarting || phase_ >= Phase::kKilling) return alarm_;
  return std::min(alarm_, next_look_);
}

void RunSession::HoldLimits() {
  const Monotonic::time_point now = Monotonic::now();
  if (phase_ == Phase::kStarting) {
    if (now >= alarm_) Kill(RunEnd::kTimeout);
    return;
  }
  if (phase_ == Phase::kKilling) {
    if (now >= alarm_) ForceEnd();
    return;
  }
  if (now >= next_look_) {
    if (parts_.bound.MemoryExceeded(family_)) return Kill(RunEnd::kOutOfMemory);
    next_look_ = Monotonic::now() + parts_.bound.interval();
  }
  if (phase_ == Phase::kRunning) {
    if (StopRequested()) return Ask(RunEnd::kCancelled);
    if (now >= alarm_) return Ask(RunEnd::kTimeout);
  } else if (now >= alarm_) {
    Kill(*reason_);
  }
}

void RunSession::Ask(RunEnd why) {
  reason_ = why;
  phase_ = Phase::kAsked;
  alarm_ = Monotonic::now() + spec_.limits.term_grace;
  // A shim that is gone is noticed by the end of its stream.
  ::send(parts_.socket.get(), &kAskTerm, 1, MSG_NOSIGNAL);
}

void RunSession::Kill(RunEnd why) {
  reason_ = why;
  phase_ = Phase::kKilling;
  alarm_ = Monotonic::now() + kKillLimit;
  ::send(parts_.socket.get(), &kKillNow, 1, MSG_NOSIGNAL);
}

// The shim did not do it in time, or is gone. At L3 the end of the namespace's first process is the
// end of all; below, the members are taken one by one until none is left.
void RunSession::ForceEnd() {
  phase_ = Phase::kOver;
  if (spec_.level < IsolationLevel::kL3 && greeted_) SignalMembers(family_, SIGKILL);
  SendSignal(shim_pidfd_, SIGKILL);
  SendSignal(parts_.child.pidfd, SIGKILL);
}

Status RunSession::AwaitEnd() {
  group_cpu_s_ = parts_.bound.CpuSeconds();
  parts_.socket.Reset();  // tells a living shim to kill and leave
  socket_ended_ = true;
  phase_ = Phase::kOver;
  alarm_ = Monotonic::now() + kKillLimit;
  bool forced = false;
  while (!child_ended_) {
    PAWL_TRY(WaitOnce(alarm_));
    if (Monotonic::now() < alarm_) continue;
    if (forced) {
      return MakeError(Code::kInternal, Format("process {} cannot be killed", parts_.child.pid));
    }
    forced = true;
    ForceEnd();
    alarm_ = Monotonic::now() + kStartLimit;
  }
  // Before bubblewrap's parent is reaped its child may still be going down.
  if (shim_pidfd_.valid() && family_.root != parts_.child.pid) {
    SendSignal(shim_pidfd_, SIGKILL);
    pollfd gone{shim_pidfd_.get(), POLLIN, 0};
    while (::poll(&gone, 1, 30'000) < 0 && errno == EINTR) {
    }
    if (gone.revents == 0) {
      return MakeError(Code::kInternal, Format("process {} cannot be killed", family_.root));
    }
  }
  if (spec_.level < IsolationLevel::kL3 && greeted_ && !usage_) PAWL_TRY(SweepUser());
  // A bubblewrap that was killed half-way leaves a child that waits for it for good. The group is
  // ours until its leader is reaped.
  if (!greeted_) ::kill(-parts_.child.pid, SIGKILL);
  PAWL_ASSIGN(const Reaped reaped, Reap(parts_.child));
  wait_status_ = reaped.wait_status;
  while (!log_ended_) {
    const std::uint64_t before = parts_.log.total_bytes();
    PAWL_TRY(PumpLog());
    if (parts_.log.total_bytes() == before) break;
  }
  return OkStatus();
}

// After the shim was lost: its orphans have other parents by now, so the user tells them.
Status RunSession::SweepUser() {
  const Monotonic::time_point limit = Monotonic::now() + kKillLimit;
  while (SignalMembers(family_, SIGKILL) > 0) {
    if (Monotonic::now() > limit) {
      return MakeError(Code::kInternal, "processes of a run cannot be killed");
    }
    ::usleep(1000);
  }
  return OkStatus();
}

// ---- the outcome

Error RunSession::DidNotComeUp(int wait_status) const {
  std::string words = PrintableLine(Trim(parts_.log.beginning()), 600);
  Code code = MachineCode(words).value_or(Code::kUnsupported);
  // Bubblewrap passes on how its inner half ended.
  const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status)
                                              : std::max(0, WEXITSTATUS(wait_status) - 128);
  if (signal != 0) {
    if (!words.empty()) words += "; ";
    words += Format("it was killed by signal {}", signal);
    code = Code::kIo;
  }
  return MakeError(code,
                   Format("the sandbox of level {} did not come up{}{}", LevelName(spec_.level),
                          words.empty() ? "" : ": ", words),
                   code == Code::kUnsupported
                       ? "run 'pawl doctor' to see what this machine offers"
                       : "mend the machine, then run the same command again");
}

Result<RunOutcome> RunSession::Judge(Monotonic::time_point called) {
  RunOutcome outcome;
  outcome.level = spec_.level;
  outcome.log_bytes = parts_.log.total_bytes();
  outcome.log_cut = parts_.log.cut();
  const std::int64_t now_ns = Nanoseconds(Monotonic::now());
  const std::int64_t start_ns = started_ ? started_->a_ns : Nanoseconds(called);
  const std::int64_t end_ns = ended_ ? ended_->a_ns : now_ns;
  outcome.setup_s = BetweenSeconds(Nanoseconds(called), start_ns);
  outcome.wall_s = BetweenSeconds(start_ns, end_ns);
  outcome.teardown_s = BetweenSeconds(end_ns, now_ns);
  if (usage_) {
    outcome.cpu_s = static_cast<double>(usage_->a_ns) * 1e-9;
    outcome.peak_rss_bytes = static_cast<std::uint64_t>(usage_->b_bytes);
  }
  // A command that ignores SIGCHLD hides its children from rusage, not from the group.
  if (group_cpu_s_) outcome.cpu_s = *group_cpu_s_;

  const bool memory = reason_ == RunEnd::kOutOfMemory ||
                      (parts_.bound.grouped() && parts_.bound.MemoryExceeded(family_));
  if (memory) {
    outcome.end = RunEnd::kOutOfMemory;
  } else if (reason_) {
    outcome.end = *reason_;
  } else if (ended_) {
    outcome.end = WIFSIGNALED(ended_->value) ? RunEnd::kSignalled : RunEnd::kExited;
  } else {
    return MakeError(Code::kInternal, "the supervisor of a run ended without a word",
                     "look for a kernel message about memory or a crash of pawl-shim");
  }
  if (ended_ && WIFSIGNALED(ended_->value)) outcome.signal = WTERMSIG(ended_->value);
  if (ended_ && WIFEXITED(ended_->value)) outcome.exit_code = WEXITSTATUS(ended_->value);
  return outcome;
}

}  // namespace pawl::os
