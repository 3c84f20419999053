#include "measure/paired.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace pawl::measure {
namespace {

PairedOptions Options() {
  PairedOptions out;
  out.scale = 1.3;
  out.worth_seeing = 0.3;
  return out;
}

PairedTest Fresh() {
  return PairedTest::Start(Options()).value();
}

PairedBlock Sound(std::uint32_t index, double effect) {
  return {index, BlockStatus::kSound, effect};
}

// Feeds effect + swing and effect - swing in turn until the test decides.
PairedState RunTo(double effect, double swing = 0) {
  PairedTest test = Fresh();
  while (test.state().outcome == PairedOutcome::kOpen) {
    const std::uint32_t index = test.state().next_block;
    EXPECT_TRUE(test.Add(Sound(index, effect + (index % 2 == 0 ? swing : -swing))).ok());
  }
  return test.state();
}

TEST(PairedTest, KeepsRefusesAndGivesUp) {
  EXPECT_EQ(RunTo(3).outcome, PairedOutcome::kKeep);
  EXPECT_EQ(RunTo(3).blocks, 10U);
  EXPECT_EQ(RunTo(-3).outcome, PairedOutcome::kSlower);
  EXPECT_EQ(RunTo(0).outcome, PairedOutcome::kNoGain);
  EXPECT_EQ(RunTo(0.15, 1).outcome, PairedOutcome::kUndecided);
  EXPECT_EQ(RunTo(0.15, 1).blocks, Options().cap);
}

TEST(PairedTest, RefusesOptionsThatMakeNoSense) {
  const auto refuses = [](auto change, std::string_view word) {
    PairedOptions options = Options();
    change(options);
    const auto test = PairedTest::Start(options);
    ASSERT_FALSE(test.ok());
    EXPECT_NE(test.error().message.find(word), std::string::npos) << test.error().message;
  };
  refuses([](PairedOptions& o) { o.scale = 0; }, "scale");
  refuses([](PairedOptions& o) { o.scale = std::nan(""); }, "scale");
  refuses([](PairedOptions& o) { o.worth_seeing = o.min_gain; }, "worth seeing");
  refuses([](PairedOptions& o) { o.keep_alpha = 0; }, "error rates");
  refuses([](PairedOptions& o) { o.cap = 0; }, "blocks");
  refuses([](PairedOptions& o) { o.cap = kMostBlocks + 1; }, "blocks");
}

TEST(PairedTest, RefusesBlocksOutOfTurnAndKeepsItsState) {
  PairedTest test = Fresh();
  ASSERT_TRUE(test.Add(Sound(0, 1)).ok());
  EXPECT_EQ(test.Add(Sound(0, 1)).error().code, Code::kConflict);
  EXPECT_EQ(test.Add(Sound(2, 1)).error().code, Code::kConflict);
  EXPECT_EQ(test.Add(Sound(1, std::nan(""))).error().code, Code::kInvalidArgument);
  EXPECT_EQ(test.state().blocks, 1U);
  while (test.state().outcome == PairedOutcome::kOpen)
    ASSERT_TRUE(test.Add(Sound(test.state().next_block, 3)).ok());
  EXPECT_EQ(test.Add(Sound(test.state().next_block, 3)).error().code, Code::kConflict);
}

TEST(PairedTest, RepeatsVoidBlocksOnlySoOften) {
  PairedTest test = Fresh();
  for (std::uint32_t i = 0; i <= Options().repeats_of_block; ++i) {
    ASSERT_EQ(test.state().outcome, PairedOutcome::kOpen);
    ASSERT_EQ(test.state().next_block, 0U);
    ASSERT_TRUE(test.Add({0, BlockStatus::kOutsideState, 9}).ok());
  }
  EXPECT_EQ(test.state().outcome, PairedOutcome::kUnsettled);
  EXPECT_EQ(test.state().blocks, 0U);
  EXPECT_EQ(test.state().keep_wealth, 1);
}

TEST(PairedTest, BoundsVoidBlocksOfTheWholeExperiment) {
  PairedTest test = Fresh();
  std::uint32_t voids = 0;
  while (test.state().outcome == PairedOutcome::kOpen) {
    ASSERT_TRUE(test.Add({test.state().next_block, BlockStatus::kIncumbentFailed, 0}).ok());
    ++voids;
    if (test.state().outcome != PairedOutcome::kOpen) break;
    ASSERT_TRUE(test.Add(Sound(test.state().next_block, 0.15)).ok());
  }
  EXPECT_EQ(test.state().outcome, PairedOutcome::kUnsettled);
  EXPECT_EQ(voids, Options().repeats_in_all + 1);
}

TEST(PairedTest, EndsAfterMoreThanThreeRestarts) {
  PairedTest test = Fresh();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(test.Add({0, BlockStatus::kInterrupted, 0}).ok());
  EXPECT_EQ(test.state().outcome, PairedOutcome::kOpen);
  ASSERT_TRUE(test.Add({0, BlockStatus::kInterrupted, 0}).ok());
  EXPECT_EQ(test.state().outcome, PairedOutcome::kInterrupted);
}

TEST(PairedTest, ACandidateThatRuinsItsBlocksIsRefused) {
  PairedTest test = Fresh();
  while (test.state().outcome == PairedOutcome::kOpen)
    ASSERT_TRUE(test.Add({test.state().next_block, BlockStatus::kCandidateFailed, 0}).ok());
  EXPECT_EQ(test.state().outcome, PairedOutcome::kSlower);
  EXPECT_EQ(test.state().candidate_failures, test.state().blocks);
}

PairedBlock AnyBlock(std::uint32_t index) {
  const BlockStatus status =
      *rc::gen::weightedElement<BlockStatus>({{12, BlockStatus::kSound},
                                              {2, BlockStatus::kCandidateFailed},
                                              {1, BlockStatus::kIncumbentFailed},
                                              {1, BlockStatus::kOutsideState},
                                              {1, BlockStatus::kInterrupted}});
  return {index, status, *rc::gen::inRange(-400, 500) / 100.0};
}

bool Same(const PairedState& a, const PairedState& b) {
  return a.outcome == b.outcome && a.next_block == b.next_block && a.blocks == b.blocks &&
         a.candidate_failures == b.candidate_failures && a.voided == b.voided &&
         a.interruptions == b.interruptions && a.keep_wealth == b.keep_wealth &&
         a.futility_wealth == b.futility_wealth && a.slower_wealth == b.slower_wealth;
}

RC_GTEST_PROP(PairedTest, ReplayEqualsLiveAtEveryBlock, ()) {
  PairedTest live = Fresh();
  std::vector<PairedBlock> record;
  for (int i = 0; i < 40 && live.state().outcome == PairedOutcome::kOpen; ++i) {
    record.push_back(AnyBlock(live.state().next_block));
    RC_ASSERT(live.Add(record.back()).ok());
    const PairedTest replayed = PairedTest::Replay(Options(), record).value();
    RC_ASSERT(Same(live.state(), replayed.state()));
    RC_ASSERT(live.Report().interval.low == replayed.Report().interval.low);
  }
}

RC_GTEST_PROP(PairedTest, NothingIsWorseForACandidateThanARuinedBlock, ()) {
  PairedTest test = Fresh();
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i)
    RC_ASSERT(test.Add(Sound(test.state().next_block, *rc::gen::inRange(-100, 100) / 100.0)).ok());
  RC_PRE(test.state().outcome == PairedOutcome::kOpen);
  PairedTest sound = test;
  RC_ASSERT(sound.Add(Sound(test.state().next_block, *rc::gen::inRange(-900, 900) / 100.0)).ok());
  RC_ASSERT(test.Add({test.state().next_block, BlockStatus::kCandidateFailed, 0}).ok());
  RC_ASSERT(test.state().keep_wealth <= sound.state().keep_wealth);
  RC_ASSERT(test.state().futility_wealth >= sound.state().futility_wealth);
  RC_ASSERT(test.state().slower_wealth >= sound.state().slower_wealth);
}

RC_GTEST_PROP(MakeBlock, SwappingTheArmsTurnsTheEffectRound, ()) {
  const BlockDesign design = *rc::gen::element(BlockDesign::kPair, BlockDesign::kAbba);
  std::vector<double> scores;
  for (std::size_t i = BlockArms(design, Order::kIncumbentFirst).size(); i > 0; --i)
    scores.push_back(*rc::gen::inRange(-1000, 1000) / 8.0);
  const PairedBlock one = MakeBlock(3, design, Order::kIncumbentFirst, scores);
  const PairedBlock other = MakeBlock(3, design, Order::kCandidateFirst, scores);
  RC_ASSERT(one.status == BlockStatus::kSound);
  RC_ASSERT(one.effect == -other.effect);
}

TEST(MakeBlock, IsPositiveForABetterCandidate) {
  const std::vector<double> scores = {10, 8};
  EXPECT_EQ(MakeBlock(0, BlockDesign::kPair, Order::kIncumbentFirst, scores).effect, 2);
  const std::vector<double> drifting = {10, 9, 10, 13};  // ABBA takes a straight line out
  EXPECT_EQ(MakeBlock(0, BlockDesign::kAbba, Order::kIncumbentFirst, drifting).effect, 2);
}

TEST(MakeBlock, BlamesTheCandidateFirst) {
  const double none = std::nan("");
  const auto status = [](std::vector<double> scores) {
    return MakeBlock(0, BlockDesign::kPair, Order::kIncumbentFirst, scores).status;
  };
  EXPECT_EQ(status({1, none}), BlockStatus::kCandidateFailed);
  EXPECT_EQ(status({none, 1}), BlockStatus::kIncumbentFailed);
  EXPECT_EQ(status({none, none}), BlockStatus::kCandidateFailed);
}

TEST(PairedReport, ShowsEffectIntervalAndWhatWasNeeded) {
  PairedTest test = Fresh();
  for (std::uint32_t i = 0; i < 40; ++i)
    ASSERT_TRUE(test.Add(Sound(i, i % 2 == 0 ? 1.15 : -0.85)).ok());
  const PairedReport report = test.Report();
  EXPECT_NEAR(report.effect, 0.15, 1e-9);
  EXPECT_TRUE(report.interval.Contains(0.15));
  EXPECT_GT(report.interval.low, -3);
  EXPECT_NEAR(report.detectable, 5.0 / std::sqrt(40), 0.1);
  EXPECT_GT(report.blocks_for_effect, 500);
  EXPECT_EQ(Fresh().Report().blocks_for_effect, std::numeric_limits<double>::infinity());
}

TEST(DetectableEffect, AndBlocksAreInverse) {
  const double effect = DetectableEffect(2, 50, 0.01, 0.9);
  EXPECT_NEAR(BlocksToDetect(2, effect, 0.01, 0.9), 50, 1e-9);
}

}  // namespace
}  // namespace pawl::measure
