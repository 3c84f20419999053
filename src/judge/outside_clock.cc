#include "judge/outside_clock.h"

#include <cmath>
#include <optional>

#include "base/text.h"

namespace pawl::judge {

namespace {

// Start-up, set-up and machine noise are in the outside time only; they get this much room.
constexpr double kNoiseFraction = 0.10;
constexpr double kNoiseSeconds = 0.1;
// Half of a real gain may be hidden by work that the harness does around its samples.
constexpr double kConfirmedFraction = 0.5;
// The sum of samples and the outside wall come from two clocks.
constexpr double kClockSkew = 1e-3;

bool Exceeds(const Samples& samples, double outside_s) {
  return samples.total_s > outside_s * (1 + kClockSkew);
}

// What the claimed samples say was saved in all. With another number of samples the harness works
// to a time budget when both sums agree, and then nothing can be said (nullopt).
std::optional<double> ClaimedSaving(const Samples& incumbent, const Samples& candidate) {
  const double saved = incumbent.total_s - candidate.total_s;
  if (incumbent.count == candidate.count) return saved;
  if (std::fabs(saved) <= kNoiseFraction * incumbent.total_s) return std::nullopt;
  const auto mean = [](const Samples& samples) {
    return samples.total_s / static_cast<double>(samples.count);
  };
  return static_cast<double>(incumbent.count) * (mean(incumbent) - mean(candidate));
}

void CompareSavings(const Samples& incumbent, const Samples& candidate, const OutsideTimes& outside,
                    ClockFinding& out) {
  const auto claimed = ClaimedSaving(incumbent, candidate);
  if (!claimed) {
    out.notes.push_back(
        Format("outside clock: {} samples instead of {} in about the same time; the gain could not "
               "be confirmed from outside",
               candidate.count, incumbent.count));
    return;
  }
  const double seen = outside.incumbent_s - outside.candidate_s;
  const double needed = kConfirmedFraction * *claimed - kNoiseFraction * outside.incumbent_s;
  if (seen >= needed) return;
  out.contradictions.push_back(
      Format("outside clock: the samples claim {} saved in all, the perf command took {} instead "
             "of {}; at least {} had to be seen from outside",
             FormatSeconds(*claimed), FormatSeconds(outside.candidate_s),
             FormatSeconds(outside.incumbent_s), FormatSeconds(needed)));
}

}  // namespace

ClockFinding CheckOutsideClock(const PerformanceInput& input, const campaign::Objective& objective,
                               const OutsideTimes& outside) {
  ClockFinding out;
  const auto unit = SecondsPerUnit(objective.metric);
  if (objective.direction != campaign::Direction::kLower || !unit) return out;
  const auto before = Metric(input.incumbent, objective.metric);
  const auto now = Metric(input.candidate, objective.metric);
  if (!before || !now || !(*now < *before)) return out;
  if (!(outside.incumbent_s > 0) || !(outside.candidate_s > 0)) {
    out.notes.emplace_back(
        "outside clock: the perf command's wall time is not known, the gain was not checked");
    return out;
  }

  const auto incumbent = SamplesBeside(input.incumbent, objective.metric);
  const auto candidate = SamplesBeside(input.candidate, objective.metric);
  // A harness that times requests side by side sums to more than its wall time from the start; the
  // incumbent shows that.
  const bool side_by_side = incumbent && Exceeds(*incumbent, outside.incumbent_s);
  if (candidate && Exceeds(*candidate, outside.candidate_s) && !side_by_side) {
    out.contradictions.push_back(
        Format("outside clock: the samples sum to {}, but the whole perf command took {}",
               FormatSeconds(candidate->total_s), FormatSeconds(outside.candidate_s)));
    return out;
  }
  const bool both = incumbent && candidate && incumbent->listed && candidate->listed;
  if (both && !side_by_side) {
    CompareSavings(*incumbent, *candidate, outside, out);
    return out;
  }
  if (incumbent && incumbent->listed && !(candidate && candidate->listed)) {
    out.contradictions.emplace_back(
        "outside clock: the incumbent lists its samples, the candidate does not");
    return out;
  }
  if (outside.candidate_s > outside.incumbent_s * (1 + kNoiseFraction) + kNoiseSeconds) {
    out.contradictions.push_back(
        Format("outside clock: {} claims a gain, but the perf command took {} instead of {}",
               PrintableLine(objective.metric), FormatSeconds(outside.candidate_s),
               FormatSeconds(outside.incumbent_s)));
  }
  return out;
}

}  // namespace pawl::judge
