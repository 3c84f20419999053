#include "measure/ruler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "measure/spread.h"

namespace pawl::measure {
namespace {

constexpr double kNearlyMonotone = 0.8;
constexpr double kSevereDrift = 3;

// Mean square of successive differences over the variance: 2 without memory, less with drift.
double NeumannRatio(std::span<const double> x) {
  const double sd = StandardDeviation(x);
  if (sd <= 0) return 2;
  double squares = 0;
  for (std::size_t i = 1; i < x.size(); ++i) squares += (x[i] - x[i - 1]) * (x[i] - x[i - 1]);
  return squares / (static_cast<double>(x.size() - 1) * sd * sd);
}

}  // namespace

double TrendOf(std::span<const double> x) {
  if (x.size() < 2) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      if (x[j] > x[i]) sum += 1;
      if (x[j] < x[i]) sum -= 1;
    }
  }
  return sum / (0.5 * static_cast<double>(x.size() * (x.size() - 1)));
}

bool SlowsDown(std::span<const double> scores) {
  return TrendOf(scores) >= kNearlyMonotone;
}

double DriftSpread(std::span<const double> scores) {
  const double sd = StandardDeviation(scores);
  return sd * std::sqrt(std::max(0.0, 1 - 0.5 * NeumannRatio(scores)));
}

bool Drifts(std::span<const double> scores) {
  if (TrendOf(scores) <= -kNearlyMonotone) return true;
  const double sd = StandardDeviation(scores);
  const double neighbours = sd * std::sqrt(0.5 * NeumannRatio(scores));
  return DriftSpread(scores) > kSevereDrift * neighbours;
}

bool Wanders(std::span<const double> scores) {
  // The ratio is nearly normal around 2 with variance 4 (n - 2) / (n^2 - 1).
  const auto n = static_cast<double>(scores.size());
  const double sd = std::sqrt(4 * (n - 2) / (n * n - 1));
  return NeumannRatio(scores) < 2 - 2.6 * sd;
}

bool IsBimodal(std::span<const double> scores) {
  std::vector<double> x(scores.begin(), scores.end());
  std::sort(x.begin(), x.end());
  const std::size_t least = std::max<std::size_t>(3, (x.size() + 3) / 4);
  if (x.size() < 2 * least) return false;
  std::size_t split = least;
  for (std::size_t i = least; i + least <= x.size(); ++i)
    if (x[i] - x[i - 1] > x[split] - x[split - 1]) split = i;
  const double gap = x[split] - x[split - 1];
  const std::span<const double> sorted(x);
  const double wider =
      std::max(StandardDeviation(sorted.first(split)), StandardDeviation(sorted.subspan(split)));
  return gap > 4 * wider && gap > 0.5 * (x.back() - x.front());
}

}  // namespace pawl::measure
