// The paired procedure's promises, by simulation with fixed seeds: each is held with an exact 99 %
// binomial interval, so that luck alone would break one in 200 seeds, and only where the true rate
// is at the limit.
#include <gtest/gtest.h>

#include "measure/measure_trials.h"
#include "measure/operating.h"
#include "measure/paired.h"
#include "measure/trial.h"

namespace pawl::measure {
namespace {

class PairedRates : public testing::TestWithParam<NoiseShape> {};

TEST_P(PairedRates, KeepsAtMostOneNullInAHundred) {
  const OperatingPoint null = PairedOperating(GetParam(), 0, Trials(8000), 101);
  EXPECT_LE(null.KeepInterval().high, 0.01) << null.keeps << " of " << null.trials;
  EXPECT_GT(null.keeps, 0U) << "a test that cannot keep";
}

TEST_P(PairedRates, FindsSixTenthsOfTheBlockSpreadWithinTheCap) {
  const OperatingPoint gain = PairedOperating(GetParam(), 0.6, Trials(4000), 102);
  EXPECT_GE(gain.KeepInterval().low, 0.90) << gain.keeps << " of " << gain.trials;
}

TEST_P(PairedRates, RefusesALoserByThreeSpreadsWithinThirteenBlocks) {
  const OperatingPoint loser = PairedOperating(GetParam(), -3, Trials(4000), 103);
  EXPECT_EQ(loser.keeps, 0U);
  // Spikes on the incumbent's side hide one loser in forty for a few blocks more.
  EXPECT_GE(loser.QuickShare(), GetParam() == NoiseShape::kSpiky ? 0.96 : 0.99);
}

INSTANTIATE_TEST_SUITE_P(AllShapes, PairedRates, testing::ValuesIn(kNoiseShapes),
                         [](const auto& shape) {
                           switch (shape.param) {
                             case NoiseShape::kGaussian:
                               return "Gaussian";
                             case NoiseShape::kHeavyTailed:
                               return "HeavyTailed";
                             case NoiseShape::kSpiky:
                               return "Spiky";
                             default:
                               return "Drifting";
                           }
                         });

// Blocks of four, and a wrong scale: both may cost power, neither may cost false keeps.
TEST(PairedRatesOf, WrongScalesAndFourRunsKeepNoMoreNulls) {
  for (const double wrong : {0.05, 1.0, 20.0}) {
    RandomSource random(104);
    OperatingPoint point;
    for (std::uint32_t i = 0; i < Trials(12'000); ++i) {
      NoisyRuns noise({NoiseShape::kDrifting, 1, kPairedDrift}, random);
      PairedOptions options;
      options.scale = wrong * kScaleOverSpread;
      options.worth_seeing = 0.3;
      ++point.trials;
      if (PairedTrial(options, BlockDesign::kAbba, 0, noise, random).keep) ++point.keeps;
    }
    EXPECT_LE(point.KeepInterval().high, 0.012) << "scale off by " << wrong;
  }
}

// With real gains below min_gain, the null is "not worth it", and the same rate holds.
TEST(PairedRatesOf, GainsBelowTheLeastGainAreNotKept) {
  RandomSource random(105);
  OperatingPoint point;
  for (std::uint32_t i = 0; i < Trials(4000); ++i) {
    NoisyRuns noise({NoiseShape::kHeavyTailed, 1, 0}, random);
    PairedOptions options;
    options.scale = kScaleOverSpread * SimulateBlockSpread(BlockDesign::kPair, 16, noise);
    options.min_gain = 0.5;
    options.worth_seeing = 0.9;
    ++point.trials;
    if (PairedTrial(options, BlockDesign::kPair, 0.5, noise, random).keep) ++point.keeps;
  }
  EXPECT_LE(point.KeepInterval().high, 0.01) << point.keeps;
}

}  // namespace
}  // namespace pawl::measure
