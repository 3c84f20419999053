#include "measure/single.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace pawl::measure {
namespace {

TEST(JudgeSingle, KeepsWhatLooksBetterAndSaysHowOftenANullWould) {
  const SingleVerdict verdict = JudgeSingle(10, 9, 0.5, 1);
  EXPECT_TRUE(verdict.keep);
  EXPECT_EQ(verdict.effect, 1);
  EXPECT_NEAR(verdict.null_keep_rate, 0.3618, 1e-3);
  EXPECT_FALSE(JudgeSingle(10, 9.5, 0.5, 1).keep);
  EXPECT_NEAR(JudgeSingle(10, 9, 0, 1).null_keep_rate, 0.5, 1e-12);
}

TEST(JudgeSingle, NeverKeepsARunWithoutAResult) {
  EXPECT_FALSE(JudgeSingle(10, std::nan(""), 0, 1).keep);
  EXPECT_FALSE(JudgeSingle(std::nan(""), 1, 0, 1).keep);
}

AgreeingOutcome Agreeing(std::vector<double> scores) {
  return JudgeAgreeing(100, scores, 0.5).outcome;
}

TEST(JudgeAgreeing, NeedsTwoRunsThatAgree) {
  EXPECT_EQ(Agreeing({}), AgreeingOutcome::kOpen);
  EXPECT_EQ(Agreeing({90}), AgreeingOutcome::kOpen);
  EXPECT_EQ(Agreeing({90, 90}), AgreeingOutcome::kKeep);
  EXPECT_EQ(Agreeing({99.5, 99.5}), AgreeingOutcome::kNoGain);
  EXPECT_EQ(Agreeing({90, 91}), AgreeingOutcome::kDisagree);
  EXPECT_EQ(Agreeing({90, std::nan("")}), AgreeingOutcome::kFailed);
}

}  // namespace
}  // namespace pawl::measure
