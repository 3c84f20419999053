#include "measure/single.h"

#include <cmath>
#include <numbers>

#include "measure/distributions.h"

namespace pawl::measure {

SingleVerdict JudgeSingle(double incumbent_score, double candidate_score, double min_gain,
                          double run_spread) {
  SingleVerdict out;
  out.effect = Effect(incumbent_score, candidate_score);
  out.keep = out.effect > min_gain;
  if (run_spread > 0)
    out.null_keep_rate = NormalCdf(-min_gain / (run_spread * std::numbers::sqrt2));
  return out;
}

AgreeingVerdict JudgeAgreeing(double incumbent_score, std::span<const double> candidate_scores,
                              double min_gain) {
  AgreeingVerdict out;
  for (const double score : candidate_scores) {
    if (std::isfinite(score)) continue;
    out.outcome = AgreeingOutcome::kFailed;
    return out;
  }
  if (candidate_scores.size() < 2) return out;
  out.effect = Effect(incumbent_score, candidate_scores[0]);
  if (candidate_scores[0] != candidate_scores[1]) {
    out.outcome = AgreeingOutcome::kDisagree;
  } else {
    out.outcome = out.effect > min_gain ? AgreeingOutcome::kKeep : AgreeingOutcome::kNoGain;
  }
  return out;
}

}  // namespace pawl::measure
