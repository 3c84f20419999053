// One candidate from its name to its verdict. Whatever goes wrong on the way ends in a recorded
// verdict, as long as the ledger can be written at all.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "judge/verdict.h"
#include "loop/session.h"
#include "loop/suite.h"
#include "loop/workplace.h"

namespace pawl::loop {

class ExperimentRun {
 public:
  ExperimentRun(Session& session, Writer& writer, LiveCampaign live,
                const ExperimentRequest& request);

  // kNotFound, kConflict, kInvalidArgument: the request cannot be judged, nothing was recorded.
  Result<ExperimentReport> Execute();

 private:
  // Finds or makes the commit; a patch that does not apply is a refusal at intake.
  Status FindCandidate();
  Status CommitPatch();
  Status FetchCommitted(bool require_clean);
  // Compares with the incumbent and the locked harness.
  Status Inspect();
  // From here on the experiment exists.
  Status Admit();
  // Surroundings, earlier interruptions, workplace, suite; all that happens lands in evidence_.
  void Measure();
  Status MeasureOrError();
  bool CheckSurroundings();
  Result<bool> CheckAttempts();
  void TakeResults(const SuiteResult& suite);
  Result<ExperimentReport> Decide();
  Result<Json> NewIncumbent() const;

  Session& session_;
  Writer& writer_;
  LiveCampaign live_;
  const ExperimentRequest& request_;

  campaign::CandidateFacts facts_;
  campaign::Vault::Difference diff_;
  std::int64_t id_ = 0;
  os::Path run_dir_;
  judge::Evidence evidence_;
  std::optional<SuiteResult> suite_;
  std::optional<PreparedWorkplace> workplace_;
};

}  // namespace pawl::loop
