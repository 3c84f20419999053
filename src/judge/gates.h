// The exact arithmetic of the gates (compatible with dit-ar, tolerances included) with the stricter
// rules that Pawl adds. Pure: numbers in, reasons out.
//
// Regression of candidate c against reference r: higher-is-better max(0, r - c), lower-is-better
// max(0, c - r); relative = regression / max(|r|, 1e-12). A limit L holds when regression <= L +
// 1e-15.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "campaign/config.h"
#include "campaign/contract.h"
#include "judge/metrics.h"

namespace pawl::judge {

struct GateResult {
  bool passed = false;
  std::vector<std::string> reasons;  // dit-ar's wording
  Json details;                      // dit-ar's quality_gate.json / performance_gate.json `details`

  Json ToJson() const;  // { passed, reasons, details }
};

// Against the baseline, always. `strict`: every allowance counts as 0, as it does when the contract
// itself says strict_zero_regression.
GateResult JudgeQuality(const QualityFile& baseline, const QualityFile& candidate,
                        const campaign::Contract& contract, bool strict);

struct PerformanceInput {
  Json baseline;  // perf metrics of the original program
  Json incumbent;
  Json candidate;
};
struct PerformanceResult {
  GateResult gate;
  std::optional<double> best, candidate, improvement_pct;  // of the objective
};
// Objective against the incumbent; guardrails against the incumbent and against the baseline, so
// that small steps cannot add up; an optional guardrail that the incumbent has, the candidate must
// have.
PerformanceResult JudgePerformance(const PerformanceInput& input, const campaign::Config& config);

}  // namespace pawl::judge
