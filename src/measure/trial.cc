#include "measure/trial.h"

#include <array>
#include <vector>

#include "base/result.h"
#include "measure/block_spread.h"

namespace pawl::measure {

namespace {

constexpr std::uint32_t kRefillRuns = 8;
// The shuffles need some key; what they are keyed with does not matter here.
constexpr std::string_view kKey = "simulation";

}  // namespace

double SimulateBlock(BlockDesign design, double effect, NoisyRuns& noise, RandomSource& random) {
  const double first = noise.Next();
  const double second = noise.Next();
  double difference = first - second;
  if (design == BlockDesign::kAbba) {
    const double third = noise.Next();
    difference = 0.5 * (difference - third + noise.Next());
  }
  return effect + (random.Flip() ? difference : -difference);
}

TrialResult PairedTrial(const PairedOptions& options, BlockDesign design, double effect,
                        NoisyRuns& noise, RandomSource& random) {
  PairedTest test = PairedTest::Start(options).value();
  double sum = 0;
  while (test.state().outcome == PairedOutcome::kOpen) {
    const PairedBlock block{test.state().next_block, BlockStatus::kSound,
                            SimulateBlock(design, effect, noise, random)};
    PAWL_CHECK(test.Add(block).ok());
    sum += block.effect;
  }
  TrialResult out;
  out.effect = sum / test.state().blocks;
  out.keep = test.state().outcome == PairedOutcome::kKeep;
  out.blocks = test.state().blocks;
  out.candidate_runs = out.blocks * (design == BlockDesign::kPair ? 1U : 2U);
  out.runs = 2 * out.candidate_runs;
  return out;
}

TrialResult SequentialTrial(IncumbentPool& pool, const SequentialOptions& options, double level,
                            double effect, NoisyRuns& noise, RandomSource& random) {
  const Coin coin(kKey, random.Word());
  TrialResult out;
  for (std::uint32_t attempt = 0; attempt <= options.restarts; ++attempt) {
    std::vector<SequentialRun> runs;
    for (;;) {
      const SequentialStep step = NextSequential(pool, options, coin, attempt, runs).value();
      if (step.outcome == SequentialOutcome::kOpen) {
        const double gain = step.next == Arm::kCandidate ? effect : 0;
        runs.push_back({step.next, level - gain + noise.Next()});
        continue;
      }
      pool = PoolAfter(step, runs, options);
      out.runs += step.candidate_runs + step.incumbent_runs;
      out.candidate_runs += step.candidate_runs;
      out.effect = step.effect;
      out.keep = step.outcome == SequentialOutcome::kKeep;
      if (step.outcome != SequentialOutcome::kDrifted) return out;
      break;
    }
    std::vector<double> fresh = noise.Take(kRefillRuns);
    for (double& score : fresh) score += level;
    out.runs += kRefillRuns;
    PAWL_CHECK(RefillPool(pool, fresh, options.pool).ok());
  }
  return out;
}

double SimulateBlockSpread(BlockDesign design, std::uint32_t runs, NoisyRuns& noise) {
  return BlockSpread(design, noise.Take(runs));
}

}  // namespace pawl::measure
