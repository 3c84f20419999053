#include "measure/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "measure/measure_trials.h"
#include "measure/operating.h"

namespace pawl::measure {
namespace {

CampaignFigures Simulate(Policy policy, const EffectMix& effects, std::uint64_t seed = 5) {
  SimulatedPolicy simulated;
  simulated.policy = policy;
  CampaignModel model;
  model.effects = effects;
  model.run_cost_s = 3;
  return SimulateCampaigns(simulated, model, Trials(20), seed);
}

TEST(Simulate, IsTheSameForTheSameSeed) {
  const CampaignFigures one = Simulate(Policy::kSequential, kMixedEffects);
  const CampaignFigures two = Simulate(Policy::kSequential, kMixedEffects);
  const CampaignFigures other = Simulate(Policy::kSequential, kMixedEffects, 6);
  EXPECT_EQ(one.runs, two.runs);
  EXPECT_EQ(one.progress, two.progress);
  EXPECT_NE(one.runs, other.runs);
}

TEST(Simulate, CountsEveryExperimentOnce) {
  for (const Policy policy : {Policy::kSingle, Policy::kPaired, Policy::kSequential}) {
    const CampaignFigures f = Simulate(policy, kMixedEffects);
    EXPECT_NEAR(f.nulls + f.losses + f.gains, 100, 1e-9);
    EXPECT_NEAR(f.gains, 8, 2);
    EXPECT_EQ(f.seconds, 3 * f.runs);
    EXPECT_LE(f.gain_keeps, f.gains);
  }
}

TEST(Simulate, ShowsWhatTheSingleRunRuleDoes) {
  const CampaignFigures nulls = Simulate(Policy::kSingle, kNullMix);
  // Records of 101 independent numbers: H_101 - 1 = 4.2.
  EXPECT_NEAR(nulls.null_keeps, 4.2, 1.5);
  EXPECT_EQ(nulls.progress, 0);
  EXPECT_GT(nulls.claimed, 1.5);
  EXPECT_EQ(nulls.runs, 101);
}

TEST(Simulate, ShowsThatPairsFindTheGainsAndKeepNoNulls) {
  const CampaignFigures mixed = Simulate(Policy::kPaired, kMixedEffects);
  EXPECT_LE(mixed.FalseKeepRate(), 0.01);
  EXPECT_LE(mixed.MissedShare(), 0.05);
  EXPECT_GT(mixed.progress, Simulate(Policy::kSingle, kMixedEffects).progress);
}

TEST(Simulate, ShowsThatLooksAtAPoolCostAFewRuns) {
  const CampaignFigures nulls = Simulate(Policy::kSequential, kNullMix);
  EXPECT_LE(nulls.FalseKeepRate(), 0.01);
  EXPECT_LE(nulls.runs, 400);
  const CampaignFigures mixed = Simulate(Policy::kSequential, kMixedEffects);
  EXPECT_GT(mixed.progress, Simulate(Policy::kSingle, kMixedEffects).progress);
}

TEST(PolicyOf, CarriesThePlanInSpreads) {
  PlanInput input;
  input.run_cost_s = 2;
  input.typical = 2;
  input.noise = {0.01, 0.01, 0.02, 0.014, 0.01, false};
  const Plan plan = MakePlan(input).value();
  const SimulatedPolicy policy = PolicyOf(plan, input.noise);
  EXPECT_EQ(policy.policy, Policy::kPaired);
  EXPECT_NEAR(policy.min_gain, 0.2, 0.01);
  EXPECT_NEAR(policy.worth_seeing_blocks, kWorthSeeingBlocks, 0.01);
  EXPECT_EQ(policy.cap, plan.paired.cap);
}

std::string Documented() {
  std::ifstream file(PAWL_SOURCE_DIR "/docs/statistics.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::string begin = "<!-- measure_tables begin -->\n";
  const std::size_t from = all.find(begin);
  const std::size_t to = all.find("<!-- measure_tables end -->");
  if (from == std::string::npos || to == std::string::npos) return {};
  return all.substr(from + begin.size(), to - from - begin.size());
}

// The whole tables take half a minute; without PAWL_TEST_ALL only their frame is compared.
TEST(ErrorTables, StandInTheDocumentAsTheyArePrinted) {
  const std::string documented = Documented();
  ASSERT_FALSE(documented.empty()) << "docs/statistics.md has no tables between its markers";
  if (Trials(1) > 1) {
    EXPECT_EQ(documented, ErrorTables(kTableTrials, kTableCampaigns))
        << "put the output of bin/measure_tables between the markers";
    return;
  }
  const std::string printed = ErrorTables(20, 1);
  const auto first_cells = [](const std::string& text) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with('|')) out += line.substr(0, line.find('|', 1)) + "\n";
    return out;
  };
  EXPECT_EQ(first_cells(documented), first_cells(printed));
}

}  // namespace
}  // namespace pawl::measure
