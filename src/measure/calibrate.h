// Calibration: runs of the unchanged program against itself (A/A) and of a copy that was slowed on
// purpose tell what a run costs, how noisy it is and of which kinds, and whether the ruler can be
// trusted at all. It fixes the paired procedure's scale before there is any evidence, and chooses
// the procedure and its price (budget.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/budget.h"
#include "measure/score.h"

namespace pawl::measure {

// Two clocks at a run's start, in seconds from any origin.
struct ClockReading {
  double monotonic_s = 0;
  double wall_s = 0;
};

// One run of the unchanged program, in a process of its own.
struct CalibrationRun {
  double value = 0;            // NaN: no result
  double cost_s = 0;           // all that the run took
  std::vector<double> inside;  // samples of which `value` is the median, where known
  std::optional<ClockReading> start;
};

// A run of the unchanged program beside one of the slowed copy.
struct SlowedPair {
  double value = 0;
  double slowed_value = 0;
};

struct CalibrationInput {
  Metric metric;
  bool is_time = true;               // a clock's reading: never exactly the same twice
  std::vector<CalibrationRun> runs;  // in the order of time
  std::vector<SlowedPair> slowed;    // empty where no copy can be slowed (sizes, losses)
  double slowed_by = 0.1;            // fraction by which the copy must look worse
  Policy requested = Policy::kAuto;
  double budget_s = 600;
  double min_gain_fraction = 0.002;
};

constexpr std::size_t kLeastCalibrationRuns = 8;
constexpr std::size_t kCalibrationRuns = 16;  // recommended
constexpr std::size_t kSlowedPairs = 4;       // recommended, and the least

enum class Ruler : std::uint8_t {
  kSound,
  kTooFewRuns,
  kMissing,     // a run without a result
  kZero,        // zero or negative where ratios are asked for
  kConstant,    // a clock that always reads the same, or a value that the slowed copy does not move
  kClockJumps,  // the clocks disagree about the time between runs, or run backwards
  kSlowsDown,   // each run is worse than the one before: runs leave something behind
  kDrifts,      // runs move by far more than neighbours differ
  kBimodal,     // runs fall into two groups
  kSlowedNotSeen,
  kBadPlan,  // the requested policy does not fit; `why` is the plan's error
};
// "sound", "too-few-runs", "missing", ...
std::string_view RulerName(Ruler ruler);

// Standard deviations of a score, by where they come from.
struct NoiseParts {
  double within = 0;   // of the run's value, from the samples inside it; 0 where unknown
  double between = 0;  // of processes beyond that
  double drift = 0;    // slower than from one run to the next
};

struct Calibration {
  double typical = 0;          // median value
  double incumbent_score = 0;  // its score, for the screening run
  double run_cost_s = 0;       // median
  bool deterministic = false;  // all runs agree exactly and the metric is no clock
  NoiseParts parts;
  NoiseFigures noise;
  double scale = 0;          // s0 of the chosen block design
  double seen_slowdown = 0;  // fraction, of the slowed copy; 0 without one
  Plan plan;
};

struct CalibrationResult {
  Ruler ruler = Ruler::kSound;
  std::string why;   // of a broken ruler: one sentence
  std::string hint;  // what to do about it
  // Complete when sound; else as far as it came.
  Calibration calibration;
};

CalibrationResult Calibrate(const CalibrationInput& input);

}  // namespace pawl::measure
