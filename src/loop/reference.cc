#include "loop/reference.h"

#include <cmath>

#include "base/text.h"
#include "judge/metrics.h"

namespace pawl::loop {

using campaign::Config;
using campaign::Direction;

namespace {

std::string MemberText(const Json& reference, std::string_view name) {
  const Json* member = reference.Find(name);
  return member == nullptr ? std::string() : member->Compact();
}

void CheckObjective(const campaign::Objective& objective, const Json& perf,
                    std::vector<std::string>& problems) {
  const std::optional<double> value = judge::Metric(perf, objective.metric);
  if (!value) {
    problems.push_back(Format("objective.metric {} is not a number in perf.json",
                              PrintableLine(objective.metric)));
    return;
  }
  if (objective.direction != Direction::kLower || !judge::IsTimeOrSize(objective.metric)) return;
  // A time or size can at best fall to just above 0.
  const double least_gain = std::fmax(objective.min_improvement_abs,
                                      objective.min_improvement_fraction * std::fabs(*value));
  if (*value <= 0 || least_gain >= *value) {
    problems.push_back(Format("objective {} = {}: no candidate can be lower by {}",
                              PrintableLine(objective.metric), FormatG(*value),
                              FormatG(least_gain)));
  }
}

void CheckGuardrails(const Config& config, const Json& perf, std::vector<std::string>& problems) {
  for (const campaign::Guardrail& guardrail : config.guardrails) {
    if (guardrail.required && !judge::Metric(perf, guardrail.metric)) {
      problems.push_back(
          Format("performance_guardrails: {} is required and not a number in "
                 "perf.json",
                 PrintableLine(guardrail.metric)));
    }
  }
}

void CheckContract(const campaign::Contract& contract, const judge::QualityFile& quality,
                   std::vector<std::string>& problems) {
  // The baseline against itself: whatever fails here fails for every candidate.
  const judge::GateResult gate = judge::JudgeQuality(quality, quality, contract, false);
  problems.insert(problems.end(), gate.reasons.begin(), gate.reasons.end());
  for (const campaign::QualityMetric& metric : contract.metrics) {
    const auto ill_formed = quality.ill_formed.find(metric.name);
    if (ill_formed != quality.ill_formed.end()) problems.push_back(ill_formed->second);
  }
  if (quality.Case("exit") == false) {
    problems.emplace_back("the quality command refuses the original program itself");
  }
}

}  // namespace

Result<Json> ReferenceBody(const Config& config, const SuiteResult& suite,
                           const campaign::CommitId& commit, const os::Path& run_dir) {
  judge::MetricFile perf = judge::ReadPerf(suite.perf);
  judge::QualityFile quality = judge::ReadQuality(suite.quality);
  const std::optional<double> value = judge::Metric(perf.json, config.objective.metric);
  PAWL_CHECK(value.has_value());
  return Json(JsonObject{{"commit", commit.hex},
                         {"objective_value", *value},
                         {"perf", std::move(perf.json)},
                         {"quality", std::move(quality.json)},
                         {"outside_wall_s", suite.outside_wall_s},
                         {"run_dir", run_dir.string()}});
}

std::string PerfOf(const Json& reference) {
  return MemberText(reference, "perf");
}

std::string QualityOf(const Json& reference) {
  return MemberText(reference, "quality");
}

std::vector<std::string> ReferenceProblems(const Config& config, const campaign::Contract& contract,
                                           const SuiteResult& suite) {
  std::vector<std::string> problems;
  if (suite.perf.empty()) problems.emplace_back("perf command did not create perf.json");
  if (suite.quality.empty()) problems.emplace_back("quality command did not create quality.json");
  if (!problems.empty()) return problems;
  const judge::MetricFile perf = judge::ReadPerf(suite.perf);
  const judge::QualityFile quality = judge::ReadQuality(suite.quality);
  problems = perf.problems;
  problems.insert(problems.end(), quality.problems.begin(), quality.problems.end());
  if (!problems.empty()) return problems;
  CheckObjective(config.objective, perf.json, problems);
  CheckGuardrails(config, perf.json, problems);
  CheckContract(contract, quality, problems);
  return problems;
}

}  // namespace pawl::loop
