// Finds the isolation level of this machine by running a small command at each level and looking at
// what it could do, from the top down.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "os/run_bound.h"
#include "os/run_setup.h"
#include "os/sandbox.h"

namespace pawl::os {
namespace {

constexpr unsigned kAskVersion = 1;

int LandlockAbi() {
  const long version =
      ::syscall(__NR_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

// Runs a trivial command under the probe's claim; the reason when it fails.
Status TryLevel(const SandboxProbe& claim, const Path& folder) {
  SandboxSpec spec;
  spec.level = claim.level;
  spec.mounts = SystemMounts();
  spec.env = {"PATH=/usr/bin:/bin"};
  spec.argv = {"/bin/sh", "-c", "exit 37"};
  spec.log = folder / "log";
  spec.limits.timeout = std::chrono::seconds(20);
  spec.limits.memory_bytes = std::uint64_t{256} << 20;
  PAWL_ASSIGN(const RunOutcome outcome, RunSandboxed(spec, claim));
  if (outcome.end == RunEnd::kExited && outcome.exit_code == 37) return OkStatus();
  return MakeError(Code::kUnsupported, Format("a trial command ended with {}", outcome.Describe()));
}

class Prober {
 public:
  Prober(SandboxProbe& probe, Path folder) : probe_(probe), folder_(std::move(folder)) {}

  void Climb(IsolationLevel ceiling) {
    for (const IsolationLevel level :
         {IsolationLevel::kL3, IsolationLevel::kL2, IsolationLevel::kL1}) {
      if (level > ceiling || !Ready(level)) continue;
      if (Works(level)) return;
    }
    probe_.level = IsolationLevel::kL0;
    probe_.own_uid = false;
  }

 private:
  // What can be known without a trial; says what is missing.
  bool Ready(IsolationLevel level) {
    if (level == IsolationLevel::kL3 && probe_.bwrap.empty()) {
      Find("bubblewrap is not installed: no level L3 (install the package 'bubblewrap')");
      return false;
    }
    if (level == IsolationLevel::kL2 && probe_.landlock_abi == 0) {
      Find("the kernel has no Landlock: no level L2 (Linux 5.13 or later with Landlock on)");
      return false;
    }
    if (level == IsolationLevel::kL2 && !probe_.seccomp) {
      Find("the kernel has no system call filters: no level L2");
      return false;
    }
    return true;
  }

  bool Works(IsolationLevel level) {
    probe_.level = level;
    Status status = TryLevel(probe_, folder_);
    if (!status.ok() && probe_.own_uid) {
      // A container may map too few users; then the command stays with ours.
      SandboxProbe without = probe_;
      without.own_uid = false;
      if (TryLevel(without, folder_).ok()) {
        Find(Format("commands run under Pawl's own user: {}", status.error().message));
        probe_.own_uid = false;
        status = OkStatus();
      }
    }
    if (!status.ok()) {
      Find(Format("level {} does not work: {}", LevelName(level), status.error().message));
      return false;
    }
    return true;
  }

  void Find(std::string finding) { probe_.findings.push_back(std::move(finding)); }

  SandboxProbe& probe_;
  Path folder_;
};

void ProbeBounds(SandboxProbe& probe) {
  const GroupHomes homes = FindGroupHomes();
  probe.memory_group = homes.memory;
  probe.cpu_group = homes.cpu;
  probe.memory_bound = homes.memory.empty() ? "watch" : homes.memory_v2 ? "cgroup-v2" : "cgroup-v1";
  if (homes.memory.empty()) {
    probe.findings.emplace_back(
        "no control group with memory can be made: Pawl sums resident memory every 20 ms instead");
  }
  if (homes.cpu.empty()) {
    probe.findings.emplace_back(
        "no control group can be made: CPU time of children that a command never waits for is not "
        "counted");
  }
}

std::string_view Meaning(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::kL3:
      return "L3: namespaces, own view of the file system, no network";
    case IsolationLevel::kL2:
      return "L2: Landlock and system call filter, shared process table";
    case IsolationLevel::kL1:
      return "L1: process limits and private folders only";
    case IsolationLevel::kL0:
      return "L0: no isolation; results are kept only with --trust-candidate";
  }
  return "";
}

}  // namespace

SandboxProbe ProbeSandbox(IsolationLevel ceiling) {
  SandboxProbe probe;
  probe.landlock_abi = LandlockAbi();
  probe.seccomp = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
  probe.own_uid = ::geteuid() == 0;
  if (ceiling >= IsolationLevel::kL3) probe.bwrap = FindProgram("bwrap").string();
  ProbeBounds(probe);
  ScratchFolder::RemoveAbandoned();
  if (const auto shim = FindShim(); !shim.ok()) {
    probe.findings.push_back(shim.error().message);
    return probe;
  }
  auto folder = ScratchFolder::MakeTemporary("probe");
  if (!folder.ok()) {
    probe.findings.push_back(folder.error().message);
    return probe;
  }
  Prober(probe, folder->path()).Climb(ceiling);
  if (probe.level < IsolationLevel::kL3) probe.bwrap.clear();
  probe.findings.insert(probe.findings.begin(), std::string(Meaning(probe.level)));
  return probe;
}

Json SandboxProbe::ToJson() const {
  JsonObject out;
  out["level"] = LevelName(level);
  out["bwrap"] = bwrap;
  out["landlock_abi"] = landlock_abi;
  out["seccomp"] = seccomp;
  out["own_uid"] = own_uid;
  out["memory_bound"] = memory_bound;
  out["complete_cpu_times"] = !cpu_group.empty();
  out["findings"] = Json::Strings(findings);
  return out;
}

}  // namespace pawl::os
