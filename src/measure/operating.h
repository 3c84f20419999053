// What the procedures do by simulation: keeps, refusals and cost for one noise shape and one true
// effect, each trial with a calibration of its own. The tests hold these figures to their limits
// and docs/statistics.md prints them.
#pragma once

#include <cstdint>
#include <string>

#include "measure/noise.h"
#include "measure/score.h"

namespace pawl::measure {

struct OperatingPoint {
  std::uint64_t trials = 0, keeps = 0;
  std::uint64_t quick_refusals = 0;  // not kept within kQuickBlocks blocks (paired only)
  double blocks = 0;                 // means
  double runs = 0;
  double candidate_runs = 0;

  double KeepRate() const;
  Interval KeepInterval() const;  // 99 %, exact
  double QuickShare() const;
};
constexpr std::uint32_t kQuickBlocks = 13;

// Steps per run of the random walk in the two procedures' drifting noise, in run spreads: over 100
// runs the walk goes 3 spreads far (paired) or half a spread (sequential).
constexpr double kPairedDrift = 0.3;
constexpr double kSequentialDrift = 0.05;

// Default options and a scale from 16 calibration runs; `effect` in spreads of null blocks of two.
OperatingPoint PairedOperating(NoiseShape shape, double effect, std::uint32_t trials,
                               std::uint64_t seed);

enum class PoolAge : std::uint8_t {
  kFresh,          // eight incumbent runs and nothing else
  kTwentyFreedom,  // and earlier experiments, until the spread has 20 degrees of freedom
  kCampaign,       // trials in chains of 50 on one pool
};
// Default options; `effect` in seed spreads.
OperatingPoint SequentialOperating(const NoiseModel& noise, double effect, PoolAge age,
                                   std::uint32_t trials, std::uint64_t seed);

// The tables of docs/statistics.md, in Markdown; there with these counts.
constexpr std::uint32_t kTableTrials = 20'000;
constexpr std::uint32_t kTableCampaigns = 100;
std::string ErrorTables(std::uint32_t trials, std::uint32_t campaigns);

}  // namespace pawl::measure
