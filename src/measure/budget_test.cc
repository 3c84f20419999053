#include "measure/budget.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/single.h"
#include "measure/trial.h"

namespace pawl::measure {
namespace {

PlanInput Input(double run_cost_s, double noise = 0.01) {
  PlanInput out;
  out.run_cost_s = run_cost_s;
  out.typical = run_cost_s;
  out.noise.run_spread = noise;
  out.noise.run_sd = noise;
  out.noise.worst = 2 * noise;
  out.noise.pair_spread = noise * std::sqrt(2.0);
  out.noise.abba_spread = noise;
  return out;
}

Plan PlanOf(const PlanInput& input) {
  const Result<Plan> plan = MakePlan(input);
  EXPECT_TRUE(plan.ok()) << plan.error().Text();
  return plan.ok() ? plan.value() : Plan{};
}

TEST(MakePlan, PairsCheapRunsAndPoolsExpensiveOnes) {
  EXPECT_EQ(PlanOf(Input(0.01)).policy, Policy::kPaired);
  EXPECT_EQ(PlanOf(Input(0.01)).design, BlockDesign::kAbba);
  EXPECT_EQ(PlanOf(Input(2)).policy, Policy::kPaired);
  EXPECT_EQ(PlanOf(Input(2)).design, BlockDesign::kPair);
  EXPECT_EQ(PlanOf(Input(30)).policy, Policy::kSequential);
  EXPECT_EQ(PlanOf(Input(300)).policy, Policy::kSequential);
}

TEST(MakePlan, ChangesProcedureWhereTheBudgetEnds) {
  // Thirty blocks of two and the screening run are 61 runs.
  EXPECT_EQ(PlanOf(Input(600.0 / 61)).policy, Policy::kPaired);
  EXPECT_EQ(PlanOf(Input(600.0 / 60)).policy, Policy::kSequential);
}

TEST(MakePlan, StaysWithinTheBudget) {
  for (const double cost : {0.001, 0.5, 1.0, 2.0, 5.0, 9.0, 15.0, 30.0, 40.0}) {
    const Plan plan = PlanOf(Input(cost));
    EXPECT_LE(plan.most_runs * cost, 600) << cost;
    EXPECT_TRUE(plan.within_budget) << cost;
    EXPECT_LE(plan.null_price.seconds, 600);
  }
  const Plan over = PlanOf(Input(300));
  EXPECT_FALSE(over.within_budget);
  EXPECT_NE(over.why.find("more than the budget"), std::string::npos);
}

TEST(MakePlan, PricesANullAndAGain) {
  const Plan expensive = PlanOf(Input(30));
  EXPECT_NEAR(expensive.null_price.runs, 3.3, 0.7);
  EXPECT_NEAR(expensive.null_price.seconds, 30 * expensive.null_price.runs, 1e-9);
  EXPECT_GT(expensive.gain_price.keep_share, 0.9);  // 5 % is five sigma
  EXPECT_LE(expensive.null_price.keep_share, 0.02);
  EXPECT_NE(expensive.PriceLine().find("null about"), std::string::npos);
  EXPECT_NE(expensive.PriceLine().find("; 5 % gain about"), std::string::npos);

  const Plan cheap = PlanOf(Input(2));
  EXPECT_GT(cheap.null_price.runs, cheap.gain_price.runs);
  EXPECT_GT(cheap.gain_price.keep_share, 0.99);
  EXPECT_EQ(PlanOf(Input(2)).null_price.runs, cheap.null_price.runs);
}

TEST(MakePlan, ASmallerBudgetSeesLess) {
  PlanInput tight = Input(2);
  tight.budget_s = 150;
  const Plan less = PlanOf(tight);
  const Plan more = PlanOf(Input(2));
  EXPECT_EQ(less.policy, Policy::kPaired);
  EXPECT_LT(less.paired.cap, more.paired.cap);
  EXPECT_GT(less.detectable_fraction, more.detectable_fraction);
  EXPECT_GT(less.paired.worth_seeing, more.paired.worth_seeing);
}

TEST(MakePlan, SeesWhatItSaysItSees) {
  PlanInput input = Input(2);
  input.min_gain_fraction = 0;
  const Plan plan = PlanOf(input);
  const double effect = EffectOfFraction(input.metric, plan.detectable_fraction, 1);
  RandomSource random(5);
  NoisyRuns noise({NoiseShape::kGaussian, 0.01, 0}, random);
  int kept = 0;
  constexpr int kTrials = 1000;
  for (int i = 0; i < kTrials; ++i)
    kept += PairedTrial(plan.paired, plan.design, effect, noise, random).keep ? 1 : 0;
  EXPECT_GE(kept, 0.88 * kTrials);
}

TEST(MakePlan, LabelsSingleRunsWithTheirErrorRate) {
  PlanInput input = Input(2);
  input.requested = Policy::kSingle;
  const Plan plan = PlanOf(input);
  EXPECT_EQ(plan.most_runs, 1U);
  EXPECT_NEAR(plan.null_price.keep_share, 0.44, 0.01);
  EXPECT_NE(plan.why.find(kSingleLabel), std::string::npos);
}

TEST(MakePlan, RefusesWhatMakesNoSense) {
  const auto refuses = [](PlanInput input) {
    const auto plan = MakePlan(input);
    EXPECT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  };
  refuses(Input(0));
  PlanInput input = Input(1);
  input.budget_s = 0;
  refuses(input);
  input = Input(1);
  input.min_gain_fraction = 1;
  refuses(input);
  input = Input(1);
  input.requested = Policy::kAgreeing;
  refuses(input);
  input = Input(1, 0);
  input.requested = Policy::kPaired;
  refuses(input);
  input.deterministic = true;
  refuses(input);
  input = Input(1);
  input.metric.scale = Scale::kDifference;
  input.typical = 0;
  refuses(input);
}

TEST(MakePlan, TakesDeterministicMetricsByAgreement) {
  PlanInput input = Input(1, 0);
  input.deterministic = true;
  const Plan plan = PlanOf(input);
  EXPECT_EQ(plan.policy, Policy::kAgreeing);
  EXPECT_EQ(plan.null_price.runs, 2);
}

TEST(ScreenRefuses, WhatIsWorseByFourSigmaAndThanAnythingCalibrationSaw) {
  const NoiseFigures noise = Input(1).noise;
  EXPECT_FALSE(ScreenRefuses(noise, 1, 1.039));
  EXPECT_TRUE(ScreenRefuses(noise, 1, 1.041));
  EXPECT_FALSE(ScreenRefuses(noise, 1, 0.5));
  EXPECT_TRUE(ScreenRefuses(noise, 1, std::nan("")));
  NoiseFigures spiky = noise;
  spiky.worst = 0.2;
  EXPECT_FALSE(ScreenRefuses(spiky, 1, 1.15));
}

TEST(PolicyName, GoesBothWays) {
  for (const Policy policy :
       {Policy::kAuto, Policy::kSingle, Policy::kPaired, Policy::kSequential, Policy::kAgreeing})
    EXPECT_EQ(ParsePolicy(PolicyName(policy)), policy);
  EXPECT_EQ(ParsePolicy("best"), std::nullopt);
}

}  // namespace
}  // namespace pawl::measure
