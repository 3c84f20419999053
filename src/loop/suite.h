// Runs the harness's commands on one workplace, in order, until one fails: check, build, smoke,
// then perf and quality (files) or prepare, perf and quality once for every timed run (wall). Facts
// only; what they mean is the judge's business.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/config.h"
#include "campaign/contract.h"
#include "campaign/journal.h"
#include "judge/verdict.h"
#include "loop/events.h"
#include "run/runner.h"
#include "store/artifacts.h"

namespace pawl::loop {

struct SuiteResult {
  std::vector<judge::StageEvidence> stages;
  std::vector<campaign::RunRecord> runs;
  std::vector<std::string> integrity;
  std::string perf, quality;  // file bytes (files) or made here from all timed runs (wall)
  double outside_wall_s = 0;  // median of the perf runs
  std::string infra_error;    // a command that no candidate takes part in failed
  bool interrupted = false;
  bool complete = false;  // every command ran and ended well

  // "perf: exit 3: last line", of the stage that ended the suite; empty when complete.
  std::string Failure() const;
};

class Suite {
 public:
  // Called after each run, when its artifacts are put but not flushed.
  using RunSink = std::function<Status(const campaign::RunRecord&)>;

  struct Parts {
    const campaign::Config& config;
    const campaign::Contract& contract;
    const run::Runner& runner;
    store::Artifacts& artifacts;
    Observer& observer;
  };
  Suite(Parts parts, run::Workplace place, RunSink sink);

  // An Error is Pawl's or the machine's failure.
  Result<SuiteResult> Run();

 private:
  // False when the suite ends here.
  Result<bool> RunStage(const run::StageRequest& request, int count, run::StageResult* out);
  Result<bool> RunIfConfigured(campaign::Stage stage);
  Status RunFiles();
  Status RunTimed();
  Result<bool> RunOneTimed(int index, std::vector<os::RunOutcome>& timed,
                           std::vector<std::string>& qualities);
  Status Record(const run::StageRequest& request, const run::StageResult& stage);
  bool StageEndsSuite(campaign::Stage stage, const run::StageResult& result);

  Parts parts_;
  run::Workplace place_;
  RunSink sink_;
  SuiteResult result_;
};

}  // namespace pawl::loop
