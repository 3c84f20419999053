// The single checks of calibration, on scores in the order of time. Each errs on a sound Gaussian
// series of 16 in fewer than 1 of 100 cases (ruler_test.cc).
#pragma once

#include <span>

#include "measure/score.h"

namespace pawl::measure {

// Kendall's rank correlation with time, in [-1, 1]; ties count as neither.
double TrendOf(std::span<const double> scores);
// Nearly every run is worse than all before it.
bool SlowsDown(std::span<const double> scores);

// Standard deviation of what changes slowly, from the variance beyond that of successive
// differences (von Neumann 1941); 0 when there is none.
double DriftSpread(std::span<const double> scores);
// The drift exceeds three times what neighbours differ by, or nearly every run is better than all
// before it (the program was not warm).
bool Drifts(std::span<const double> scores);
// A milder, significant drift: runs far apart cannot be compared, neighbours can.
bool Wanders(std::span<const double> scores);

// Two groups, each of a quarter of the runs or more, with a gap between them that is wider than
// four times the spread of the wider one and than half of everything that was seen.
bool IsBimodal(std::span<const double> scores);

}  // namespace pawl::measure
