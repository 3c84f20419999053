#include "loop/timed_runs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "judge/metrics.h"

namespace pawl::loop {
namespace {

os::RunOutcome Took(double wall_s, double cpu_s, std::uint64_t bytes) {
  os::RunOutcome outcome;
  outcome.wall_s = wall_s;
  outcome.cpu_s = cpu_s;
  outcome.peak_rss_bytes = bytes;
  return outcome;
}

campaign::Contract ContractOf(campaign::Direction direction) {
  campaign::Contract contract;
  contract.metrics = {{"score", direction, 0, 0}};
  return contract;
}

TEST(TimedPerf, HoldsMediansAndSamples) {
  const std::string perf =
      TimedPerf({Took(3, 1, 2'000'000), Took(1, 2, 4'000'000), Took(2, 6, 3'000'000)});
  const judge::MetricFile read = judge::ReadPerf(perf);
  EXPECT_TRUE(read.problems.empty());
  EXPECT_EQ(judge::Metric(read.json, "wall"), 2.0);
  EXPECT_EQ(judge::Metric(read.json, "cpu"), 2.0);
  EXPECT_EQ(judge::Metric(read.json, "peak_rss"), 3.0);
  EXPECT_EQ(read.json.FindPath("samples.wall")->AsArray()->size(), 3U);
}

TEST(Median, TakesTheMiddleOrTheMeanOfBoth) {
  EXPECT_EQ(Median({5, 1, 3}), 3);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

TEST(WorstQuality, TakesEachMetricAtItsWorstAndCasesOnlyWhenAlwaysPassed) {
  const std::vector<std::string> files = {
      R"({"metrics": {"score": 0.9}, "cases": {"a": true, "b": true, "c": true}})",
      R"({"metrics": {"score": 0.8}, "cases": {"a": true, "b": false}})"};
  const auto higher =
      judge::ReadQuality(WorstQuality(files, ContractOf(campaign::Direction::kHigher)));
  EXPECT_EQ(higher.Value("score"), 0.8);
  EXPECT_EQ(higher.Case("a"), true);
  EXPECT_EQ(higher.Case("b"), false);
  EXPECT_EQ(higher.Case("c"), std::nullopt);
  const auto lower =
      judge::ReadQuality(WorstQuality(files, ContractOf(campaign::Direction::kLower)));
  EXPECT_EQ(lower.Value("score"), 0.9);
}

TEST(WorstQuality, PassesOnAnIllFormedFileForTheJudgeToName) {
  const std::vector<std::string> files = {R"({"metrics": {"score": 1}})", "no json"};
  EXPECT_FALSE(judge::ReadQuality(WorstQuality(files, ContractOf(campaign::Direction::kHigher)))
                   .problems.empty());
}

TEST(WorstQuality, LeavesOutAMetricThatOneRunLacks) {
  const std::vector<std::string> files = {R"({"metrics": {"score": 1}})",
                                          R"({"metrics": {"x": 1}})"};
  EXPECT_EQ(judge::ReadQuality(WorstQuality(files, ContractOf(campaign::Direction::kHigher)))
                .Value("score"),
            std::nullopt);
}

TEST(FreshSeed, IsDecimalAndNew) {
  std::set<std::string> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(FreshSeed());
  EXPECT_EQ(seeds.size(), 100U);
  for (const std::string& seed : seeds) {
    EXPECT_EQ(seed.find_first_not_of("0123456789"), std::string::npos);
  }
}

}  // namespace
}  // namespace pawl::loop
