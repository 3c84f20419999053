// Claims: what a keep is worth, from blocks made after the decision and never used for one. The
// evidence of the decision was chosen for being lucky (the winner's curse), so it is left out; and
// recorded gains are never multiplied: the gain of a whole campaign comes from its head against its
// root, by this same procedure.
#pragma once

#include <cstdint>
#include <span>

#include "measure/score.h"

namespace pawl::measure {

struct ClaimOptions {
  double min_gain = 0;  // a claim below it is not confirmed
  // The gain as the deciding blocks had it (of a campaign: the sum of its claims). It only says how
  // precise the claim must be: were it the claim's own running estimate, a claim would stop when
  // that happens to be high. 0: run to the cap.
  double expected_gain = 0;
  double precision = 0.5;  // stop when the interval is this share of the expected gain
  double confidence = 0.95;
  std::uint32_t least = 10;  // blocks; the interval is approximate below
  std::uint32_t cap = 60;
};

enum class ClaimOutcome : std::uint8_t {
  kOpen,          // one more block
  kConfirmed,     // the whole interval is above min_gain
  kNotConfirmed,  // all blocks are in and min_gain lies in the interval
  kRefuted,       // the whole interval is below min_gain
};

struct ClaimState {
  ClaimOutcome outcome = ClaimOutcome::kOpen;
  std::uint32_t blocks = 0;
  double gain = 0;       // Hodges-Lehmann estimate
  Interval interval;     // Wilcoxon signed rank
  bool precise = false;  // the interval is that share of `gain` itself
};

// `effects` of the fresh blocks in order; -infinity for one that the claimed program ruined.
ClaimState NextClaim(const ClaimOptions& options, std::span<const double> effects);

// Whether a gain shrinks when programs run longer (or on other inputs) than where it was found: the
// other interval lies wholly below the first. Names a gain that was fitted to the measurement.
bool GainShrinks(const ClaimState& found, const ClaimState& elsewhere);

}  // namespace pawl::measure
