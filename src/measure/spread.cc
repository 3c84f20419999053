#include "measure/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "measure/distributions.h"

namespace pawl::measure {
namespace {

constexpr double kMadToSigma = 1.4826;

double MedianInPlace(std::vector<double>& x) {
  const auto middle = x.begin() + std::ssize(x) / 2;
  std::nth_element(x.begin(), middle, x.end());
  if (x.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(x.begin(), middle));
}

double SpreadAbout(std::span<const double> x, double centre) {
  std::vector<double> deviations;
  deviations.reserve(x.size());
  for (const double v : x) deviations.push_back(std::abs(v - centre));
  return kMadToSigma * MedianInPlace(deviations);
}

}  // namespace

double Mean(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double Median(std::span<const double> x) {
  std::vector<double> copy(x.begin(), x.end());
  return MedianInPlace(copy);
}

double StandardDeviation(std::span<const double> x) {
  if (x.size() < 2) return 0;
  const double mean = Mean(x);
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(x.size() - 1));
}

double RobustSpread(std::span<const double> x) {
  return SpreadAbout(x, Median(x));
}

double RobustSpreadAboutZero(std::span<const double> x) {
  return SpreadAbout(x, 0);
}

Location HodgesLehmann(std::span<const double> x, double confidence) {
  std::vector<double> means;
  means.reserve(x.size() * (x.size() + 1) / 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i; j < x.size(); ++j) means.push_back(0.5 * (x[i] + x[j]));
  }
  std::sort(means.begin(), means.end());
  const auto n = static_cast<double>(x.size());
  const auto count = static_cast<double>(means.size());
  const double z = NormalQuantile(0.5 + confidence / 2);
  // Rank below which the signed-rank sum lies with probability (1 - confidence) / 2.
  const double rank = std::floor(n * (n + 1) / 4 - z * std::sqrt(n * (n + 1) * (2 * n + 1) / 24));
  const auto low = static_cast<std::size_t>(std::clamp(rank, 0.0, std::floor((count - 1) / 2)));
  Location out;
  out.estimate = Median(means);
  out.interval = {means[low], means[means.size() - 1 - low]};
  return out;
}

}  // namespace pawl::measure
