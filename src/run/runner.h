// Runs one stage of a harness on one tree in one sandbox, and brings back what was seen from
// outside plus the result files, read only after nothing of the command lives any more.
//
// Which tree a stage sees decides the trust: under protocol `wall`, prepare and quality run on a
// harness-only tree, so no candidate code is near the judge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/config.h"
#include "os/files.h"
#include "os/sandbox.h"

namespace pawl::run {

using os::Path;

// Host folders that a stage's command works in. All exist and belong to Pawl alone.
struct Workplace {
  Path tree;           // materialised repository with the harness laid over
  Path harness_tree;   // harness only: what wall's judge stages see, and what is laid over writable
                       // trees again before each stage
  std::string prefix;  // project root below both trees, "" for the top
  Path run_dir;        // result files; under wall inputs/ and outputs/ of the present timed run
  Path setup_dir;      // result of commands.setup; may be empty
  Path private_dir;    // logs and the stages' own run folders; never shown as a whole
  std::vector<os::Mount> in_place;  // large harness files; `inside` is relative to the project root
};

struct StageRequest {
  campaign::Stage stage = campaign::Stage::kPerf;
  int index = 0;          // among the runs of this stage
  std::string seed = {};  // decimal, for {seed}; under wall only the judge's stages get to know it
};

struct StageResult {
  std::string command;  // as filled in, with the paths that the command saw
  os::RunOutcome outcome;
  Path log;                         // host file
  std::string last_words;           // printable tail of the log, at most 20 lines; when it failed
  std::optional<std::string> perf;  // bytes of perf.json when the stage may write it and did
  std::optional<std::string> quality;
  std::vector<std::string> integrity;  // files written that this stage must not write, and the like
};

class Runner {
 public:
  // Both must outlive the runner.
  Runner(const campaign::Config& config, const os::SandboxProbe& probe);

  // The stage's command must be configured. An Error is Pawl's or the machine's failure; how the
  // command ended is in the result.
  Result<StageResult> Run(const Workplace& place, const StageRequest& request) const;

  // The environment that stages get, for evidence and `doctor`; HOME is the sandbox's.
  std::vector<std::string> Environment() const;

 private:
  const campaign::Config& config_;
  const os::SandboxProbe& probe_;
};

}  // namespace pawl::run
