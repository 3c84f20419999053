// From evidence to verdict. Evidence is plain data that the ledger stores whole; Judge is a pure
// function of it, so that `verify` can compute every verdict again from the records alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "campaign/config.h"
#include "campaign/contract.h"
#include "campaign/journal.h"
#include "judge/change_class.h"
#include "judge/gates.h"

namespace pawl::judge {

// How a stage of the candidate ended, as seen from outside.
struct StageEvidence {
  std::string stage;  // StageName
  std::string end;    // os::RunEndName: exited, signalled, timeout, out-of-memory, ...
  int exit_code = 0;
  double wall_s = 0, cpu_s = 0, peak_rss_mb = 0;
  std::string description;  // "exit 3", "killed by SIGSEGV"
  std::string last_words;   // printable tail of the log, for crashes
};

struct Evidence {
  int version = 1;
  std::string protocol;      // "files", "wall"
  std::string isolation;     // "L3"
  bool judge_apart = false;  // no candidate code ran where quality and clock were held
  // Commands ran under a uid that is not Pawl's: what makes L2 good enough for trust `separate`.
  bool own_uid = false;
  bool trust_candidate = false;  // the user's flag that allows keeps at L0
  // Intake: kind "none", "scope", "harness", "invalid"; reasons as printed.
  std::string intake = "none";
  std::vector<std::string> intake_reasons;
  std::vector<std::string> environment_differences;  // against the baseline; infra-fail when any
  std::string infra_error;                           // Pawl or machine failed; infra-fail
  bool interrupted = false;
  std::vector<StageEvidence> stages;  // in order, all runs
  std::vector<std::string>
      integrity;  // "perf.json written under protocol wall", ... -> discard-invalid
  // Candidate's file bytes (files) or made by Pawl (wall); empty when absent. A quality command
  // under wall that wrote no quality.json: ExitQuality(exit code was 0).
  std::string perf, quality;
  std::string baseline_perf, baseline_quality, incumbent_perf;
  double incumbent_outside_wall_s = 0, candidate_outside_wall_s = 0;  // median of the perf command
  std::string declared_class = "exact";
  std::vector<std::string> class_signs;
  std::string judged_class = "exact";
  Json rules;  // RulesOf(config, contract): all that gates need

  // File bytes that are not UTF-8 are written as {"hex": "..."}.
  Json ToJson() const;
  // kCorrupt names the key that is missing or of another type; kUnsupported for a newer version.
  static Result<Evidence> FromJson(const Json& json);
};

// The part of config and contract that verdicts depend on, and back.
Json RulesOf(const campaign::Config& config, const campaign::Contract& contract);
struct Rules {
  campaign::Config config;  // only the judged part is filled
  campaign::Contract contract;
};
Result<Rules> RulesFrom(const Json& rules);

struct Verdict {
  campaign::VerdictKind kind = campaign::VerdictKind::kInfraFail;
  campaign::Trust trust = campaign::Trust::kShared;
  std::vector<std::string> reasons;  // why, most decisive first; printable
  std::optional<GateResult> quality;
  std::optional<GateResult> performance;
  std::optional<double> best, candidate, improvement_pct, peak_vram_mb;
  std::vector<std::string> warnings;  // class mismatch, outside clock (warn), shared trust

  Json ToJson() const;
};

// Order: interrupted, infra, intake, stages (timeout, out-of-memory, crash), integrity and
// ill-formed results, quality, performance, outside clock, isolation floor, keep.
Verdict Judge(const Evidence& evidence);

}  // namespace pawl::judge
