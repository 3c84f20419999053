// The guarantees of the betting process, by exact enumeration instead of simulation.
#include "measure/betting.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "measure/noise.h"

namespace pawl::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A block's score is `up` with probability p and -`down` else.
struct TwoPoints {
  double up = 0, down = 0, p = 0;
  double mean() const { return p * up - (1 - p) * down; }
};

struct Enumerated {
  double mean_wealth = 0;  // of all paths after the last block
  double reached = 0;      // probability of having been at or above the threshold
  double least = kInfinity;
};

void Enumerate(const TwoPoints& points, const BettingProcess& process, double weight, bool reached,
               double threshold, int blocks, Enumerated& out) {
  reached = reached || process.wealth() >= threshold;
  out.least = std::min(out.least, process.wealth());
  if (blocks == 0) {
    out.mean_wealth += weight * process.wealth();
    if (reached) out.reached += weight;
    return;
  }
  BettingProcess up = process;
  BettingProcess down = process;
  up.Bet(points.up);
  down.Bet(-points.down);
  Enumerate(points, up, weight * points.p, reached, threshold, blocks - 1, out);
  Enumerate(points, down, weight * (1 - points.p), reached, threshold, blocks - 1, out);
}

TwoPoints AnyPoints() {
  return {*rc::gen::inRange(0, 101) / 100.0, *rc::gen::inRange(0, 101) / 100.0,
          *rc::gen::inRange(0, 101) / 100.0};
}

RC_GTEST_PROP(BettingProcess, IsANonNegativeSupermartingaleUnderTheNull, ()) {
  const TwoPoints points = AnyPoints();
  RC_PRE(points.mean() <= 0);
  const double threshold = *rc::gen::element(2.0, 5.0, 20.0);
  Enumerated all;
  Enumerate(points, BettingProcess(), 1, false, threshold, 10, all);
  RC_ASSERT(all.least >= 0);
  RC_ASSERT(all.mean_wealth <= 1 + 1e-12);
  RC_ASSERT(all.reached <= 1 / threshold + 1e-12);  // Ville
}

TEST(BettingProcess, IsAMartingaleForAFairCoinAndReachesItsThresholdSometimes) {
  Enumerated all;
  Enumerate({1, 1, 0.5}, BettingProcess(), 1, false, 20, 14, all);
  EXPECT_NEAR(all.mean_wealth, 1, 1e-12);
  EXPECT_GT(all.reached, 0.01);
  EXPECT_LE(all.reached, 0.05);
}

TEST(BettingProcess, NeedsTenClearBlocksForOneInAHundred) {
  BettingProcess process;
  int blocks = 0;
  for (; process.wealth() < 100; ++blocks) process.Bet(1);
  EXPECT_EQ(blocks, 10);
}

TEST(BettingProcess, StaysFiniteOverTheMostBlocks) {
  BettingProcess up;
  BettingProcess down;
  for (std::size_t i = 0; i < kMostBlocks; ++i) {
    up.Bet(1);
    down.Bet(-1);
  }
  EXPECT_TRUE(std::isfinite(up.wealth()));
  EXPECT_GE(down.wealth(), 0);
}

TEST(ClippedScore, TakesInfinities) {
  EXPECT_EQ(ClippedScore(-kInfinity, 2), -1);
  EXPECT_EQ(ClippedScore(kInfinity, 2), 1);
  EXPECT_EQ(ClippedScore(1, 2), 0.5);
}

std::vector<double> AnyEffects() {
  std::vector<double> out;
  for (const int v : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-300, 300)))
    out.push_back(v / 100.0);
  return out;
}

RC_GTEST_PROP(ConfidenceSequence, MirrorsItsEffects, ()) {
  const std::vector<double> effects = AnyEffects();
  std::vector<double> mirrored;
  mirrored.reserve(effects.size());
  for (const double d : effects) mirrored.push_back(-d);
  const Interval one = ConfidenceSequence(effects, 1, 0.05);
  const Interval other = ConfidenceSequence(mirrored, 1, 0.05);
  RC_ASSERT(one.low == -other.high);
  RC_ASSERT(one.high == -other.low);
  RC_ASSERT(one.low <= one.high);
}

RC_GTEST_PROP(ConfidenceSequence, NestsByConfidence, ()) {
  const std::vector<double> effects = AnyEffects();
  const Interval wide = ConfidenceSequence(effects, 1, 0.02);
  const Interval narrow = ConfidenceSequence(effects, 1, 0.2);
  RC_ASSERT(wide.low <= narrow.low + 1e-3);
  RC_ASSERT(wide.high >= narrow.high - 1e-3);
}

TEST(ConfidenceSequence, KnowsNothingAtFirst) {
  const Interval none = ConfidenceSequence({}, 1, 0.05);
  EXPECT_EQ(none.low, -kInfinity);
  EXPECT_EQ(none.high, kInfinity);
  const Interval few = ConfidenceSequence(std::vector<double>{0.1, 0.2, 0.3}, 1, 0.05);
  EXPECT_EQ(few.low, -kInfinity);
}

TEST(ConfidenceSequence, HoldsTheTruthAtEveryLook) {
  RandomSource random(11);
  constexpr int kTrials = 300;
  int missed = 0;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> effects;
    bool held = true;
    for (int k = 0; k < 60; ++k) {
      effects.push_back(0.4 + random.Normal());
      if (k % 5 == 4) held = held && ConfidenceSequence(effects, 2.6, 0.05).Contains(0.4);
    }
    if (!held) ++missed;
  }
  EXPECT_LE(missed, 15);  // 5 % of 300; the bound is not tight
}

TEST(ConfidenceSequence, TakesRuinedBlocksAsTheWorst) {
  std::vector<double> effects(30, 0.5);
  const Interval sound = ConfidenceSequence(effects, 1, 0.05);
  effects.insert(effects.end(), 10, -kInfinity);
  const Interval ruined = ConfidenceSequence(effects, 1, 0.05);
  EXPECT_LT(ruined.low, sound.low);
}

}  // namespace
}  // namespace pawl::measure
