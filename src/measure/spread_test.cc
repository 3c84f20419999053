#include "measure/spread.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <vector>

#include "measure/block_spread.h"
#include "measure/noise.h"

namespace pawl::measure {
namespace {

TEST(Median, OfEvenCountsIsTheMiddle) {
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{9, 1, 3}), 3);
}

TEST(RobustSpread, IsTheGaussianSigmaAndIgnoresOneWildNumber) {
  RandomSource random(3);
  std::vector<double> x(20000);
  for (double& v : x) v = 5 + 2 * random.Normal();
  EXPECT_NEAR(RobustSpread(x), 2, 0.05);
  EXPECT_NEAR(StandardDeviation(x), 2, 0.05);
  x.push_back(1e9);
  EXPECT_NEAR(RobustSpread(x), 2, 0.05);
}

TEST(HodgesLehmann, CoversTheTruthAsOftenAsItSays) {
  RandomSource random(4);
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> x(12);
    for (double& v : x) v = 1 + random.Normal();
    if (HodgesLehmann(x, 0.95).interval.Contains(1)) ++covered;
  }
  // Four standard errors of 95 % are 1.4 %.
  EXPECT_NEAR(covered / static_cast<double>(kTrials), 0.95, 0.014);
}

TEST(BlockSpread, IsThatOfNullBlocksOfEitherDesign) {
  RandomSource random(5);
  NoisyRuns noise({NoiseShape::kGaussian, 1, 0}, random);
  const std::vector<double> x = noise.Take(40000);
  EXPECT_NEAR(BlockSpread(BlockDesign::kPair, x), std::sqrt(2.0), 0.03);
  EXPECT_NEAR(BlockSpread(BlockDesign::kAbba, x), 1, 0.03);
}

TEST(BlockSpread, SurvivesACoarseClockAndSeesNoNoiseInEqualRuns) {
  const std::vector<double> coarse = {1, 1, 1, 2, 1, 1, 1, 1, 1, 1};
  EXPECT_GT(BlockSpread(BlockDesign::kPair, coarse), 0);
  EXPECT_EQ(BlockSpread(BlockDesign::kPair, std::vector<double>(8, 3.0)), 0);
}

RC_GTEST_PROP(HodgesLehmann, MirrorsItsNumbers, ()) {
  std::vector<double> x;
  for (const int v :
       *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000))))
    x.push_back(v);
  std::vector<double> mirrored;
  mirrored.reserve(x.size());
  for (const double v : x) mirrored.push_back(-v);
  const Location one = HodgesLehmann(x, 0.95);
  const Location other = HodgesLehmann(mirrored, 0.95);
  RC_ASSERT(one.estimate == -other.estimate);
  RC_ASSERT(one.interval.low == -other.interval.high);
  RC_ASSERT(one.interval.Contains(one.estimate));
}

}  // namespace
}  // namespace pawl::measure
