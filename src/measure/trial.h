// One synthetic experiment under a procedure: the piece that prices and whole campaigns are made
// of.
#pragma once

#include <cstdint>

#include "measure/claim.h"
#include "measure/noise.h"
#include "measure/paired.h"
#include "measure/sequential.h"

namespace pawl::measure {

struct TrialResult {
  bool keep = false;
  std::uint32_t runs = 0;  // of both arms
  std::uint32_t candidate_runs = 0;
  std::uint32_t blocks = 0;  // of the paired procedure
  double effect = 0;         // as the deciding runs measured it: selected, so biased when kept
};

// A block's effect for a candidate that is better by `effect`; the order is `random`'s coin.
double SimulateBlock(BlockDesign design, double effect, NoisyRuns& noise, RandomSource& random);

TrialResult PairedTrial(const PairedOptions& options, BlockDesign design, double effect,
                        NoisyRuns& noise, RandomSource& random);

// The pool is carried on to the next trial. `level` is the incumbent's true score.
TrialResult SequentialTrial(IncumbentPool& pool, const SequentialOptions& options, double level,
                            double effect, NoisyRuns& noise, RandomSource& random);

// Spread of a block's effect as a calibration of so many runs would find it.
double SimulateBlockSpread(BlockDesign design, std::uint32_t runs, NoisyRuns& noise);

}  // namespace pawl::measure
