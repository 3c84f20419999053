// Evidence of a sound experiment that each test bends in one place.
#pragma once

#include <string>
#include <utility>

#include "judge/verdict.h"

namespace pawl::judge {

inline campaign::Config FixtureConfig() {
  campaign::Config config;
  config.objective = {.metric = "latency.median_s",
                      .direction = campaign::Direction::kLower,
                      .min_improvement_fraction = 0.005,
                      .min_improvement_abs = 0};
  config.guardrails = {{.metric = "latency.p95_s",
                        .direction = campaign::Direction::kLower,
                        .max_abs_regression = std::nullopt,
                        .max_rel_regression = 0.01,
                        .required = true}};
  return config;
}

inline campaign::Contract FixtureContract() {
  campaign::Contract contract;
  contract.metrics = {{.name = "accuracy",
                       .direction = campaign::Direction::kHigher,
                       .max_abs_regression = 0.01,
                       .max_rel_regression = 0.05}};
  return contract;
}

inline StageEvidence Passed(std::string stage) {
  StageEvidence out;
  out.stage = std::move(stage);
  out.end = "exited";
  out.description = "exit 0";
  return out;
}

inline StageEvidence Failed(std::string stage, std::string end, int exit_code,
                            std::string description) {
  StageEvidence out;
  out.stage = std::move(stage);
  out.end = std::move(end);
  out.exit_code = exit_code;
  out.description = std::move(description);
  out.last_words = "first line\nlast line\n";
  return out;
}

inline std::string PerfBytes(double median, double p95) {
  return Json(JsonObject{{"latency", JsonObject{{"median_s", median}, {"p95_s", p95}}},
                         {"peak_vram_mb", 9.0}})
      .Pretty();
}

inline std::string QualityBytes(double accuracy, bool case_passes = true) {
  return Json(JsonObject{{"metrics", JsonObject{{"accuracy", accuracy}}},
                         {"cases", JsonObject{{"text", JsonObject{{"passed", case_passes}}}}}})
      .Pretty();
}

// A keep: 2.0 s to 1.5 s, quality as before, outside time in agreement.
inline Evidence FixtureEvidence() {
  Evidence out;
  out.protocol = "files";
  out.isolation = "L3";
  out.stages = {Passed("build"), Passed("smoke"), Passed("perf"), Passed("quality")};
  out.baseline_perf = out.incumbent_perf = PerfBytes(2.0, 2.5);
  out.baseline_quality = QualityBytes(0.90);
  out.perf = PerfBytes(1.5, 2.0);
  out.quality = QualityBytes(0.90);
  out.incumbent_outside_wall_s = 12;
  out.candidate_outside_wall_s = 10;
  out.rules = RulesOf(FixtureConfig(), FixtureContract());
  return out;
}

// The same under `wall`: 4 s to 3 s, judged by an evaluator that runs apart.
inline Evidence WallEvidence() {
  campaign::Config config = FixtureConfig();
  config.objective.metric = "wall";
  config.guardrails.clear();
  Evidence out = FixtureEvidence();
  out.protocol = "wall";
  out.judge_apart = true;
  out.baseline_perf = out.incumbent_perf = R"({"wall": 4.0, "cpu": 4.0, "peak_rss": 100.0})";
  out.perf = R"({"wall": 3.0, "cpu": 3.0, "peak_rss": 100.0})";
  out.rules = RulesOf(config, FixtureContract());
  return out;
}

}  // namespace pawl::judge
