// Location and spread that a few wild runs cannot carry away.
#pragma once

#include <span>

#include "measure/score.h"

namespace pawl::measure {

// All of these take at least one finite number.
double Mean(std::span<const double> x);
double Median(std::span<const double> x);
// Sample standard deviation; 0 for a single number.
double StandardDeviation(std::span<const double> x);
// 1.4826 * median |x - median|: the standard deviation, were the middle half Gaussian.
double RobustSpread(std::span<const double> x);
// The same about a known centre of 0, for differences whose sign is a coin's.
double RobustSpreadAboutZero(std::span<const double> x);

// Hodges and Lehmann (1963): the median of all pairwise means, and the interval that inverts the
// Wilcoxon signed-rank test (normal approximation, good from 8 numbers on).
struct Location {
  double estimate = 0;
  Interval interval;
};
Location HodgesLehmann(std::span<const double> x, double confidence);

}  // namespace pawl::measure
