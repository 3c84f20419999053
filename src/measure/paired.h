// The paired procedure: blocks of candidate and incumbent runs in an order that Pawl's coin chose,
// and three betting processes on the blocks' effects. The block (fresh processes for each of its
// runs) is the unit of evidence; further samples of the same process must be averaged into it.
//
//   keep     against "the gain is at most min_gain":        wealth >= 1 / keep_alpha
//   no gain  against "the gain is at least worth_seeing":   wealth >= 1 / futility_alpha
//   slower   against "the candidate is not slower":         wealth >= 1 / slower_alpha
//
// Why a keep can be trusted: without an effect, swapping the arms leaves a block's distribution as
// it is, so the sign of its effect is the coin's, whatever drift, memory or tails the noise has.
// `scale` must be fixed before the first block. State is a function of the recorded blocks alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "measure/betting.h"
#include "measure/coin.h"
#include "measure/score.h"

namespace pawl::measure {

struct PairedOptions {
  double scale = 0;         // s0 of the calibration; > 0
  double min_gain = 0;      // least effect that is worth a keep
  double worth_seeing = 0;  // least effect that must not be missed; > min_gain
  double keep_alpha = 0.01;
  double futility_alpha = 0.05;
  double slower_alpha = 0.01;
  std::uint32_t cap = 120;             // blocks of evidence; at most kMostBlocks
  std::uint32_t repeats_of_block = 3;  // voided attempts at one block
  std::uint32_t repeats_in_all = 12;
  std::uint32_t restarts = 3;  // attempts that Pawl's own end cut off
};

// An effect is cut at this many scales: +-2.6 robust standard deviations of a null block.
constexpr double kClipScales = 2.0;
// s0 over the robust spread of null blocks.
constexpr double kScaleOverSpread = 1.3;

// By default the gain worth seeing lies this many block spreads above the least gain.
constexpr double kWorthSeeingBlocks = 0.3;

enum class BlockStatus : std::uint8_t {
  kSound,
  kCandidateFailed,  // evidence: the worst possible block
  kIncumbentFailed,  // void, run again
  kOutsideState,     // the machine was not in its calibrated state: void, run again
  kInterrupted,      // Pawl ended in the middle: void, run again
};

struct PairedBlock {
  std::uint32_t index = 0;  // the same for each attempt at the block, and so is the coin
  BlockStatus status = BlockStatus::kSound;
  double effect = 0;  // of a sound block
};

// The block of these scores, in the order in which BlockArms had them run. A candidate without a
// score fails the block for itself, an incumbent without one voids it; the candidate's failure
// comes first, so that nothing that it does can void a block.
PairedBlock MakeBlock(std::uint32_t index, BlockDesign design, Order order,
                      std::span<const double> scores);

enum class PairedOutcome : std::uint8_t {
  kOpen,         // run block `next_block`
  kKeep,         // better than min_gain
  kNoGain,       // not better by worth_seeing
  kSlower,       // worse than the incumbent
  kUndecided,    // the cap is reached; not kept
  kUnsettled,    // too many blocks were void; not kept
  kInterrupted,  // too many attempts were cut off; not kept
};

struct PairedState {
  PairedOutcome outcome = PairedOutcome::kOpen;
  std::uint32_t next_block = 0;
  std::uint32_t blocks = 0;  // of evidence
  std::uint32_t candidate_failures = 0, voided = 0, interruptions = 0;
  double keep_wealth = 1, futility_wealth = 1, slower_wealth = 1;
};

// What a verdict shows; `interval` has 1 - 2 * keep_alpha confidence at whatever time it is read.
struct PairedReport {
  double effect = 0;  // Hodges-Lehmann, of sound blocks; selected, so never a claim
  Interval interval;
  double detectable = 0;         // effect that so many blocks find in 9 of 10 cases
  double blocks_for_effect = 0;  // blocks that would find `effect`; infinite unless > min_gain
};

class PairedTest {
 public:
  // An error names the option that makes no sense.
  static Result<PairedTest> Start(const PairedOptions& options);
  // Start and Add of every block.
  static Result<PairedTest> Replay(const PairedOptions& options,
                                   std::span<const PairedBlock> blocks);

  // The next attempt at block state().next_block; refused (state unchanged) when the test is not
  // open, the index is another, or a sound block's effect is not finite.
  Status Add(const PairedBlock& block);

  const PairedState& state() const { return state_; }
  PairedReport Report() const;

 private:
  explicit PairedTest(const PairedOptions& options) : options_(options) {}
  void AddEvidence(double effect);
  void AddVoid();

  PairedOptions options_;
  PairedState state_;
  BettingProcess keep_, futility_, slower_;
  std::vector<double> effects_;  // -infinity for a block that the candidate ruined
  std::uint32_t attempts_ = 0;   // void ones at the current block
};

// Effect above min_gain that `blocks` blocks find in half (power = 0.5) or any other share of
// cases, for Gaussian block noise of this spread:
// spread * (sqrt(2 * (ln(1/alpha) + ln 9)) + z_power) / sqrt(blocks). The first term is where the
// best of nine bets reaches 1/alpha.
double DetectableEffect(double spread, double blocks, double alpha, double power);
double BlocksToDetect(double spread, double effect, double alpha, double power);

}  // namespace pawl::measure
