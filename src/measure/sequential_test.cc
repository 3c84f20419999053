#include "measure/sequential.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

#include "measure/measure_trials.h"
#include "measure/noise.h"
#include "measure/operating.h"

namespace pawl::measure {
namespace {

const std::vector<double> kStart = {10.0, 9.0, 11.0, 10.5, 9.5, 10.2, 9.8, 10.0};
constexpr SequentialOptions kOptions;

IncumbentPool Pool() {
  return StartPool(kStart, PoolOptions{}).value();
}

// Runs one experiment in which each arm always has the same score.
struct Told {
  SequentialStep step;
  std::vector<SequentialRun> runs;
  std::set<std::uint32_t> seeds;
};
Told RunAll(const IncumbentPool& pool, double candidate, double incumbent,
            std::uint32_t attempt = 0) {
  const Coin coin("key", 3);
  Told out;
  for (;;) {
    out.step = NextSequential(pool, kOptions, coin, attempt, out.runs).value();
    if (out.step.outcome != SequentialOutcome::kOpen) return out;
    out.seeds.insert(out.step.seed);
    out.runs.push_back({out.step.next, out.step.next == Arm::kCandidate ? candidate : incumbent});
  }
}

TEST(Sequential, KeepsAClearGainOnSeveralSeedsAndFreshIncumbents) {
  const Told told = RunAll(Pool(), 5, 10);
  EXPECT_EQ(told.step.outcome, SequentialOutcome::kKeep);
  EXPECT_GE(told.step.candidate_runs, kOptions.least_runs);
  EXPECT_GE(told.step.incumbent_runs, kOptions.fresh_runs);
  EXPECT_EQ(told.seeds.size(), told.runs.size());
  EXPECT_GT(told.step.z, told.step.bound);
  EXPECT_TRUE(told.step.interval.Contains(told.step.effect));
}

TEST(Sequential, DropsALoserAfterOneRun) {
  const Told told = RunAll(Pool(), 12, 10);
  EXPECT_EQ(told.step.outcome, SequentialOutcome::kNoGain);
  EXPECT_EQ(told.runs.size(), 1U);
}

TEST(Sequential, CountsARunWithoutResultAsTheWorst) {
  const Told told = RunAll(Pool(), std::nan(""), 10);
  EXPECT_EQ(told.step.outcome, SequentialOutcome::kNoGain);
  EXPECT_EQ(told.step.failed_seeds, 1U);
  // One failed seed of two undoes a gain that would have been kept, and is reported.
  const Coin coin("key", 3);
  std::vector<SequentialRun> runs = {{Arm::kCandidate, 5}};
  runs.push_back({Arm::kCandidate, std::nan("")});
  const SequentialStep step = NextSequential(Pool(), kOptions, coin, 0, runs).value();
  EXPECT_EQ(step.failed_seeds, 1U);
  EXPECT_NE(step.outcome, SequentialOutcome::kKeep);
  EXPECT_LE(step.z, step.bound);
}

TEST(Sequential, OneLuckySeedDoesNotCarryTheMean) {
  const Coin coin("key", 3);
  const std::vector<SequentialRun> runs = {{Arm::kCandidate, -1e6}, {Arm::kCandidate, 10}};
  const SequentialStep step = NextSequential(Pool(), kOptions, coin, 0, runs).value();
  EXPECT_LE(step.z, step.bound);
}

TEST(Sequential, FreshIncumbentsTakeBackAKeepAgainstAStalePool) {
  // The machine got faster: the candidate beats the old pool, and so does the incumbent.
  const Told told = RunAll(Pool(), 8.4, 8.4);
  EXPECT_NE(told.step.outcome, SequentialOutcome::kKeep);
}

TEST(Sequential, DriftVoidsTheAttemptAndTheNextHasOtherSeeds) {
  const Told told = RunAll(Pool(), 5, 5);
  EXPECT_EQ(told.step.outcome, SequentialOutcome::kDrifted);
  IncumbentPool pool = PoolAfter(told.step, told.runs, kOptions);
  ASSERT_TRUE(RefillPool(pool, std::vector<double>{5.0, 5.5, 4.5, 5.2}, PoolOptions{}).ok());
  const Told again = RunAll(pool, 5, 5, 1);
  EXPECT_EQ(again.step.outcome, SequentialOutcome::kNoGain);
  for (const std::uint32_t seed : again.seeds) EXPECT_FALSE(told.seeds.contains(seed));
}

TEST(Sequential, SaysSoWhenTheIncumbentHasNoResults) {
  EXPECT_EQ(RunAll(Pool(), 5, std::nan("")).step.outcome, SequentialOutcome::kIncumbentFailed);
}

TEST(Sequential, RefusesRecordsOfTheWrongArmAndPoolsWithoutNoise) {
  const Coin coin("key", 3);
  const std::vector<SequentialRun> runs = {{Arm::kIncumbent, 10}};
  EXPECT_EQ(NextSequential(Pool(), kOptions, coin, 0, runs).error().code, Code::kConflict);
  EXPECT_FALSE(NextSequential(IncumbentPool{}, kOptions, coin, 0, {}).ok());
}

RC_GTEST_PROP(Sequential, GoesOnWhereTheRecordsEnd, ()) {
  const Coin coin("key", *rc::gen::arbitrary<std::uint64_t>());
  const IncumbentPool pool = Pool();
  std::vector<SequentialRun> runs;
  for (;;) {
    const SequentialStep step = NextSequential(pool, kOptions, coin, 0, runs).value();
    const SequentialStep again = NextSequential(pool, kOptions, coin, 0, runs).value();
    RC_ASSERT(step.outcome == again.outcome && step.next == again.next && step.seed == again.seed);
    RC_ASSERT(step.candidate_runs + step.incumbent_runs == runs.size());
    if (step.outcome != SequentialOutcome::kOpen) break;
    runs.push_back({step.next, *rc::gen::inRange(600, 1300) / 100.0});
    RC_ASSERT(runs.size() <= kOptions.MostRuns());
  }
  // A record that goes on after the decision is not of this procedure.
  runs.push_back({Arm::kCandidate, 10});
  RC_ASSERT(!NextSequential(pool, kOptions, coin, 0, runs).ok());
}

OperatingPoint Rate(double effect, PoolAge age, double drift, std::uint32_t trials) {
  const NoiseModel noise{drift > 0 ? NoiseShape::kDrifting : NoiseShape::kGaussian, 1, drift};
  return SequentialOperating(noise, effect, age, Trials(trials), 201);
}

TEST(SequentialRates, KeepAtMostOneNullInAHundredAndCostThreeRuns) {
  for (const PoolAge age : {PoolAge::kFresh, PoolAge::kTwentyFreedom, PoolAge::kCampaign}) {
    for (const double drift : {0.0, kSequentialDrift}) {
      const OperatingPoint null = Rate(0, age, drift, 6000);
      EXPECT_LE(null.KeepInterval().high, 0.01) << null.keeps << " of " << null.trials;
      EXPECT_GT(null.keeps, 0U);
      EXPECT_LE(null.runs, 3.5);
    }
  }
}

TEST(SequentialRates, FindTwoSeedSpreadsWithinEightCandidateRuns) {
  const OperatingPoint fresh = Rate(2, PoolAge::kFresh, 0, 4000);
  EXPECT_GE(fresh.KeepInterval().low, 0.70) << fresh.KeepRate();
  const OperatingPoint pooled = Rate(2, PoolAge::kTwentyFreedom, 0, 20'000);
  EXPECT_GE(pooled.KeepInterval().low, 0.90) << pooled.KeepRate();
  EXPECT_LE(pooled.candidate_runs, 8);
}

TEST(SequentialRates, HoldUnderOtherNoise) {
  for (const NoiseShape shape : {NoiseShape::kHeavyTailed, NoiseShape::kSpiky}) {
    const OperatingPoint null =
        SequentialOperating({shape, 1, 0}, 0, PoolAge::kCampaign, Trials(6000), 202);
    EXPECT_LE(null.KeepInterval().high, 0.01) << NoiseShapeName(shape) << " " << null.keeps;
  }
}

}  // namespace
}  // namespace pawl::measure
