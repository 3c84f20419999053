#include "measure/score.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace pawl::measure {
namespace {

constexpr Metric kTime{Better::kLower, Scale::kRatio};
constexpr Metric kThroughput{Better::kHigher, Scale::kRatio};
constexpr Metric kLoss{Better::kLower, Scale::kDifference};

TEST(Score, LowerIsAlwaysBetter) {
  EXPECT_LT(Score(kTime, 1), Score(kTime, 2));
  EXPECT_LT(Score(kThroughput, 2), Score(kThroughput, 1));
  EXPECT_LT(Score(kLoss, -1), Score(kLoss, 0));
}

TEST(Score, HasNoneForWhatIsNoMeasurement) {
  EXPECT_TRUE(std::isnan(Score(kTime, 0)));
  EXPECT_TRUE(std::isnan(Score(kTime, -1)));
  EXPECT_TRUE(std::isnan(Score(kLoss, std::nan(""))));
  EXPECT_TRUE(std::isnan(Score(kTime, std::numeric_limits<double>::infinity())));
  EXPECT_EQ(Score(kLoss, 0), 0);
}

TEST(Effect, OfFivePercentIsTheSameGainBothWays) {
  EXPECT_NEAR(EffectOfFraction(kTime, 0.05, 1), Effect(Score(kTime, 1), Score(kTime, 0.95)), 1e-12);
  EXPECT_NEAR(EffectOfFraction(kThroughput, 0.05, 1),
              Effect(Score(kThroughput, 1), Score(kThroughput, 1.05)), 1e-12);
  EXPECT_NEAR(EffectOfFraction(kLoss, 0.05, -2), 0.1, 1e-12);
}

RC_GTEST_PROP(Score, AndFractionsComeBack, ()) {
  const Metric metric{*rc::gen::element(Better::kLower, Better::kHigher),
                      *rc::gen::element(Scale::kRatio, Scale::kDifference)};
  const double value = *rc::gen::inRange(1, 100000) / 64.0;
  const double fraction = *rc::gen::inRange(-900, 900) / 1000.0;
  RC_ASSERT(std::abs(ValueOf(metric, Score(metric, value)) - value) < 1e-9 * value);
  const double effect = EffectOfFraction(metric, fraction, value);
  RC_ASSERT(std::abs(FractionOfEffect(metric, effect, value) - fraction) < 1e-9);
}

}  // namespace
}  // namespace pawl::measure
