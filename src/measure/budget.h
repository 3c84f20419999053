// What an experiment costs, before it is run: the choice of the procedure and its price in runs and
// seconds. Prices are means over synthetic experiments with the calibrated noise and a fixed seed,
// not formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "measure/coin.h"
#include "measure/paired.h"
#include "measure/score.h"
#include "measure/sequential.h"

namespace pawl::measure {

enum class Policy : std::uint8_t { kAuto, kSingle, kPaired, kSequential, kAgreeing };
std::string_view PolicyName(Policy policy);
std::optional<Policy> ParsePolicy(std::string_view name);

// Noise of scores, as calibration found it.
struct NoiseFigures {
  double run_spread = 0;   // robust, of single runs
  double run_sd = 0;       // plain, of single runs
  double worst = 0;        // largest deviation of a run from the median towards worse
  double pair_spread = 0;  // of the effect of null blocks of two runs
  double abba_spread = 0;  // and of four
  bool drifts = false;     // single runs wander: only neighbours can be compared
};

struct PlanInput {
  Policy requested = Policy::kAuto;
  Metric metric;
  double typical = 1;  // median value of the metric
  double run_cost_s = 0;
  double budget_s = 600;  // of one experiment
  double min_gain_fraction = 0.002;
  bool deterministic = false;
  NoiseFigures noise;
};

struct Price {
  double runs = 0;
  double seconds = 0;
  double keep_share = 0;  // of such candidates that are kept
};

struct Plan {
  Policy policy = Policy::kSingle;  // never kAuto
  BlockDesign design = BlockDesign::kPair;
  PairedOptions paired;            // of kPaired
  SequentialOptions sequential;    // of kSequential
  double min_gain = 0;             // effect
  Price null_price;                // of a candidate without effect
  Price gain_price;                // of one that is better by 5 %
  std::uint32_t most_runs = 0;     // of one experiment, repeats and restarts aside
  double detectable_fraction = 0;  // gain that is found in 9 of 10 cases
  bool within_budget = true;       // most_runs fit
  std::string why;                 // the choice, in a sentence or two

  // "null about 16 runs, 8 min; 5 % gain about 12 runs, 6 min"
  std::string PriceLine() const;
};

// `paired` when at least this many blocks fit into the budget, else `sequential`.
constexpr std::uint32_t kLeastBlocks = 30;
// Blocks of two for runs of a second or more: their noise is their own, and four would cost double.
constexpr double kPairFromSeconds = 1.0;

// kInvalidArgument when a figure makes no sense or the requested policy does not fit the metric
// (agreeing runs of a noisy metric, statistics on one without noise).
Result<Plan> MakePlan(const PlanInput& input);

// One run of the candidate before anything else. True: worse than the incumbent by more than
// 4 sigma and by more than any calibration run was; refused at once. A run without a result is.
bool ScreenRefuses(const NoiseFigures& noise, double incumbent_score, double first_score);

}  // namespace pawl::measure
