#include "judge/target.h"

#include <gtest/gtest.h>

namespace pawl::judge {
namespace {

Json Machine(const std::vector<std::pair<std::string, std::string>>& gpus) {
  JsonArray list;
  for (const auto& [name, capability] : gpus) {
    list.emplace_back(JsonObject{{"name", name}, {"compute_capability", capability}});
  }
  return JsonObject{{"hostname", "a5500-box"}, {"gpus", std::move(list)}};
}

const std::pair<std::string, std::string> kA5500 = {"NVIDIA RTX A5500", "8.6"};
const std::pair<std::string, std::string> kLaptop = {"NVIDIA RTX A5500 Laptop GPU", "8.6"};

campaign::Target NoCard() {
  campaign::Target target;
  target.require_a5500 = false;
  return target;
}

TEST(MatchTarget, UnsetFieldsAreNotCompared) {
  const TargetMatch match = MatchTarget(NoCard(), Machine({}));
  EXPECT_TRUE(match.mismatches.empty());
  EXPECT_TRUE(match.warnings.empty());
}

TEST(MatchTarget, TheDefaultIsOnlyAWarning) {
  // The text "a5500" in a host name or a laptop's card is not the card.
  for (const Json& machine : {Machine({}), Machine({kLaptop}), Machine({{"NVIDIA H200", "9.0"}})}) {
    const TargetMatch match = MatchTarget({}, machine);
    EXPECT_TRUE(match.mismatches.empty());
    ASSERT_EQ(match.warnings.size(), 1U);
    EXPECT_EQ(match.warnings[0],
              "RTX A5500 not detected in current environment; run doctor on the target machine "
              "before research");
  }
  EXPECT_TRUE(MatchTarget({}, Machine({kA5500})).warnings.empty());
}

TEST(MatchTarget, NamesAreComparedWhole) {
  campaign::Target target = NoCard();
  for (const char* wanted : {"RTX A5500", "nvidia rtx a5500", "NVIDIA RTX-A5500"}) {
    target.gpu_name = wanted;
    EXPECT_TRUE(MatchTarget(target, Machine({kA5500})).mismatches.empty()) << wanted;
    const TargetMatch laptop = MatchTarget(target, Machine({kLaptop}));
    ASSERT_EQ(laptop.mismatches.size(), 1U) << wanted;
    EXPECT_NE(laptop.mismatches[0].find("this machine has NVIDIA RTX A5500 Laptop GPU"),
              std::string::npos);
  }
  target.gpu_name = "RTX A5500";
  EXPECT_EQ(MatchTarget(target, Machine({{"NVIDIA RTX A5000", "8.6"}})).mismatches.size(), 1U);
  EXPECT_EQ(MatchTarget(target, Machine({kA5500, kLaptop})).mismatches.size(), 1U);
  EXPECT_EQ(MatchTarget(target, Machine({})).mismatches.size(), 1U);
}

TEST(MatchTarget, CapabilityInEveryUsualForm) {
  campaign::Target target = NoCard();
  for (const char* wanted : {"8.6", "86", "sm_86"}) {
    target.compute_capability = wanted;
    EXPECT_TRUE(MatchTarget(target, Machine({kA5500})).mismatches.empty()) << wanted;
    EXPECT_EQ(MatchTarget(target, Machine({{"NVIDIA L4", "8.9"}})).mismatches.size(), 1U) << wanted;
  }
  target.compute_capability = "12.0";
  EXPECT_TRUE(
      MatchTarget(target, Machine({{"NVIDIA GeForce RTX 5090", "12.0"}})).mismatches.empty());
}

TEST(MatchTarget, ArchitectureByNameOrCode) {
  campaign::Target target = NoCard();
  for (const char* wanted : {"Ampere", "ampere GA102", "sm_86"}) {
    target.architecture = wanted;
    EXPECT_TRUE(MatchTarget(target, Machine({kA5500})).mismatches.empty()) << wanted;
    EXPECT_EQ(MatchTarget(target, Machine({{"NVIDIA H200", "9.0"}})).mismatches.size(), 1U);
  }
  target.architecture = "fast one";
  const TargetMatch match = MatchTarget(target, Machine({kA5500}));
  EXPECT_TRUE(match.mismatches.empty());
  EXPECT_EQ(match.warnings.size(), 1U);
}

TEST(MatchTarget, CountIsExact) {
  campaign::Target target = NoCard();
  target.gpu_count = 2;
  EXPECT_TRUE(MatchTarget(target, Machine({kA5500, kA5500})).mismatches.empty());
  EXPECT_EQ(MatchTarget(target, Machine({kA5500})).mismatches,
            std::vector<std::string>{"target.gpu_count is 2, this machine has 1"});
  target.gpu_count = 0;
  EXPECT_TRUE(MatchTarget(target, Machine({})).mismatches.empty());
}

}  // namespace
}  // namespace pawl::judge
