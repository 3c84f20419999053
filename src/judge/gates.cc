#include "judge/gates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/text.h"

namespace pawl::judge {

using campaign::Direction;

namespace {

constexpr double kTolerance = 1e-15;
constexpr double kSmallestReference = 1e-12;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Regression {
  double absolute = 0, relative = 0;
};

Regression RegressionOf(double reference, double candidate, Direction direction) {
  const double worse =
      direction == Direction::kHigher ? reference - candidate : candidate - reference;
  const double absolute = std::max(0.0, worse);
  return {absolute, absolute / std::max(std::fabs(reference), kSmallestReference)};
}

struct Allowance {
  double absolute = 0, relative = 0;

  bool Holds(const Regression& regression) const {
    return regression.absolute <= absolute + kTolerance &&
           regression.relative <= relative + kTolerance;
  }
};

// Python's {:.N%}.
std::string Percent(double fraction, int digits) {
  char buffer[400];
  const int length = std::snprintf(buffer, sizeof buffer, "%.*f%%", digits, fraction * 100);
  return {buffer, static_cast<std::size_t>(length)};
}

// JSON has no infinity: an absent limit is null.
Json Limit(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

std::string Shown(std::string_view name) {
  return PrintableLine(name, 200);
}

void JudgeMetric(const campaign::QualityMetric& metric, const QualityFile& baseline,
                 const QualityFile& candidate, bool strict, JsonObject& details,
                 std::vector<std::string>& reasons) {
  const auto reference = baseline.Value(metric.name);
  const auto value = candidate.Value(metric.name);
  if (!reference || !value) {
    reasons.push_back(Format("{} quality metric missing: {}", reference ? "candidate" : "baseline",
                             Shown(metric.name)));
    return;
  }
  const Regression regression = RegressionOf(*reference, *value, metric.direction);
  const Allowance allowed =
      strict ? Allowance{} : Allowance{metric.max_abs_regression, metric.max_rel_regression};
  const bool holds = allowed.Holds(regression);
  details[metric.name] = JsonObject{{"baseline", *reference},
                                    {"candidate", *value},
                                    {"direction", campaign::DirectionName(metric.direction)},
                                    {"abs_regression", regression.absolute},
                                    {"rel_regression", regression.relative},
                                    {"max_abs_regression", Limit(allowed.absolute)},
                                    {"max_rel_regression", Limit(allowed.relative)},
                                    {"pass", holds}};
  if (holds) return;
  reasons.push_back(
      Format("quality regression {}: baseline={}, candidate={}, abs_reg={}, rel_reg={}",
             Shown(metric.name), FormatG(*reference), FormatG(*value), FormatG(regression.absolute),
             Percent(regression.relative, 6)));
}

void JudgeCases(const QualityFile& baseline, const QualityFile& candidate, JsonObject& details,
                std::vector<std::string>& reasons) {
  for (const auto& [name, passed_before] : baseline.cases) {
    if (!passed_before) continue;
    const auto passes = candidate.Case(name);
    if (!passes) {
      reasons.push_back("candidate missing required quality case: " + Shown(name));
      details[name] = JsonObject{{"pass", false}, {"reason", "missing"}};
      continue;
    }
    details[name] =
        JsonObject{{"baseline_pass", true}, {"candidate_pass", *passes}, {"pass", *passes}};
    if (!*passes) reasons.push_back("new critical case failure: " + Shown(name));
  }
}

// What dit-ar puts behind "invalid or missing": Python's text for a missing key or a wrong type.
std::string WhyNoNumber(const Json& perf, const std::string& metric) {
  const Json* found = perf.FindPath(metric);
  if (found == nullptr) return Format("'{}'", Shown(metric));
  return Format("Metric '{}' must be numeric; got {}", Shown(metric), TypeName(found->type()));
}

std::string WhyNoNumber(const Json& first, const Json& second, const std::string& metric) {
  return WhyNoNumber(Metric(first, metric) ? second : first, metric);
}

Allowance AllowanceOf(const campaign::Guardrail& guardrail) {
  if (!guardrail.max_abs_regression && !guardrail.max_rel_regression) return {};
  return {guardrail.max_abs_regression.value_or(kInfinite),
          guardrail.max_rel_regression.value_or(kInfinite)};
}

void JudgeGuardrail(const campaign::Guardrail& guardrail, const PerformanceInput& input,
                    JsonObject& details, std::vector<std::string>& reasons) {
  const std::string& metric = guardrail.metric;
  const auto best = Metric(input.incumbent, metric);
  const auto value = Metric(input.candidate, metric);
  const auto original = Metric(input.baseline, metric);
  const bool had = best || original;
  if (!value || (!best && guardrail.required)) {
    // dit-ar lets a candidate drop an optional guardrail; here it must keep what there was.
    if (guardrail.required || had) {
      reasons.push_back(Format("guardrail metric invalid or missing {}: {}", Shown(metric),
                               WhyNoNumber(input.incumbent, input.candidate, metric)));
    }
    return;
  }
  if (!had) return;

  const Allowance allowed = AllowanceOf(guardrail);
  JsonObject entry{{"candidate", *value},
                   {"direction", campaign::DirectionName(guardrail.direction)},
                   {"max_abs_regression", Limit(allowed.absolute)},
                   {"max_rel_regression", Limit(allowed.relative)}};
  bool passes = true;
  if (best) {
    const Regression regression = RegressionOf(*best, *value, guardrail.direction);
    passes = allowed.Holds(regression);
    entry["best"] = *best;
    entry["abs_regression"] = regression.absolute;
    entry["rel_regression"] = regression.relative;
    if (!passes) {
      reasons.push_back(Format("performance guardrail failed {}: best={}, candidate={}, rel_reg={}",
                               Shown(metric), FormatG(*best), FormatG(*value),
                               Percent(regression.relative, 4)));
    }
  }
  if (original) {
    const Regression regression = RegressionOf(*original, *value, guardrail.direction);
    const bool holds = allowed.Holds(regression);
    entry["against_baseline"] = JsonObject{{"baseline", *original},
                                           {"abs_regression", regression.absolute},
                                           {"rel_regression", regression.relative},
                                           {"pass", holds}};
    // One reason is enough where incumbent and baseline are the same measurement.
    if (!holds && (passes || best != original)) {
      reasons.push_back(Format(
          "performance guardrail failed {} against the baseline: baseline={}, candidate={}, "
          "rel_reg={}",
          Shown(metric), FormatG(*original), FormatG(*value), Percent(regression.relative, 4)));
    }
    passes = passes && holds;
  }
  entry["pass"] = passes;
  details[metric] = std::move(entry);
}

}  // namespace

Json GateResult::ToJson() const {
  return JsonObject{{"passed", passed}, {"reasons", Json::Strings(reasons)}, {"details", details}};
}

GateResult JudgeQuality(const QualityFile& baseline, const QualityFile& candidate,
                        const campaign::Contract& contract, bool strict) {
  GateResult out;
  JsonObject metrics;
  JsonObject cases;
  // Without metrics, as protocol wall allows, at least one case of the baseline must hold
  // something.
  const auto holds = [](const auto& entry) { return entry.second; };
  const bool cases_judge =
      contract.require_case_passes && std::ranges::any_of(baseline.cases, holds);
  if (contract.metrics.empty() && !cases_judge) {
    out.reasons.emplace_back("quality contract contains no metrics");
  } else {
    const bool zero = strict || contract.strict_zero_regression;
    for (const campaign::QualityMetric& metric : contract.metrics) {
      JudgeMetric(metric, baseline, candidate, zero, metrics, out.reasons);
    }
    if (contract.require_case_passes) JudgeCases(baseline, candidate, cases, out.reasons);
  }
  out.passed = out.reasons.empty();
  out.details = JsonObject{{"metrics", std::move(metrics)}, {"cases", std::move(cases)}};
  return out;
}

PerformanceResult JudgePerformance(const PerformanceInput& input, const campaign::Config& config) {
  PerformanceResult out;
  const campaign::Objective& objective = config.objective;
  out.best = Metric(input.incumbent, objective.metric);
  out.candidate = Metric(input.candidate, objective.metric);
  if (!out.best || !out.candidate) {
    out.gate.reasons.push_back("primary performance metric invalid or missing: " +
                               WhyNoNumber(input.incumbent, input.candidate, objective.metric));
    out.gate.details = JsonObject{{"objective", JsonObject{}}, {"guardrails", JsonObject{}}};
    return out;
  }

  const double gain = objective.direction == Direction::kLower ? *out.best - *out.candidate
                                                               : *out.candidate - *out.best;
  const double relative = gain / std::max(std::fabs(*out.best), kSmallestReference);
  const double percent = 100 * gain / std::max(std::fabs(*out.best), kSmallestReference);
  if (std::isfinite(percent)) out.improvement_pct = percent;
  // A gain beyond double's range is no measurement: dit-ar lets it pass, Pawl does not.
  const bool improved = gain > 0 && gain + kTolerance >= objective.min_improvement_abs &&
                        relative + kTolerance >= objective.min_improvement_fraction &&
                        std::isfinite(percent);
  if (!improved) {
    out.gate.reasons.push_back(
        Format("primary objective did not improve enough: {} best={}, candidate={}, improvement={}",
               Shown(objective.metric), FormatG(*out.best), FormatG(*out.candidate),
               Percent(relative, 4)));
  }

  JsonObject guardrails;
  for (const campaign::Guardrail& guardrail : config.guardrails) {
    JudgeGuardrail(guardrail, input, guardrails, out.gate.reasons);
  }
  out.gate.passed = out.gate.reasons.empty();
  out.gate.details = JsonObject{
      {"objective", JsonObject{{"metric", objective.metric},
                               {"direction", campaign::DirectionName(objective.direction)},
                               {"best", *out.best},
                               {"candidate", *out.candidate},
                               {"abs_improvement", Limit(gain)},
                               {"rel_improvement", Limit(relative)},
                               {"min_improvement_abs", objective.min_improvement_abs},
                               {"min_improvement_fraction", objective.min_improvement_fraction},
                               {"pass", improved}}},
      {"guardrails", std::move(guardrails)}};
  return out;
}

}  // namespace pawl::judge
