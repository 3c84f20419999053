// Every way in which a ruler can be broken has its name; a sound one is called sound.
#include "measure/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "measure/measure_trials.h"
#include "measure/noise.h"
#include "measure/ruler.h"

namespace pawl::measure {
namespace {

// Runs of about 2 s with 1 % noise, and a copy that is 10 % slower.
CalibrationInput Input(std::uint64_t seed = 1, NoiseShape shape = NoiseShape::kGaussian,
                       double drift_step = 0) {
  RandomSource random(seed);
  NoisyRuns noise({shape, 0.01, drift_step}, random);
  CalibrationInput out;
  double now = 100;
  for (std::size_t i = 0; i < kCalibrationRuns; ++i) {
    CalibrationRun run;
    run.value = 2 * std::exp(noise.Next());
    run.cost_s = run.value;
    run.start = ClockReading{now, 1e9 + now};
    now += run.cost_s + 0.01;
    out.runs.push_back(run);
  }
  for (std::size_t i = 0; i < kSlowedPairs; ++i)
    out.slowed.push_back({2 * std::exp(noise.Next()), 2.2 * std::exp(noise.Next())});
  return out;
}

void EachRun(CalibrationInput& input, const std::function<double(std::size_t, double)>& f) {
  for (std::size_t i = 0; i < input.runs.size(); ++i)
    input.runs[i].value = f(i, input.runs[i].value);
}

void ExpectBroken(const CalibrationInput& input, Ruler ruler) {
  const CalibrationResult result = Calibrate(input);
  EXPECT_EQ(RulerName(result.ruler), RulerName(ruler)) << result.why;
  EXPECT_FALSE(result.why.empty());
}

TEST(Calibrate, FindsCostNoiseAndScaleOfASoundRuler) {
  const CalibrationResult result = Calibrate(Input());
  ASSERT_EQ(result.ruler, Ruler::kSound) << result.why;
  const Calibration& c = result.calibration;
  EXPECT_NEAR(c.typical, 2, 0.03);
  EXPECT_NEAR(c.run_cost_s, 2, 0.03);
  EXPECT_NEAR(c.noise.run_sd, 0.01, 0.006);
  EXPECT_NEAR(c.scale, 1.3 * c.noise.pair_spread, 1e-12);
  EXPECT_NEAR(c.seen_slowdown, 0.1, 0.03);
  EXPECT_FALSE(c.deterministic);
  EXPECT_EQ(c.plan.policy, Policy::kPaired);
  EXPECT_EQ(c.plan.paired.scale, c.scale);
}

TEST(Calibrate, TakesHigherIsBetterAndLossesOfAnySign) {
  CalibrationInput input = Input();
  input.metric = {Better::kHigher, Scale::kRatio};
  EachRun(input, [](std::size_t, double v) { return 1000 / v; });
  for (SlowedPair& pair : input.slowed) pair = {1000 / pair.value, 1000 / pair.slowed_value};
  EXPECT_EQ(Calibrate(input).ruler, Ruler::kSound) << Calibrate(input).why;
  input = Input();
  input.metric.scale = Scale::kDifference;
  input.slowed.clear();
  input.is_time = false;
  EachRun(input, [](std::size_t, double v) { return v - 3; });
  EXPECT_EQ(Calibrate(input).ruler, Ruler::kSound) << Calibrate(input).why;
}

TEST(Calibrate, NamesTooFewAndMissingAndZero) {
  CalibrationInput input = Input();
  input.runs.resize(kLeastCalibrationRuns - 1);
  ExpectBroken(input, Ruler::kTooFewRuns);
  input = Input();
  input.runs[3].value = std::nan("");
  ExpectBroken(input, Ruler::kMissing);
  EXPECT_NE(Calibrate(input).why.find("run 4"), std::string::npos);
  input = Input();
  input.runs[5].value = 0;
  ExpectBroken(input, Ruler::kZero);
  input = Input();
  input.slowed[1].slowed_value = std::nan("");
  ExpectBroken(input, Ruler::kMissing);
  input = Input();
  input.slowed.resize(kSlowedPairs - 1);
  ExpectBroken(input, Ruler::kTooFewRuns);
}

TEST(Calibrate, NamesConstantsAndKnowsDeterministicMetrics) {
  CalibrationInput input = Input();
  EachRun(input, [](std::size_t, double) { return 2.0; });
  ExpectBroken(input, Ruler::kConstant);

  input.is_time = false;
  const CalibrationResult slowed_moves_it = Calibrate(input);
  EXPECT_EQ(slowed_moves_it.ruler, Ruler::kSound) << slowed_moves_it.why;
  EXPECT_TRUE(slowed_moves_it.calibration.deterministic);
  EXPECT_EQ(slowed_moves_it.calibration.plan.policy, Policy::kAgreeing);

  for (SlowedPair& pair : input.slowed) pair = {2, 2};
  ExpectBroken(input, Ruler::kConstant);

  input.slowed.clear();
  EXPECT_EQ(Calibrate(input).ruler, Ruler::kSound);
}

TEST(Calibrate, NamesClockJumps) {
  CalibrationInput input = Input();
  for (std::size_t i = 6; i < input.runs.size(); ++i) input.runs[i].start->wall_s += 3600;
  ExpectBroken(input, Ruler::kClockJumps);
  input = Input();
  for (std::size_t i = 6; i < input.runs.size(); ++i) input.runs[i].start->monotonic_s -= 1;
  ExpectBroken(input, Ruler::kClockJumps);
  input = Input();
  input.runs[2].cost_s = -1;
  ExpectBroken(input, Ruler::kClockJumps);
}

TEST(Calibrate, NamesRunsThatGetSlower) {
  CalibrationInput input = Input();
  EachRun(input, [](std::size_t i, double v) { return v * (1 + 0.01 * static_cast<double>(i)); });
  ExpectBroken(input, Ruler::kSlowsDown);
}

TEST(Calibrate, NamesDrift) {
  CalibrationInput input = Input();
  EachRun(input, [](std::size_t i, double v) { return v * (1 - 0.01 * static_cast<double>(i)); });
  ExpectBroken(input, Ruler::kDrifts);
  input = Input();  // a slow wave, many spreads high
  EachRun(input, [](std::size_t i, double v) {
    return v * std::exp(0.4 * std::sin(static_cast<double>(i) * 0.42));
  });
  ExpectBroken(input, Ruler::kDrifts);
}

TEST(Calibrate, NamesTwoGroups) {
  CalibrationInput input = Input();
  EachRun(input, [](std::size_t i, double v) { return i % 3 == 0 ? 1.2 * v : v; });
  ExpectBroken(input, Ruler::kBimodal);
}

TEST(Calibrate, MustSeeTheSlowedCopy) {
  CalibrationInput input = Input();
  for (SlowedPair& pair : input.slowed) pair.slowed_value = pair.value * 1.001;
  ExpectBroken(input, Ruler::kSlowedNotSeen);
}

TEST(Calibrate, SeparatesNoiseWithinAndBetweenProcesses) {
  RandomSource random(6);
  CalibrationInput input = Input();
  input.runs.clear();
  input.slowed.clear();
  for (int i = 0; i < 200; ++i) {
    CalibrationRun run;
    const double process = 0.02 * random.Normal();
    for (int k = 0; k < 25; ++k) run.inside.push_back(std::exp(process + 0.03 * random.Normal()));
    run.value = std::exp(process + 0.03 * std::sqrt(1.5708 / 25) * random.Normal());
    run.cost_s = 1;
    input.runs.push_back(run);
  }
  const CalibrationResult result = Calibrate(input);
  ASSERT_EQ(result.ruler, Ruler::kSound) << result.why;
  EXPECT_NEAR(result.calibration.parts.within, 0.0075, 0.001);
  EXPECT_NEAR(result.calibration.parts.between, 0.02, 0.003);
  EXPECT_LT(result.calibration.parts.drift, 0.01);
}

TEST(Calibrate, PassesOnAPlanThatDoesNotFit) {
  CalibrationInput input = Input();
  input.requested = Policy::kAgreeing;
  ExpectBroken(input, Ruler::kBadPlan);
}

TEST(Calibrate, RarelyRefusesASoundRuler) {
  const std::uint32_t trials = Trials(300);
  for (const NoiseShape shape : kNoiseShapes) {
    std::uint32_t refused = 0;
    for (std::uint32_t i = 0; i < trials; ++i) {
      if (Calibrate(Input(1000 + i, shape, 0.3)).ruler != Ruler::kSound) ++refused;
    }
    // Wild noise may hide the slowed copy now and then; a quiet machine is not turned away.
    EXPECT_LE(refused, trials / (shape == NoiseShape::kGaussian ? 50 : 10))
        << NoiseShapeName(shape);
  }
}

TEST(Ruler, ChecksRarelyErrOnGaussianRuns) {
  RandomSource random(8);
  const std::uint32_t trials = Trials(4000);
  std::uint32_t slower = 0;
  std::uint32_t drift = 0;
  std::uint32_t wander = 0;
  std::uint32_t two = 0;
  for (std::uint32_t i = 0; i < trials; ++i) {
    std::vector<double> scores(kCalibrationRuns);
    for (double& score : scores) score = random.Normal();
    slower += SlowsDown(scores) ? 1U : 0U;
    drift += Drifts(scores) ? 1U : 0U;
    wander += Wanders(scores) ? 1U : 0U;
    two += IsBimodal(scores) ? 1U : 0U;
  }
  EXPECT_LE(slower, trials / 1000);
  EXPECT_LE(drift, trials / 1000);
  EXPECT_LE(wander, trials / 50);
  EXPECT_LE(two, trials / 100);
}

TEST(Ruler, NamesAreAllDifferent) {
  EXPECT_EQ(RulerName(Ruler::kSound), "sound");
  EXPECT_EQ(RulerName(Ruler::kSlowedNotSeen), "slowed-copy-not-seen");
}

}  // namespace
}  // namespace pawl::measure
