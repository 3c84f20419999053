// What one stage's command sees: its tree, its run folder, its private folders, and which of them
// it may write. At L3 everything lies at neutral paths, the same for incumbent and candidate; below
// L3 nothing can be mounted and the host's own paths are used.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/config.h"
#include "os/sandbox.h"
#include "run/runner.h"

namespace pawl::run {

// Paths inside an L3 sandbox.
inline constexpr std::string_view kInsideTree = "/pawl/root";
inline constexpr std::string_view kInsideRun = "/pawl/run";
inline constexpr std::string_view kInsideSetup = "/pawl/setup";

// What a stage may do, by protocol.
struct StageRights {
  bool judge_side = false;  // sees the harness-only tree: no candidate code runs
  bool tree_writable = false;
  bool own_run_dir = false;  // a fresh run folder instead of the experiment's
  bool sees_inputs = false, writes_inputs = false;
  bool sees_outputs = false, writes_outputs = false;
  bool setup_writable = false;
  bool network = false;
  bool knows_seed = false;
};
StageRights RightsOf(const campaign::Config& config, campaign::Stage stage);

struct StageView {
  StageRights rights;
  campaign::PlaceHolders shown;  // as the command sees them
  Path cwd;                      // as the command sees it
  Path host_run_dir;             // where the stage's perf.json and quality.json would lie
  Path host_outputs;             // empty when the stage does not write outputs
  std::vector<os::Mount> mounts;
};

// Makes the stage's run folder and lays out its view.
Result<StageView> MakeStageView(const campaign::Config& config, const Workplace& place,
                                const StageRequest& request, const os::SandboxProbe& probe);

// PATH (what of the caller's is visible inside, then the system's), a few neutral names, then
// sandbox.env and sandbox.set. HOME and the temporary folder are the sandbox's own.
std::vector<std::string> StageEnvironment(const campaign::SandboxConfig& sandbox);

// The outermost harness paths below the project root, relative to it: what is laid over a tree.
std::vector<std::string> OverlaidPaths(const campaign::Config& config);

}  // namespace pawl::run
