#include "measure/pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/measure_trials.h"
#include "measure/noise.h"

namespace pawl::measure {
namespace {

constexpr PoolOptions kOptions;

IncumbentPool GaussianPool(RandomSource& random) {
  std::vector<double> runs;
  for (int i = 0; i < 10; ++i) runs.push_back(random.Normal());
  return StartPool(runs, kOptions).value();
}

TEST(Pool, NeedsRunsWithResultsAndNoise) {
  EXPECT_FALSE(StartPool(std::vector<double>{1, 2, 3}, kOptions).ok());
  EXPECT_FALSE(StartPool(std::vector<double>{1, 2, 3, std::nan("")}, kOptions).ok());
  const auto constant = StartPool(std::vector<double>(8, 2.0), kOptions);
  ASSERT_FALSE(constant.ok());
  EXPECT_NE(constant.error().message.find("no seed noise"), std::string::npos);
}

TEST(Pool, KeepsTheMostRecentRuns) {
  RandomSource random(1);
  IncumbentPool pool = GaussianPool(random);
  const double second = pool.runs[1];
  EXPECT_FALSE(AddRefresh(pool, 0.25, kOptions));
  EXPECT_EQ(pool.runs.size(), kOptions.size);
  EXPECT_EQ(pool.runs.front(), second);
  EXPECT_EQ(pool.runs.back(), 0.25);
  EXPECT_EQ(pool.freedom, 10);
}

TEST(Pool, LearnsTheSeedSpreadFromEverything) {
  RandomSource random(2);
  IncumbentPool pool = GaussianPool(random);
  for (int i = 0; i < 400; ++i) {
    std::vector<double> group;
    for (int k = 0; k < 4; ++k) group.push_back(7 + 2 * random.Normal() / 2);
    LearnSpread(pool, group, kOptions);
  }
  EXPECT_NEAR(pool.SeedSpread(), 1, 0.08);
  EXPECT_EQ(pool.freedom, 9 + 400 * 3);
}

TEST(Pool, OneUnstableCandidateDoesNotBlindIt) {
  RandomSource random(3);
  IncumbentPool pool = GaussianPool(random);
  const double before = pool.SeedSpread();
  LearnSpread(pool, std::vector<double>{1, 1e9, std::nan("")}, kOptions);
  EXPECT_LT(pool.SeedSpread(), 3 * before);
}

TEST(Pool, NoticesAShiftAndRarelyImaginesOne) {
  RandomSource random(4);
  int runs_to_notice = 0;
  constexpr int kShifts = 200;
  for (int i = 0; i < kShifts; ++i) {
    IncumbentPool pool = GaussianPool(random);
    do ++runs_to_notice;
    while (!AddRefresh(pool, 2 + random.Normal(), kOptions) && runs_to_notice < 100 * kShifts);
  }
  EXPECT_LT(runs_to_notice / static_cast<double>(kShifts), 5);

  int alarms = 0;
  const std::uint32_t quiet = Trials(20'000);
  for (std::uint32_t i = 0; i < quiet; i += 20) {
    IncumbentPool pool = GaussianPool(random);
    for (int k = 0; k < 20; ++k) {
      if (!AddRefresh(pool, random.Normal(), kOptions)) continue;
      ++alarms;
      break;
    }
  }
  EXPECT_LT(alarms, 0.02 * quiet);
  EXPECT_GT(alarms, 0);
}

TEST(Pool, RefillsAndStartsItsChartAgain) {
  RandomSource random(5);
  IncumbentPool pool = GaussianPool(random);
  while (!AddRefresh(pool, 3, kOptions)) {
  }
  ASSERT_TRUE(RefillPool(pool, std::vector<double>{3, 3.5, 2.5}, kOptions).ok());
  EXPECT_EQ(pool.runs.size(), 3U);
  EXPECT_EQ(pool.chart_up, 0);
  EXPECT_EQ(pool.chart_centre, 3);
  EXPECT_FALSE(RefillPool(pool, std::vector<double>{1}, kOptions).ok());
}

}  // namespace
}  // namespace pawl::measure
