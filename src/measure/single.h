// The two procedures without statistics: one run against the recorded value, as dit-ar judges, and
// metrics without noise.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "measure/score.h"

namespace pawl::measure {

// Shown beside every verdict of the single-run rule.
constexpr std::string_view kSingleLabel = "single run: noise is not controlled";

struct SingleVerdict {
  bool keep = false;
  double effect = 0;  // NaN when either run has no result
  // Probability that a candidate without any effect is kept, for Gaussian runs of this spread: the
  // difference of two runs has spread * sqrt(2).
  double null_keep_rate = 0;
};
// Keeps when the candidate's one run is better by more than min_gain (an effect, >= 0).
SingleVerdict JudgeSingle(double incumbent_score, double candidate_score, double min_gain,
                          double run_spread);

// Sizes, instruction counts: two runs that agree exactly are the truth.
enum class AgreeingOutcome : std::uint8_t {
  kOpen,  // one more run
  kKeep,
  kNoGain,
  kDisagree,  // the candidate made the metric noisy: not kept
  kFailed,    // a run without a result
};
struct AgreeingVerdict {
  AgreeingOutcome outcome = AgreeingOutcome::kOpen;
  double effect = 0;
};
AgreeingVerdict JudgeAgreeing(double incumbent_score, std::span<const double> candidate_scores,
                              double min_gain);

}  // namespace pawl::measure
