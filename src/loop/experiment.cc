#include "loop/experiment.h"

#include <algorithm>
#include <future>

#include "base/text.h"
#include "judge/change_class.h"
#include "loop/environment.h"
#include "loop/promotion.h"
#include "loop/recovery.h"
#include "loop/reference.h"
#include "os/process.h"
#include "run/runner.h"

namespace pawl::loop {

using campaign::CommitId;
using campaign::IntakeRefusal;
using campaign::VerdictKind;

namespace {

constexpr std::size_t kMaxDiffBytes = std::size_t{4} << 20;
// A run that took this long is made durable at once; the sync is nothing beside it. Shorter ones
// wait for the next record, since running them again costs nothing either.
constexpr double kLongRunS = 1.0;

std::string IntakeName(IntakeRefusal::Kind kind) {
  switch (kind) {
    case IntakeRefusal::Kind::kNone:
      return "none";
    case IntakeRefusal::Kind::kScope:
      return "scope";
    case IntakeRefusal::Kind::kHarness:
      return "harness";
    case IntakeRefusal::Kind::kInvalid:
      return "invalid";
  }
  return "none";
}

Json FactsJson(const campaign::CandidateFacts& facts, const campaign::Vault::Difference& diff) {
  JsonArray changes;
  for (const campaign::ChangedPath& change : facts.changes) {
    changes.emplace_back(JsonObject{
        {"path", change.path}, {"old_blob", change.old_blob}, {"new_blob", change.new_blob}});
  }
  return JsonObject{{"subject", facts.subject},
                    {"lines_added", diff.lines_added},
                    {"lines_removed", diff.lines_removed},
                    {"changes", std::move(changes)}};
}

// results.tsv's column: "pass", or why not.
std::string QualityText(const judge::Verdict& verdict) {
  if (!verdict.quality) return Join(verdict.reasons, "; ");
  return verdict.quality->passed ? "pass" : Join(verdict.quality->reasons, "; ");
}

}  // namespace

ExperimentRun::ExperimentRun(Session& session, Writer& writer, LiveCampaign live,
                             const ExperimentRequest& request)
    : session_(session), writer_(writer), live_(std::move(live)), request_(request) {}

Result<ExperimentReport> ExperimentRun::Execute() {
  PAWL_TRY(FindCandidate());
  PAWL_TRY(Inspect());
  PAWL_TRY(Admit());
  session_.observer().OnExperiment(id_, facts_.commit.hex, request_.description);
  if (evidence_.intake == "none") Measure();
  return Decide();
}

Status ExperimentRun::FindCandidate() {
  const campaign::Config& config = session_.config();
  PAWL_ASSIGN(const std::vector<std::string> changed,
              campaign::ChangedHarness(live_.lock, config, campaign::LockCheck::kQuick));
  if (!changed.empty()) {
    evidence_.intake = "harness";
    evidence_.intake_reasons = changed;
  }
  if (!request_.patch.empty()) return CommitPatch();
  if (request_.vault_commit) {
    facts_.commit = *request_.vault_commit;
    return OkStatus();
  }
  return FetchCommitted(request_.require_clean && changed.empty());
}

Status ExperimentRun::FetchCommitted(bool require_clean) {
  // Both wait for git, so they wait together.
  std::future<Result<std::vector<std::string>>> looking;
  if (require_clean) {
    looking =
        std::async(std::launch::async, [this] { return DirtyPaths(session_, writer_.worktree); });
  }
  const auto fetch = [this]() -> Status {
    PAWL_ASSIGN(facts_.commit, campaign::ResolveCommit(writer_.worktree.top, request_.revision));
    return writer_.vault.Fetch(writer_.worktree.top, facts_.commit);
  };
  const Status fetched = fetch();
  if (looking.valid()) {
    PAWL_ASSIGN(const std::vector<std::string> dirty, looking.get());
    if (!dirty.empty()) {
      return MakeError(Code::kConflict, "commit the candidate before running an experiment",
                       "not committed: " + PrintableLine(Join(dirty, ", ")));
    }
  }
  return fetched;
}

Status ExperimentRun::CommitPatch() {
  const auto committed =
      writer_.vault.CommitPatch(live_.incumbent(), request_.patch, request_.description);
  if (committed.ok()) {
    facts_.commit = *committed;
    return OkStatus();
  }
  if (committed.error().code != Code::kInvalidArgument) return committed.error();
  // The idea is recorded under the commit that it was meant for.
  facts_.commit = live_.incumbent();
  evidence_.intake = "invalid";
  evidence_.intake_reasons = {"the patch cannot be put on the incumbent: " +
                              PrintableLine(committed.error().message, 1000)};
  diff_.text = request_.patch;
  return OkStatus();
}

Status ExperimentRun::Inspect() {
  const CommitId commit = facts_.commit;
  if (diff_.text.empty()) {
    PAWL_ASSIGN(facts_, writer_.vault.Inspect(live_.incumbent(), commit, writer_.worktree.prefix,
                                              session_.config()));
    PAWL_ASSIGN(diff_, writer_.vault.Diff(live_.incumbent(), commit, kMaxDiffBytes));
  }
  if (evidence_.intake == "none") {
    evidence_.intake = IntakeName(facts_.refusal.kind);
    evidence_.intake_reasons = facts_.refusal.reasons;
  }
  const auto declared = judge::ParseClass(request_.classification);
  if (!declared) {
    return MakeError(Code::kInvalidArgument,
                     Format("unknown classification `{}`", PrintableLine(request_.classification)),
                     "use exact, numerical, approximate or quantization");
  }
  const judge::ClassFinding finding = judge::CheckClass(*declared, diff_.text);
  evidence_.declared_class = judge::ClassName(finding.declared);
  evidence_.judged_class = judge::ClassName(finding.judged_as);
  evidence_.class_signs = finding.signs;

  const os::SandboxProbe& probe = session_.probe();
  const campaign::Config& config = session_.config();
  evidence_.protocol = campaign::ProtocolName(config.protocol);
  evidence_.isolation = os::LevelName(probe.level);
  evidence_.own_uid = probe.own_uid;
  evidence_.judge_apart = config.protocol == campaign::Protocol::kWall;
  evidence_.trust_candidate = session_.options().trust_candidate;
  evidence_.rules = judge::RulesOf(config, live_.contract);
  evidence_.baseline_perf = PerfOf(live_.row.baseline);
  evidence_.baseline_quality = QualityOf(live_.row.baseline);
  evidence_.incumbent_perf = PerfOf(live_.row.incumbent);
  evidence_.incumbent_outside_wall_s = live_.row.incumbent.DoubleAt("outside_wall_s");
  return OkStatus();
}

Status ExperimentRun::Admit() {
  PAWL_ASSIGN(run_dir_, MakeRunFolder(session_.state(), facts_.commit));
  PAWL_ASSIGN(const Sha256 diff, writer_.journal.artifacts().Put(diff_.text));
  campaign::Journal::Admission admission;
  admission.campaign = live_.row.id;
  admission.commit = facts_.commit;
  admission.parent = facts_.parent;
  admission.incumbent = live_.incumbent();
  admission.description = request_.description;
  admission.classification = request_.classification;
  admission.source = request_.source;
  admission.expects = request_.expects;
  admission.track = request_.track;
  admission.proposer = request_.proposer;
  admission.run_dir = run_dir_.string();
  admission.diff_sha256 = diff.hex();
  admission.facts = FactsJson(facts_, diff_);
  PAWL_ASSIGN(id_, writer_.journal.Admit(admission));
  return OkStatus();
}

void ExperimentRun::Measure() {
  const Status measured = MeasureOrError();
  if (measured.ok()) return;
  if (measured.error().code == Code::kCancelled) {
    evidence_.interrupted = true;
  } else {
    evidence_.infra_error = measured.error().Text();
  }
}

Status ExperimentRun::MeasureOrError() {
  if (!CheckSurroundings()) return OkStatus();
  PAWL_ASSIGN(const bool may_run, CheckAttempts());
  if (!may_run) return OkStatus();
  PAWL_ASSIGN(PreparedWorkplace prepared,
              PrepareWorkplace(session_, writer_, live_, facts_.commit, live_.incumbent()));
  workplace_.emplace(std::move(prepared));
  PAWL_TRY(writer_.journal.RecordStage(id_, "materialised"));

  const run::Runner runner(session_.config(), session_.probe());
  const auto record = [&](const campaign::RunRecord& run) {
    const bool is_long = run.outcome.DoubleAt("wall_s") >= kLongRunS;
    return writer_.journal.RecordRun(
        id_, run, is_long ? campaign::Commit::kNow : campaign::Commit::kWithNext);
  };
  Suite suite(
      {session_.config(), live_.contract, runner, writer_.journal.artifacts(), session_.observer()},
      workplace_->place, record);
  PAWL_ASSIGN(const SuiteResult result, suite.Run());
  TakeResults(result);
  return KeepRunFolder(session_, *workplace_, run_dir_);
}

bool ExperimentRun::CheckSurroundings() {
  const Surroundings now = TakeSurroundings(session_);
  const Json* before = live_.row.baseline.Find("fingerprint");
  evidence_.environment_differences = Differences(before ? *before : Json(), now.fingerprint);
  for (const std::string& mismatch : now.target_mismatches) {
    evidence_.environment_differences.push_back(mismatch);
  }
  if (evidence_.environment_differences.empty()) return true;
  session_.observer().OnNote(
      "nothing was run: this machine is not as the baseline found it; `pawl baseline --refresh` "
      "measures root and incumbent again");
  return false;
}

Result<bool> ExperimentRun::CheckAttempts() {
  PAWL_ASSIGN(const auto attempts, writer_.journal.AttemptsOn(live_.row.id, facts_.commit));
  const auto cut_off =
      std::ranges::count(attempts, std::string(campaign::VerdictName(VerdictKind::kInterrupted)),
                         &campaign::ExperimentRow::status);
  if (static_cast<std::size_t>(cut_off) <= kMaxInterruptions) return true;
  evidence_.infra_error = Format(
      "this commit's measurement was cut off {} times; it is not started again, make a new "
      "commit to try the idea once more",
      cut_off);
  return false;
}

void ExperimentRun::TakeResults(const SuiteResult& suite) {
  suite_ = suite;
  evidence_.stages = suite.stages;
  evidence_.integrity = suite.integrity;
  evidence_.perf = suite.perf;
  evidence_.quality = suite.quality;
  evidence_.candidate_outside_wall_s = suite.outside_wall_s;
  evidence_.infra_error = suite.infra_error;
  evidence_.interrupted = suite.interrupted;
}

Result<Json> ExperimentRun::NewIncumbent() const {
  PAWL_ASSIGN(Json body, ReferenceBody(session_.config(), *suite_, facts_.commit, run_dir_));
  (*body.AsObject())["promote"] = PromotionIntent(writer_, live_, facts_.commit);
  return body;
}

Result<ExperimentReport> ExperimentRun::Decide() {
  ExperimentReport report;
  report.id = id_;
  report.commit = facts_.commit.hex;
  report.verdict = judge::Judge(evidence_);
  const judge::Verdict& verdict = report.verdict;
  const bool keep = verdict.kind == VerdictKind::kKeep;

  campaign::Journal::Decision decision;
  decision.experiment = id_;
  decision.kind = verdict.kind;
  decision.trust = verdict.trust;
  decision.level = evidence_.isolation;
  decision.best_before = verdict.best;
  decision.candidate = verdict.candidate;
  decision.improvement_pct = verdict.improvement_pct;
  decision.peak_vram_mb = verdict.peak_vram_mb;
  decision.quality = QualityText(verdict);
  decision.evidence = evidence_.ToJson();
  if (keep) {
    PAWL_ASSIGN(decision.incumbent, NewIncumbent());
    // Only saves time later; a full build does as well.
    const Status kept = KeepBuild(session_, live_, *workplace_, facts_.commit);
    if (!kept.ok()) session_.observer().OnNote("build folder not kept: " + kept.error().Text());
  }
  PAWL_TRY(writer_.journal.Decide(decision));

  const Json* intent = decision.incumbent.Find("promote");
  if (keep && intent != nullptr && !intent->is_null()) {
    PAWL_ASSIGN(const campaign::CampaignRow row, writer_.journal.GetCampaign(live_.row.id));
    PAWL_ASSIGN(report.branch_moved, Promote(session_, writer_, row, id_, *intent));
  }
  session_.observer().OnVerdict(id_, verdict);
  return report;
}

}  // namespace pawl::loop
