// Runs a foreign command apart from Pawl: what it may see, write and use up, and how it ends. One
// ladder of isolation levels (DESIGN: L3 bubblewrap, L2 own uid where possible + Landlock +
// seccomp, L1 process group and rlimits, L0 nothing), probed once and shown in every verdict.
//
// L3: bubblewrap with all namespaces; as root the mounts are made first and pawl-shim drops to an
// unprivileged uid without capabilities inside. When RunSandboxed returns, nothing that the command
// started lives any more, whatever it forked: only then may its files be read.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/files.h"

namespace pawl::os {

enum class IsolationLevel { kL0 = 0, kL1 = 1, kL2 = 2, kL3 = 3 };
std::string_view LevelName(IsolationLevel level);  // "L3"
std::optional<IsolationLevel> ParseLevel(std::string_view name);

// What this machine offers. `findings` says in plain sentences what is there or missing and what to
// install or change to climb.
struct SandboxProbe {
  IsolationLevel level = IsolationLevel::kL0;
  std::string bwrap;  // path, empty when absent or not working
  int landlock_abi = 0;
  bool seccomp = false;
  bool own_uid = false;      // commands run under a uid that is not the caller's
  std::string memory_bound;  // "cgroup-v2", "cgroup-v1" or "watch" (Pawl sums resident memory)
  Path memory_group;         // control group folder for memory bounds; empty for "watch"
  Path cpu_group;            // v2 folder for complete CPU times; empty: rusage of waited children
  std::vector<std::string> findings;

  // Users that commands run under when Pawl is root: one of this range for each run, so that
  // RLIMIT_NPROC and signals of two runs do not mix. Free of ranges that distributions hand out.
  uid_t first_user = 61000;
  std::uint32_t user_count = 180;

  Json ToJson() const;
};
// Really starts a process at each level; `ceiling` caps the answer (tests of lower levels).
SandboxProbe ProbeSandbox(IsolationLevel ceiling = IsolationLevel::kL3);

enum class Access { kReadOnly, kWritable };
struct Mount {
  Path host;
  Path inside;  // equal to host below L3
  Access access = Access::kReadOnly;
};

struct SandboxLimits {
  std::chrono::milliseconds timeout{1'800'000};
  std::chrono::milliseconds term_grace{2'000};  // between TERM and KILL at the limit
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;
  std::uint32_t processes = 512;
  std::uint64_t file_size_bytes = std::uint64_t{4} << 30;
  std::uint64_t log_bytes = std::uint64_t{16} << 20;  // head and tail kept up to this
};

// What a command finds as its home at L3. Below, HOME and TMPDIR are private folders of the run;
// they are set when `env` does not name them, or names this one.
inline constexpr std::string_view kSandboxHome = "/pawl/home";

struct SandboxSpec {
  IsolationLevel level = IsolationLevel::kL3;
  std::vector<Mount> mounts{};      // in order; later ones lie over earlier ones
  std::vector<std::string> env{};   // "NAME=value", complete
  std::vector<std::string> argv{};  // run as is; a shell command is {"/bin/sh", "-c", text}
  Path cwd{};                       // inside
  Path log{};                       // host file that receives stdout and stderr
  bool network = false;
  bool gpu = false;  // bind the NVIDIA device nodes, driver files and /proc parts
  SandboxLimits limits{};
};

enum class RunEnd {
  kExited,     // exit_code holds
  kSignalled,  // signal holds
  kTimeout,
  kOutOfMemory,  // killed by the memory bound
  kCancelled,    // Pawl was asked to stop
};
std::string_view RunEndName(RunEnd end);

// Everything here is seen from outside; nothing is reported by the command itself.
struct RunOutcome {
  RunEnd end = RunEnd::kExited;
  int exit_code = 0;
  int signal = 0;
  double wall_s = 0;
  double cpu_s = 0;                  // user + system of the whole tree
  std::uint64_t peak_rss_bytes = 0;  // largest resident size of one process of the tree
  std::uint64_t log_bytes = 0;       // written by the command, before the cut
  bool log_cut = false;
  double setup_s = 0;     // from the call to the first instruction of the command
  double teardown_s = 0;  // from its end until nothing lived and all was recorded
  IsolationLevel level = IsolationLevel::kL0;

  bool succeeded() const { return end == RunEnd::kExited && exit_code == 0; }
  // "exit 3", "killed by SIGSEGV", "timeout after 1.5 s", ...
  std::string Describe() const;
};

// Runs to its end. An Error means that Pawl or the machine failed (infra-fail), never that the
// command did badly.
Result<RunOutcome> RunSandboxed(const SandboxSpec& spec, const SandboxProbe& probe);

// The system folders (/usr, /lib*, /bin, /etc parts) that every command may read.
std::vector<Mount> SystemMounts();

// The folders a command line resolves through on this machine (shims, virtual environments, conda,
// cargo, CUDA): what `sandbox.read` should list. Only paths outside SystemMounts().
std::vector<Path> FindToolchainFolders(std::string_view shell_command, const Path& cwd);

}  // namespace pawl::os
