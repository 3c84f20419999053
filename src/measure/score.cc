#include "measure/score.h"

#include <cmath>
#include <limits>

namespace pawl::measure {

double Score(const Metric& metric, double value) {
  if (!std::isfinite(value) || (metric.scale == Scale::kRatio && value <= 0))
    return std::numeric_limits<double>::quiet_NaN();
  const double scaled = metric.scale == Scale::kRatio ? std::log(value) : value;
  return metric.better == Better::kLower ? scaled : -scaled;
}

double ValueOf(const Metric& metric, double score) {
  const double scaled = metric.better == Better::kLower ? score : -score;
  return metric.scale == Scale::kRatio ? std::exp(scaled) : scaled;
}

double EffectOfFraction(const Metric& metric, double fraction, double typical) {
  if (metric.scale == Scale::kDifference) return fraction * std::abs(typical);
  return metric.better == Better::kLower ? -std::log1p(-fraction) : std::log1p(fraction);
}

double FractionOfEffect(const Metric& metric, double effect, double typical) {
  if (metric.scale == Scale::kDifference) return typical == 0 ? 0 : effect / std::abs(typical);
  return metric.better == Better::kLower ? -std::expm1(-effect) : std::expm1(effect);
}

}  // namespace pawl::measure
