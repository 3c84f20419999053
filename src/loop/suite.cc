#include "loop/suite.h"

#include "base/text.h"
#include "judge/metrics.h"
#include "loop/timed_runs.h"
#include "os/process.h"

namespace pawl::loop {

using campaign::Protocol;
using campaign::Stage;
using run::StageRequest;
using run::StageResult;

namespace {

Json OutcomeJson(const os::RunOutcome& outcome) {
  return JsonObject{{"end", os::RunEndName(outcome.end)},
                    {"exit_code", outcome.exit_code},
                    {"signal", outcome.signal},
                    {"wall_s", outcome.wall_s},
                    {"cpu_s", outcome.cpu_s},
                    {"peak_rss_bytes", Json::Count(outcome.peak_rss_bytes)},
                    {"log_bytes", Json::Count(outcome.log_bytes)},
                    {"log_cut", outcome.log_cut},
                    {"isolation", os::LevelName(outcome.level)}};
}

judge::StageEvidence EvidenceOf(Stage stage, const StageResult& result) {
  judge::StageEvidence evidence;
  evidence.stage = campaign::StageName(stage);
  evidence.end = os::RunEndName(result.outcome.end);
  evidence.exit_code = result.outcome.exit_code;
  evidence.wall_s = result.outcome.wall_s;
  evidence.cpu_s = result.outcome.cpu_s;
  evidence.peak_rss_mb = MegaBytes(result.outcome.peak_rss_bytes);
  evidence.description = result.outcome.Describe();
  evidence.last_words = result.last_words;
  return evidence;
}

}  // namespace

std::string SuiteResult::Failure() const {
  if (complete) return {};
  if (interrupted) return "stopped";
  if (!infra_error.empty()) return infra_error;
  if (!integrity.empty()) return Join(integrity, "; ");
  if (stages.empty()) return "nothing ran";
  const judge::StageEvidence& last = stages.back();
  return Format("{}: {}{}{}", last.stage, last.description, last.last_words.empty() ? "" : "\n",
                last.last_words);
}

Suite::Suite(Parts parts, run::Workplace place, RunSink sink)
    : parts_(parts), place_(std::move(place)), sink_(std::move(sink)) {}

Result<SuiteResult> Suite::Run() {
  for (const Stage stage : {Stage::kCheck, Stage::kBuild, Stage::kSmoke}) {
    PAWL_ASSIGN(const bool goes_on, RunIfConfigured(stage));
    if (!goes_on) return std::move(result_);
  }
  if (parts_.config.protocol == Protocol::kWall) {
    PAWL_TRY(RunTimed());
  } else {
    PAWL_TRY(RunFiles());
  }
  return std::move(result_);
}

Result<bool> Suite::RunIfConfigured(Stage stage) {
  if (parts_.config.Command(stage) == nullptr) return true;
  StageResult ignored;
  return RunStage({.stage = stage}, 1, &ignored);
}

// perf before quality: what was timed is what is judged.
Status Suite::RunFiles() {
  const std::string seed = FreshSeed();
  StageResult perf;
  PAWL_ASSIGN(bool goes_on, RunStage({Stage::kPerf, 0, seed}, 1, &perf));
  if (!goes_on) return OkStatus();
  result_.outside_wall_s = perf.outcome.wall_s;
  if (perf.perf) result_.perf = *perf.perf;

  StageResult quality;
  PAWL_ASSIGN(goes_on, RunStage({Stage::kQuality, 0, seed}, 1, &quality));
  if (quality.quality) result_.quality = *quality.quality;
  result_.complete = goes_on;
  return OkStatus();
}

Status Suite::RunTimed() {
  std::vector<os::RunOutcome> timed;
  std::vector<std::string> qualities;
  for (int index = 0; index < parts_.config.measure_runs; ++index) {
    PAWL_ASSIGN(const bool goes_on, RunOneTimed(index, timed, qualities));
    if (!goes_on) return OkStatus();
  }
  result_.perf = TimedPerf(timed);
  result_.quality = WorstQuality(qualities, parts_.contract);
  result_.outside_wall_s = MedianWall(timed);
  result_.complete = true;
  return OkStatus();
}

// The inputs are drawn after the build is frozen and are new for every run, so that a run cannot
// answer from what an earlier one saw.
Result<bool> Suite::RunOneTimed(int index, std::vector<os::RunOutcome>& timed,
                                std::vector<std::string>& qualities) {
  const int count = parts_.config.measure_runs;
  const std::string seed = FreshSeed();
  const os::Path run_dir = place_.run_dir;
  place_.run_dir = run_dir / Format("{}", index);
  const auto restore = [&](bool goes_on) {
    const Status removed = os::RemoveTree(place_.run_dir);
    place_.run_dir = run_dir;
    return removed.ok() ? Result<bool>(goes_on) : Result<bool>(removed.error());
  };
  PAWL_TRY(os::MakeFolders(place_.run_dir));

  if (parts_.config.Command(Stage::kPrepare) != nullptr) {
    StageResult prepare;
    PAWL_ASSIGN(const bool goes_on, RunStage({Stage::kPrepare, index, seed}, count, &prepare));
    if (!goes_on) return restore(false);
  }
  StageResult perf;
  PAWL_ASSIGN(bool goes_on, RunStage({Stage::kPerf, index, seed}, count, &perf));
  if (!goes_on) return restore(false);
  timed.push_back(perf.outcome);

  StageResult quality;
  PAWL_ASSIGN(goes_on, RunStage({Stage::kQuality, index, seed}, count, &quality));
  if (!goes_on) return restore(false);
  qualities.push_back(quality.quality ? *quality.quality
                                      : judge::ExitQuality(quality.outcome.succeeded()));
  return restore(true);
}

Result<bool> Suite::RunStage(const StageRequest& request, int count, StageResult* out) {
  if (os::StopRequested()) {
    result_.interrupted = true;
    return false;
  }
  const std::string_view name = campaign::StageName(request.stage);
  parts_.observer.OnStageStart(name, request.index, count);
  PAWL_ASSIGN(*out, parts_.runner.Run(place_, request));
  parts_.observer.OnStageEnd(name, out->outcome.Describe(), out->outcome.wall_s);
  PAWL_TRY(Record(request, *out));
  return !StageEndsSuite(request.stage, *out);
}

Status Suite::Record(const StageRequest& request, const StageResult& stage) {
  campaign::RunRecord record;
  record.stage = campaign::StageName(request.stage);
  record.index = request.index;
  record.command = stage.command;
  record.outcome = OutcomeJson(stage.outcome);
  record.seed = request.seed;
  PAWL_ASSIGN(const Sha256 log, parts_.artifacts.PutFile(stage.log));
  record.log_sha256 = log.hex();
  if (stage.perf) {
    PAWL_ASSIGN(const Sha256 perf, parts_.artifacts.Put(*stage.perf));
    record.perf_sha256 = perf.hex();
  }
  if (stage.quality) {
    PAWL_ASSIGN(const Sha256 quality, parts_.artifacts.Put(*stage.quality));
    record.quality_sha256 = quality.hex();
  }
  result_.stages.push_back(EvidenceOf(request.stage, stage));
  PAWL_TRY(sink_(record));
  result_.runs.push_back(std::move(record));
  return OkStatus();
}

bool Suite::StageEndsSuite(Stage stage, const StageResult& result) {
  result_.integrity.insert(result_.integrity.end(), result.integrity.begin(),
                           result.integrity.end());
  const os::RunOutcome& outcome = result.outcome;
  if (outcome.end == os::RunEnd::kCancelled) result_.interrupted = true;
  if (result_.interrupted || !result_.integrity.empty()) return true;
  if (outcome.succeeded()) return false;
  if (stage == Stage::kPrepare) {
    result_.infra_error = Format("prepare: {}: {}", outcome.Describe(), result.last_words);
  }
  // Under wall the checker's exit code is a judgement like any other.
  const bool judged = parts_.config.protocol == Protocol::kWall && stage == Stage::kQuality &&
                      outcome.end == os::RunEnd::kExited;
  return !judged;
}

}  // namespace pawl::loop
