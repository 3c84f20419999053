#include "measure/coin.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "measure/distributions.h"

namespace pawl::measure {
namespace {

// Records of old campaigns are checked with the coin that they were made with: it must not change.
TEST(Coin, ThrowsWhatItAlwaysThrew) {
  const Coin coin("key", 7);
  std::string orders;
  for (std::uint32_t block = 0; block < 16; ++block)
    orders += coin.BlockOrder(block) == Order::kIncumbentFirst ? 'i' : 'c';
  EXPECT_EQ(orders, "iiiciiciiciicici");
  EXPECT_EQ(coin.CandidateSeed(0), 2112148976U);
  EXPECT_EQ(coin.IncumbentSeed(0), 1125469478U);
  EXPECT_EQ(coin.BlockSeed(0), 1853875202U);
}

TEST(Coin, IsFairAndDoesNotRemember) {
  constexpr std::uint32_t kBlocks = 4000;
  std::uint64_t heads = 0;
  std::uint64_t same = 0;
  const Coin coin("fair", 1);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    if (coin.BlockOrder(block) == Order::kIncumbentFirst) ++heads;
    if (coin.BlockOrder(block) == coin.BlockOrder(block + 1)) ++same;
  }
  EXPECT_TRUE(BinomialInterval(heads, kBlocks, 0.999).Contains(0.5));
  EXPECT_TRUE(BinomialInterval(same, kBlocks, 0.999).Contains(0.5));
}

TEST(Coin, IsAnotherForEveryKeyExperimentAndPurpose) {
  std::set<std::uint32_t> seeds;
  for (const std::string_view key : {"a", "b"}) {
    for (std::uint64_t experiment : {0U, 1U, 256U}) {
      const Coin coin(key, experiment);
      for (std::uint32_t run : {0U, 1U, 256U}) {
        seeds.insert(coin.CandidateSeed(run));
        seeds.insert(coin.IncumbentSeed(run));
        seeds.insert(coin.BlockSeed(run));
      }
    }
  }
  EXPECT_EQ(seeds.size(), 2U * 3 * 3 * 3);
}

TEST(Coin, ShufflesEveryArmToEveryPlaceAlike) {
  constexpr int kBatches = 6000;
  std::array<std::uint64_t, 3> at{};
  const Coin coin("shuffle", 9);
  for (std::uint32_t batch = 0; batch < kBatches; ++batch) {
    std::array<Arm, 3> arms = {Arm::kCandidate, Arm::kCandidate, Arm::kIncumbent};
    coin.Shuffle(batch, arms);
    const auto found = std::find(arms.begin(), arms.end(), Arm::kIncumbent);
    ASSERT_NE(found, arms.end());
    ++at[static_cast<std::size_t>(found - arms.begin())];
  }
  for (const std::uint64_t count : at)
    EXPECT_TRUE(BinomialInterval(count, kBatches, 0.999).Contains(1.0 / 3));
}

RC_GTEST_PROP(Coin, ThrowsTheSameAfterARestart, ()) {
  const auto key = *rc::gen::arbitrary<std::string>();
  const auto experiment = *rc::gen::arbitrary<std::uint64_t>();
  const auto index = *rc::gen::arbitrary<std::uint32_t>();
  const Coin one(key, experiment);
  const Coin other(key, experiment);
  RC_ASSERT(one.BlockOrder(index) == other.BlockOrder(index));
  RC_ASSERT(one.CandidateSeed(index) == other.CandidateSeed(index));
  RC_ASSERT(one.CandidateSeed(index) >= 1U && one.CandidateSeed(index) < (1U << 31));
}

TEST(BlockArms, BalanceTheArms) {
  using enum Arm;
  EXPECT_EQ(BlockArms(BlockDesign::kPair, Order::kIncumbentFirst),
            (std::vector<Arm>{kIncumbent, kCandidate}));
  EXPECT_EQ(BlockArms(BlockDesign::kAbba, Order::kCandidateFirst),
            (std::vector<Arm>{kCandidate, kIncumbent, kIncumbent, kCandidate}));
}

}  // namespace
}  // namespace pawl::measure
