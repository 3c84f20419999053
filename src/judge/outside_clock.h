// Protocol `files`: what the candidate says about its own times, held against the time that its
// perf command took as seen from outside. docs/metric-schema.md gives the reasoning and the limits.
#pragma once

#include <string>
#include <vector>

#include "campaign/config.h"
#include "judge/gates.h"

namespace pawl::judge {

struct OutsideTimes {
  double incumbent_s = 0, candidate_s = 0;  // medians of the perf command's wall time; 0: unknown
};
struct ClockFinding {
  std::vector<std::string> contradictions;
  std::vector<std::string> notes;  // why the clock could not confirm a gain
};
// Nothing for objectives that are no times or not lower-is-better, and without a claimed gain.
ClockFinding CheckOutsideClock(const PerformanceInput& input, const campaign::Objective& objective,
                               const OutsideTimes& outside);

}  // namespace pawl::judge
