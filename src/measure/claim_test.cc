#include "measure/claim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "measure/distributions.h"
#include "measure/measure_trials.h"
#include "measure/noise.h"

namespace pawl::measure {
namespace {

ClaimOptions Expecting(double gain) {
  ClaimOptions out;
  out.expected_gain = gain;
  return out;
}

ClaimState Claim(double gain, double expected, NoiseShape shape, RandomSource& random) {
  NoisyRuns noise({shape, 1 / std::sqrt(2.0), 0}, random);
  const ClaimOptions options = Expecting(expected);
  std::vector<double> effects;
  for (;;) {
    const ClaimState state = NextClaim(options, effects);
    if (state.outcome != ClaimOutcome::kOpen) return state;
    effects.push_back(gain + noise.Next() - noise.Next());
  }
}

TEST(Claim, StopsWhenTheIntervalIsHalfTheGain) {
  RandomSource random(1);
  const ClaimState large = Claim(5, 5, NoiseShape::kGaussian, random);
  EXPECT_EQ(large.outcome, ClaimOutcome::kConfirmed);
  EXPECT_EQ(large.blocks, Expecting(5).least);
  const ClaimState middle = Claim(1.5, 1.5, NoiseShape::kGaussian, random);
  EXPECT_GT(middle.blocks, large.blocks);
  EXPECT_LT(middle.blocks, Expecting(1.5).cap);
  EXPECT_LE(middle.interval.width(), 0.5 * 1.5);
  EXPECT_EQ(Claim(5, 0, NoiseShape::kGaussian, random).blocks, ClaimOptions{}.cap);
}

TEST(Claim, IsNotConfirmedWithoutAGainAndRefutedByALoss) {
  RandomSource random(2);
  EXPECT_EQ(Claim(-2, 1.2, NoiseShape::kGaussian, random).outcome, ClaimOutcome::kRefuted);
  int confirmed = 0;
  const auto trials = static_cast<int>(Trials(300));
  for (int i = 0; i < trials; ++i) {
    const ClaimState state = Claim(0, 1.2, NoiseShape::kGaussian, random);
    if (state.outcome == ClaimOutcome::kConfirmed) ++confirmed;
  }
  EXPECT_LE(confirmed, 0.05 * trials);
}

TEST(Claim, CoversTheTruthWithoutTheWinnersCurse) {
  for (const NoiseShape shape :
       {NoiseShape::kGaussian, NoiseShape::kHeavyTailed, NoiseShape::kSpiky}) {
    RandomSource random(3);
    const std::uint32_t trials = Trials(500);
    std::uint64_t covered = 0;
    double sum = 0;
    for (std::uint32_t i = 0; i < trials; ++i) {
      const ClaimState state = Claim(1.5, 1.8, shape, random);
      if (state.interval.Contains(1.5)) ++covered;
      sum += state.gain;
    }
    // Stopping by width costs a little of the nominal 95 %.
    EXPECT_GE(BinomialInterval(covered, trials, 0.99).high, 0.93) << NoiseShapeName(shape);
    EXPECT_NEAR(sum / trials, 1.5, 0.02 * 1.5) << NoiseShapeName(shape);
  }
}

TEST(Claim, ARuinedBlockWidensItAndManyRefuteIt) {
  std::vector<double> effects(12, 1.0);
  for (std::size_t i = 0; i < effects.size(); ++i) effects[i] += 0.01 * static_cast<double>(i);
  EXPECT_EQ(NextClaim(Expecting(1), effects).outcome, ClaimOutcome::kConfirmed);
  const double ruined = -std::numeric_limits<double>::infinity();
  effects.insert(effects.end(), 30, ruined);
  EXPECT_NE(NextClaim(Expecting(1), effects).outcome, ClaimOutcome::kConfirmed);
}

TEST(Claim, SaysNothingWithoutBlocks) {
  EXPECT_EQ(NextClaim(Expecting(1), {}).outcome, ClaimOutcome::kOpen);
}

TEST(GainShrinks, WhenTheOtherIntervalLiesBelow) {
  ClaimState found;
  found.interval = {2, 3};
  ClaimState elsewhere;
  elsewhere.interval = {0.5, 1.5};
  EXPECT_TRUE(GainShrinks(found, elsewhere));
  elsewhere.interval = {0.5, 2.5};
  EXPECT_FALSE(GainShrinks(found, elsewhere));
}

}  // namespace
}  // namespace pawl::measure
