#include "measure/claim.h"

#include <algorithm>
#include <cmath>

#include "measure/spread.h"

namespace pawl::measure {

ClaimState NextClaim(const ClaimOptions& options, std::span<const double> effects) {
  ClaimState state;
  const std::size_t count = std::min<std::size_t>(effects.size(), options.cap);
  state.blocks = static_cast<std::uint32_t>(count);
  if (count == 0) return state;
  const Location location = HodgesLehmann(effects.first(count), options.confidence);
  state.gain = location.estimate;
  state.interval = location.interval;
  state.precise = state.interval.width() <= options.precision * std::abs(state.gain);
  const bool enough = state.interval.width() <= options.precision * options.expected_gain;
  if (count < options.least || (!enough && count < options.cap)) return state;
  if (state.interval.low > options.min_gain) {
    state.outcome = ClaimOutcome::kConfirmed;
  } else if (state.interval.high < options.min_gain) {
    state.outcome = ClaimOutcome::kRefuted;
  } else {
    state.outcome = ClaimOutcome::kNotConfirmed;
  }
  return state;
}

bool GainShrinks(const ClaimState& found, const ClaimState& elsewhere) {
  return elsewhere.interval.high < found.interval.low;
}

}  // namespace pawl::measure
