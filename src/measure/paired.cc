#include "measure/paired.h"

#include <cmath>
#include <limits>

#include "base/text.h"
#include "measure/distributions.h"
#include "measure/spread.h"

namespace pawl::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsRate(double alpha) {
  return alpha > 0 && alpha < 1;
}

Status CheckOptions(const PairedOptions& o) {
  const auto refuse = [](std::string message) {
    return MakeError(Code::kInvalidArgument, std::move(message));
  };
  if (!(o.scale > 0) || !std::isfinite(o.scale))
    return refuse(Format("the paired test needs a scale above 0, not {}", o.scale));
  if (!std::isfinite(o.min_gain) || !std::isfinite(o.worth_seeing) ||
      o.worth_seeing <= o.min_gain) {
    return refuse(Format("the gain worth seeing ({}) must be above the least gain to keep ({})",
                         o.worth_seeing, o.min_gain));
  }
  if (!IsRate(o.keep_alpha) || !IsRate(o.futility_alpha) || !IsRate(o.slower_alpha))
    return refuse("the paired test's error rates must lie between 0 and 1");
  if (o.cap == 0 || o.cap > kMostBlocks)
    return refuse(Format("the paired test takes 1 to {} blocks, not {}", kMostBlocks, o.cap));
  return OkStatus();
}

}  // namespace

PairedBlock MakeBlock(std::uint32_t index, BlockDesign design, Order order,
                      std::span<const double> scores) {
  const std::vector<Arm> arms = BlockArms(design, order);
  PAWL_CHECK(arms.size() == scores.size());
  PairedBlock block{index, BlockStatus::kSound, 0};
  double incumbent = 0;
  double candidate = 0;
  for (std::size_t i = 0; i < arms.size(); ++i)
    (arms[i] == Arm::kCandidate ? candidate : incumbent) += scores[i];
  const auto runs_of_arm = static_cast<double>(arms.size()) / 2;
  if (!std::isfinite(candidate)) {
    block.status = BlockStatus::kCandidateFailed;
  } else if (!std::isfinite(incumbent)) {
    block.status = BlockStatus::kIncumbentFailed;
  } else {
    block.effect = Effect(incumbent / runs_of_arm, candidate / runs_of_arm);
  }
  return block;
}

Result<PairedTest> PairedTest::Start(const PairedOptions& options) {
  PAWL_TRY(CheckOptions(options));
  return PairedTest(options);
}

Result<PairedTest> PairedTest::Replay(const PairedOptions& options,
                                      std::span<const PairedBlock> blocks) {
  PAWL_ASSIGN(PairedTest test, Start(options));
  for (const PairedBlock& block : blocks) PAWL_TRY(test.Add(block));
  return test;
}

Status PairedTest::Add(const PairedBlock& block) {
  if (state_.outcome != PairedOutcome::kOpen)
    return MakeError(Code::kConflict, Format("block {} follows a decision", block.index));
  if (block.index != state_.next_block) {
    return MakeError(Code::kConflict, Format("block {} was recorded where block {} was due",
                                             block.index, state_.next_block));
  }
  switch (block.status) {
    case BlockStatus::kSound:
      if (!std::isfinite(block.effect)) {
        return MakeError(Code::kInvalidArgument,
                         Format("block {} is sound and has no finite effect", block.index));
      }
      AddEvidence(block.effect);
      break;
    case BlockStatus::kCandidateFailed:
      ++state_.candidate_failures;
      AddEvidence(-kInfinity);
      break;
    case BlockStatus::kIncumbentFailed:
    case BlockStatus::kOutsideState:
      AddVoid();
      break;
    case BlockStatus::kInterrupted:
      if (++state_.interruptions > options_.restarts) state_.outcome = PairedOutcome::kInterrupted;
      break;
  }
  return OkStatus();
}

void PairedTest::AddEvidence(double effect) {
  const double scale = kClipScales * options_.scale;
  keep_.Bet(ClippedScore(effect - options_.min_gain, scale));
  futility_.Bet(ClippedScore(options_.worth_seeing - effect, scale));
  slower_.Bet(ClippedScore(-effect, scale));
  effects_.push_back(effect);
  attempts_ = 0;
  ++state_.blocks;
  ++state_.next_block;
  state_.keep_wealth = keep_.wealth();
  state_.futility_wealth = futility_.wealth();
  state_.slower_wealth = slower_.wealth();
  if (state_.keep_wealth >= 1 / options_.keep_alpha) {
    state_.outcome = PairedOutcome::kKeep;
  } else if (state_.slower_wealth >= 1 / options_.slower_alpha) {
    state_.outcome = PairedOutcome::kSlower;
  } else if (state_.futility_wealth >= 1 / options_.futility_alpha) {
    // Both refuse, so the label may be given at the looser rate.
    state_.outcome = state_.slower_wealth >= 1 / options_.futility_alpha ? PairedOutcome::kSlower
                                                                         : PairedOutcome::kNoGain;
  } else if (state_.blocks >= options_.cap) {
    state_.outcome = PairedOutcome::kUndecided;
  }
}

void PairedTest::AddVoid() {
  ++state_.voided;
  if (++attempts_ > options_.repeats_of_block || state_.voided > options_.repeats_in_all)
    state_.outcome = PairedOutcome::kUnsettled;
}

PairedReport PairedTest::Report() const {
  PairedReport report;
  report.interval =
      ConfidenceSequence(effects_, kClipScales * options_.scale, 2 * options_.keep_alpha);
  std::vector<double> sound;
  for (const double d : effects_)
    if (std::isfinite(d)) sound.push_back(d);
  const double spread = options_.scale / kScaleOverSpread;
  report.detectable =
      options_.min_gain +
      DetectableEffect(spread, static_cast<double>(state_.blocks), options_.keep_alpha, 0.9);
  report.blocks_for_effect = kInfinity;
  if (sound.empty()) return report;
  report.effect = HodgesLehmann(sound, 0.95).estimate;
  if (report.effect > options_.min_gain) {
    report.blocks_for_effect =
        BlocksToDetect(spread, report.effect - options_.min_gain, options_.keep_alpha, 0.9);
  }
  return report;
}

double DetectableEffect(double spread, double blocks, double alpha, double power) {
  const double bets = std::log(static_cast<double>(BettingProcess::kBets));
  const double units = std::sqrt(2 * (std::log(1 / alpha) + bets)) + NormalQuantile(power);
  return units * spread / std::sqrt(blocks);
}

double BlocksToDetect(double spread, double effect, double alpha, double power) {
  const double ratio = DetectableEffect(spread, 1, alpha, power) / effect;
  return ratio * ratio;
}

}  // namespace pawl::measure
