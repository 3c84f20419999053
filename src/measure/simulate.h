// Whole synthetic campaigns: what a policy keeps, misses and costs with given noise and a given mix
// of ideas, so that it can be chosen on evidence. Deterministic in `seed`.
#pragma once

#include <cstdint>

#include "measure/budget.h"
#include "measure/noise.h"

namespace pawl::measure {

// Effects are in spreads of a single run. A gain or loss is uniform between its bounds; the rest of
// the candidates have no effect at all.
struct EffectMix {
  double gain_share = 0;
  double gain_low = 0.5, gain_high = 3;
  double loss_share = 0;
  double loss_low = 0.5, loss_high = 3.5;
};
constexpr EffectMix kNullMix{};
constexpr EffectMix kMixedEffects{0.08, 0.5, 3, 0.3, 0.5, 3.5};

struct SimulatedPolicy {
  Policy policy = Policy::kPaired;  // kSingle, kPaired or kSequential
  BlockDesign design = BlockDesign::kPair;
  std::uint32_t calibration_runs = 16;
  std::uint32_t cap = 120;
  // In spreads of a single run, like the effects.
  double min_gain = 0;
  double worth_seeing_blocks = kWorthSeeingBlocks;  // above min_gain, in block spreads
  SequentialOptions sequential;                     // its min_gain is replaced
  bool screening = true;                            // of kPaired
};
// The policy of a plan, for noise of the spread that calibration found.
SimulatedPolicy PolicyOf(const Plan& plan, const NoiseFigures& noise);

struct CampaignModel {
  NoiseModel noise;
  EffectMix effects;
  std::uint32_t experiments = 100;
  double run_cost_s = 1;
};

// Means of one campaign; counts are fractions once averaged over several.
struct CampaignFigures {
  double nulls = 0, losses = 0, gains = 0;  // experiments by true effect
  double null_keeps = 0, loss_keeps = 0, gain_keeps = 0;
  double progress = 0;  // true gain of the last incumbent over the first
  double claimed = 0;   // the same as a record of the deciding measurements has it
  double runs = 0, seconds = 0;
  // Of all campaigns, for intervals.
  std::uint64_t false_keeps_seen = 0, without_gain_seen = 0;

  double FalseKeepRate() const;  // of candidates without gain
  double MissedShare() const;    // of candidates with one
};

CampaignFigures SimulateCampaigns(const SimulatedPolicy& policy, const CampaignModel& model,
                                  std::uint32_t campaigns, std::uint64_t seed);

}  // namespace pawl::measure
