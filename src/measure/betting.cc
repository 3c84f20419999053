#include "measure/betting.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pawl::measure {
namespace {

constexpr std::array<double, BettingProcess::kBets> kLambda = {
    0.1 * 0.999, 0.2 * 0.999, 0.3 * 0.999, 0.4 * 0.999, 0.5 * 0.999,
    0.6 * 0.999, 0.7 * 0.999, 0.8 * 0.999, 0.9 * 0.999};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Wealth against "the effect is at most theta" (sign 1) or "at least theta" (sign -1).
double WealthAgainst(std::span<const double> effects, double theta, double sign, double scale) {
  BettingProcess process;
  for (const double d : effects) process.Bet(ClippedScore(sign * (d - theta), scale));
  return process.wealth();
}

// The end of the set of theta that are not refuted; wealth falls as theta moves outward-in.
double End(std::span<const double> effects, double sign, double scale, double threshold) {
  double least = kInfinity;
  double most = -kInfinity;
  for (const double d : effects) {
    if (!std::isfinite(d)) continue;
    least = std::min(least, sign * d);
    most = std::max(most, sign * d);
  }
  if (least > most) return -sign * kInfinity;
  // In units of sign * theta: refuted at `low` (if anywhere), not refuted at `high`.
  double low = least - scale;
  double high = most + scale;
  if (WealthAgainst(effects, sign * low, sign, scale) < threshold) return -sign * kInfinity;
  while (high - low > scale / 1000) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;  // no double lies between
    (WealthAgainst(effects, sign * middle, sign, scale) < threshold ? high : low) = middle;
  }
  return sign * low;  // the outer side
}

}  // namespace

double ClippedScore(double difference, double scale) {
  return std::clamp(difference / scale, -1.0, 1.0);
}

void BettingProcess::Bet(double g) {
  for (std::size_t i = 0; i < kBets; ++i) capital_[i] *= 1 + kLambda[i] * g;
}

double BettingProcess::wealth() const {
  double sum = 0;
  for (const double c : capital_) sum += c;
  return sum / static_cast<double>(kBets);
}

Interval ConfidenceSequence(std::span<const double> effects, double scale, double alpha) {
  return {End(effects, 1, scale, 2 / alpha), End(effects, -1, scale, 2 / alpha)};
}

}  // namespace pawl::measure
