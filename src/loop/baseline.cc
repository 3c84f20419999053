#include "base/text.h"
#include "judge/metrics.h"
#include "loop/environment.h"
#include "loop/reference.h"
#include "loop/verbs.h"
#include "loop/workplace.h"
#include "run/runner.h"

namespace pawl::loop {

using campaign::CommitId;
using Mode = Engine::BaselineMode;

namespace {

Status CheckBeforeBaseline(const Session& session, const Writer& writer, const LiveCampaign& live,
                           Mode mode) {
  PAWL_ASSIGN(const std::vector<std::string> changed,
              campaign::ChangedHarness(live.lock, session.config(), campaign::LockCheck::kQuick));
  if (!changed.empty()) {
    return MakeError(Code::kConflict,
                     "fixed harness changed: " + PrintableLine(Join(changed, ", "), 1000),
                     "restore it, or open a new campaign with `init --new-campaign`");
  }
  if (mode == Mode::kRefresh) {
    if (live.baselined()) return OkStatus();
    return MakeError(Code::kConflict, "there is no baseline to refresh", "run `pawl baseline`");
  }
  PAWL_ASSIGN(const std::vector<std::string> dirty, DirtyPaths(session, writer.worktree));
  if (!dirty.empty()) {
    return MakeError(Code::kConflict, "baseline requires a clean working tree",
                     "not committed: " + PrintableLine(Join(dirty, ", ")));
  }
  if (mode == Mode::kFirst && live.baselined()) {
    return MakeError(
        Code::kAlreadyExists,
        "baseline already exists; use --force only if intentionally rebuilding the reference",
        "--refresh measures root and incumbent again on a changed machine");
  }
  return OkStatus();
}

Json RunsJson(const SuiteResult& suite) {
  JsonArray runs;
  for (const campaign::RunRecord& run : suite.runs) {
    runs.emplace_back(JsonObject{{"stage", run.stage},
                                 {"index", run.index},
                                 {"command", run.command},
                                 {"outcome", run.outcome},
                                 {"log_sha256", run.log_sha256},
                                 {"perf_sha256", run.perf_sha256},
                                 {"quality_sha256", run.quality_sha256}});
  }
  return runs;
}

// dit-ar's commands.json.
Json CommandsJson(const SuiteResult& suite) {
  JsonArray commands;
  for (const campaign::RunRecord& run : suite.runs) {
    const bool timed_out = run.outcome.StringAt("end") == "timeout";
    commands.emplace_back(
        JsonObject{{"command", run.command},
                   {"elapsed_s", run.outcome.DoubleAt("wall_s")},
                   {"log", run.stage + ".log"},
                   {"name", run.stage},
                   {"returncode", timed_out ? 124 : run.outcome.IntAt("exit_code")},
                   {"timed_out", timed_out}});
  }
  return commands;
}

// Runs the suite on a commit that judging will stand on. Anything short of a whole, well-formed
// result is an error, and nothing was replaced yet.
Result<Json> MeasureReference(Session& session, Writer& writer, const LiveCampaign& live,
                              const CommitId& commit) {
  PAWL_ASSIGN(PreparedWorkplace prepared,
              PrepareWorkplace(session, writer, live, commit, std::nullopt));
  const run::Runner runner(session.config(), session.probe());
  Suite suite(
      {session.config(), live.contract, runner, writer.journal.artifacts(), session.observer()},
      prepared.place, [](const campaign::RunRecord&) { return OkStatus(); });
  PAWL_ASSIGN(const SuiteResult result, suite.Run());
  if (result.interrupted) return MakeError(Code::kCancelled, "baseline stopped");
  if (!result.complete) {
    return MakeError(Code::kConflict,
                     Format("{} of {} failed: {}", commit == live.root() ? "baseline" : "incumbent",
                            commit.brief(), result.Failure()));
  }
  const std::vector<std::string> problems =
      ReferenceProblems(session.config(), live.contract, result);
  if (!problems.empty()) {
    return MakeError(Code::kConflict,
                     "the results cannot serve as a reference: " + Join(problems, "; "),
                     "mend config, contract or harness, commit, and `init --new-campaign`");
  }
  PAWL_TRY(KeepBuild(session, live, prepared, commit));
  PAWL_ASSIGN(const os::Path run_dir, MakeRunFolder(session.state(), commit));
  PAWL_TRY(KeepRunFolder(session, prepared, run_dir));
  PAWL_ASSIGN(Json body, ReferenceBody(session.config(), result, commit, run_dir));
  (*body.AsObject())["runs"] = RunsJson(result);
  (*body.AsObject())["commands"] = CommandsJson(result);
  return body;
}

Json QualityMetrics(const Json& body) {
  JsonObject metrics;
  for (const auto& [name, value] : judge::ReadQuality(QualityOf(body)).metrics) {
    metrics[name] = value;
  }
  return metrics;
}

}  // namespace

Result<BaselineReport> Baseline(Session& session, Writer& writer, Mode mode) {
  PAWL_TRY(session.RequireIsolation());
  PAWL_ASSIGN(const LiveCampaign live, LoadCampaign(session, writer));
  PAWL_TRY(CheckBeforeBaseline(session, writer, live, mode));
  const Surroundings surroundings = TakeSurroundings(session);
  if (!surroundings.target_mismatches.empty()) {
    return MakeError(
        Code::kConflict,
        "this machine is not the target: " + Join(surroundings.target_mismatches, "; "),
        "run on the target machine, or change `target` in a new campaign");
  }

  PAWL_ASSIGN(Json body, MeasureReference(session, writer, live, live.root()));
  const Json at_root = body;
  JsonObject& event = *body.AsObject();
  event["environment"] = surroundings.machine;
  event["fingerprint"] = surroundings.fingerprint;
  event["refresh"] = live.baselined();
  const bool moved_on = live.baselined() && !(live.incumbent() == live.root());
  if (moved_on && mode == Mode::kRefresh) {
    PAWL_ASSIGN(event["incumbent"], MeasureReference(session, writer, live, live.incumbent()));
  }
  if (moved_on && mode == Mode::kForce) {
    PAWL_TRY(writer.journal.MoveIncumbent(live.row.id, live.incumbent(), live.root(),
                                          "baseline --force", at_root));
  }
  PAWL_TRY(writer.journal.RecordBaseline(live.row.id, body));

  BaselineReport report;
  report.metric = session.config().objective.metric;
  report.value = body.DoubleAt("objective_value");
  report.quality = QualityMetrics(body);
  return report;
}

}  // namespace pawl::loop
