#include "measure/operating.h"

#include <vector>

#include "base/result.h"
#include "measure/block_spread.h"
#include "measure/distributions.h"
#include "measure/trial.h"

namespace pawl::measure {
namespace {

constexpr std::uint32_t kCalibration = 16;
constexpr std::uint32_t kPoolStart = 8;
constexpr std::uint32_t kChain = 50;

NoiseModel PairedNoise(NoiseShape shape) {
  return {shape, 1, shape == NoiseShape::kDrifting ? kPairedDrift : 0};
}

// The true robust spread of null blocks, to the third digit.
double TrueBlockSpread(NoiseShape shape) {
  RandomSource random(1);
  NoisyRuns noise(PairedNoise(shape), random);
  return SimulateBlockSpread(BlockDesign::kPair, 100'000, noise);
}

IncumbentPool FreshPool(NoisyRuns& noise, const PoolOptions& options) {
  return StartPool(noise.Take(kPoolStart), options).value();
}

// Earlier experiments of four runs, and refreshes until the pool is full.
void Age(IncumbentPool& pool, NoisyRuns& noise, const PoolOptions& options) {
  constexpr double kFreedom = 20;
  while (pool.freedom < kFreedom) {
    const std::vector<double> group = noise.Take(4);
    LearnSpread(pool, group, options);
    if (pool.runs.size() < options.size && AddRefresh(pool, noise.Next(), options))
      PAWL_CHECK(RefillPool(pool, group, options).ok());
  }
}

void Count(const TrialResult& trial, OperatingPoint& out) {
  ++out.trials;
  if (trial.keep) ++out.keeps;
  if (!trial.keep && trial.blocks <= kQuickBlocks) ++out.quick_refusals;
  out.blocks += trial.blocks;
  out.runs += trial.runs;
  out.candidate_runs += trial.candidate_runs;
}

void Average(OperatingPoint& out) {
  const auto n = static_cast<double>(out.trials);
  out.blocks /= n;
  out.runs /= n;
  out.candidate_runs /= n;
}

}  // namespace

double OperatingPoint::KeepRate() const {
  return static_cast<double>(keeps) / static_cast<double>(trials);
}

Interval OperatingPoint::KeepInterval() const {
  return BinomialInterval(keeps, trials, 0.99);
}

double OperatingPoint::QuickShare() const {
  return static_cast<double>(quick_refusals) / static_cast<double>(trials);
}

OperatingPoint PairedOperating(NoiseShape shape, double effect, std::uint32_t trials,
                               std::uint64_t seed) {
  const double true_spread = TrueBlockSpread(shape);
  RandomSource random(seed);
  OperatingPoint out;
  for (std::uint32_t i = 0; i < trials; ++i) {
    NoisyRuns noise(PairedNoise(shape), random);
    const double spread = SimulateBlockSpread(BlockDesign::kPair, kCalibration, noise);
    PairedOptions options;
    options.scale = kScaleOverSpread * spread;
    options.worth_seeing = kWorthSeeingBlocks * spread;
    Count(PairedTrial(options, BlockDesign::kPair, effect * true_spread, noise, random), out);
  }
  Average(out);
  return out;
}

OperatingPoint SequentialOperating(const NoiseModel& model, double effect, PoolAge age,
                                   std::uint32_t trials, std::uint64_t seed) {
  RandomSource random(seed);
  const SequentialOptions options;
  const std::uint32_t chain = age == PoolAge::kCampaign ? kChain : 1;
  OperatingPoint out;
  for (std::uint32_t i = 0; i < trials; i += chain) {
    NoisyRuns noise(model, random);
    IncumbentPool pool = FreshPool(noise, options.pool);
    if (age == PoolAge::kTwentyFreedom) Age(pool, noise, options.pool);
    for (std::uint32_t k = 0; k < chain; ++k) {
      const double gain = effect * model.spread;
      // A keep is counted and the incumbent stays, so that all trials of a chain are alike.
      Count(SequentialTrial(pool, options, 0, gain, noise, random), out);
    }
  }
  Average(out);
  return out;
}

}  // namespace pawl::measure
