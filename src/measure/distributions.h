// The few distribution functions that bounds and intervals need.
#pragma once

#include <cstdint>

#include "measure/score.h"

namespace pawl::measure {

double NormalCdf(double x);
// 0 < p < 1.
double NormalQuantile(double p);
// Of Student's t with `freedom` > 0 degrees of freedom; 0 < p < 1.
double StudentQuantile(double p, double freedom);
// Regularised incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1.
double IncompleteBeta(double a, double b, double x);

// Exact (Clopper and Pearson 1934) interval for a probability of which `hits` of `trials` were
// seen; each side errs with probability (1 - confidence) / 2.
Interval BinomialInterval(std::uint64_t hits, std::uint64_t trials, double confidence);

}  // namespace pawl::measure
