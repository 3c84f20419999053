// One run from the first word of the shim to the moment when nothing lives: moves the log, holds
// the limits, asks, kills, and collects what was measured.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "base/time.h"
#include "os/log_sink.h"
#include "os/process_tree.h"
#include "os/run_bound.h"
#include "os/sandbox.h"
#include "os/shim/protocol.h"
#include "os/spawn.h"

namespace pawl::os {

class RunSession {
 public:
  struct Parts {
    Child child;  // bubblewrap, or the shim itself below L3
    Fd socket;    // our end; passes credentials
    Fd log_pipe;
    LogSink log;
    RunBound bound;
    std::optional<uid_t> user;
  };
  RunSession(Parts parts, const SandboxSpec& spec);

  // Once. An error after which nothing of the run lives either.
  Result<RunOutcome> Run(const std::string& plan, Monotonic::time_point called);

 private:
  enum class Phase { kStarting, kRunning, kAsked, kKilling, kOver };

  Status Greet(const std::string& plan);
  Status Follow();
  Status PumpLog();
  Status WaitOnce(std::optional<Monotonic::time_point> until);
  Status TakeReports();
  Status TakeReport(const Report& report);
  void HoldLimits();
  void Ask(RunEnd why);
  void Kill(RunEnd why);
  std::optional<Monotonic::time_point> NextAlarm() const;
  void ForceEnd();
  Status AwaitEnd();
  Status SweepUser();
  Result<RunOutcome> Judge(Monotonic::time_point called);
  Error DidNotComeUp(int wait_status) const;

  Parts parts_;
  const SandboxSpec& spec_;
  Family family_;
  Fd shim_pidfd_;
  Phase phase_ = Phase::kStarting;
  bool greeted_ = false;
  bool socket_ended_ = false;
  bool log_ended_ = false;
  bool child_ended_ = false;
  bool did_not_come_up_ = false;
  int wait_status_ = 0;  // of the child, once it is reaped
  std::optional<RunEnd> reason_;
  Monotonic::time_point alarm_{};      // what it means depends on the phase
  Monotonic::time_point next_look_{};  // at the memory
  std::optional<Report> started_, no_program_, ended_, usage_;
  std::optional<double> group_cpu_s_;
};

}  // namespace pawl::os
