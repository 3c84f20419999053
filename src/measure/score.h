// What a measured value means to the statistics: a score of which lower is better and whose
// differences are effects. Every procedure in this module sees scores only.
//
// On the ratio scale a score is a logarithm, so an effect of 0.02 is a change by 2 % (nearly) and
// two gains add; on the difference scale it is the value itself.
#pragma once

#include <cstdint>

namespace pawl::measure {

enum class Better : std::uint8_t { kLower, kHigher };
enum class Scale : std::uint8_t { kRatio, kDifference };
enum class Arm : std::uint8_t { kIncumbent, kCandidate };

struct Metric {
  Better better = Better::kLower;
  Scale scale = Scale::kRatio;
};

// NaN when the value is not finite, or not positive on the ratio scale: a run without a result.
double Score(const Metric& metric, double value);

// The value of which Score is `score`.
double ValueOf(const Metric& metric, double score);

// Positive when the candidate is better; NaN when either score is.
inline double Effect(double incumbent_score, double candidate_score) {
  return incumbent_score - candidate_score;
}

// The effect of an improvement by `fraction` of a value like `typical` (0.05: a time of 95 % or a
// throughput of 105 %), and back. fraction < 1; `typical` matters on the difference scale only.
double EffectOfFraction(const Metric& metric, double fraction, double typical);
double FractionOfEffect(const Metric& metric, double effect, double typical);

struct Interval {
  double low = 0;
  double high = 0;
  double width() const { return high - low; }
  bool Contains(double x) const { return low <= x && x <= high; }
};

}  // namespace pawl::measure
