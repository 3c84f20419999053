#include "measure/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "measure/block_spread.h"
#include "measure/ruler.h"
#include "measure/spread.h"

namespace pawl::measure {
namespace {

constexpr std::array<std::pair<Ruler, std::string_view>, 11> kNames = {
    {{Ruler::kSound, "sound"},
     {Ruler::kTooFewRuns, "too-few-runs"},
     {Ruler::kMissing, "missing"},
     {Ruler::kZero, "zero"},
     {Ruler::kConstant, "constant"},
     {Ruler::kClockJumps, "clock-jumps"},
     {Ruler::kSlowsDown, "slows-down"},
     {Ruler::kDrifts, "drifts"},
     {Ruler::kBimodal, "bimodal"},
     {Ruler::kSlowedNotSeen, "slowed-copy-not-seen"},
     {Ruler::kBadPlan, "bad-plan"}}};

struct Verdict {
  Ruler ruler = Ruler::kSound;
  std::string why, hint;
};

// Two readings of a sound pair of clocks agree about the time between them to within this.
double ClockTolerance(double elapsed_s) {
  return 0.5 + 0.01 * elapsed_s;
}

Verdict CheckClocks(std::span<const CalibrationRun> runs) {
  const auto jump = [](std::size_t run, std::string_view what) {
    return Verdict{Ruler::kClockJumps, Format("before run {}, {}", run, what),
                   "set the clock, or stop what sets it, and calibrate again"};
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!(runs[i].cost_s > 0) || !std::isfinite(runs[i].cost_s))
      return jump(i + 1, Format("a clock says that the run took {} s", runs[i].cost_s));
    if (i == 0 || !runs[i].start || !runs[i - 1].start) continue;
    const double elapsed = runs[i].start->monotonic_s - runs[i - 1].start->monotonic_s;
    const double wall = runs[i].start->wall_s - runs[i - 1].start->wall_s;
    if (elapsed + 0.001 < runs[i - 1].cost_s)
      return jump(i + 1, "the monotonic clock went by less than the run before took");
    if (std::abs(wall - elapsed) > ClockTolerance(elapsed)) {
      return jump(
          i + 1, Format("the wall clock went by {:.3g} s and the monotonic clock by {:.3g} s", wall,
                        elapsed));
    }
  }
  return {};
}

Verdict CheckValues(const CalibrationInput& input) {
  for (std::size_t i = 0; i < input.runs.size(); ++i) {
    const double value = input.runs[i].value;
    if (!std::isfinite(value)) {
      return {Ruler::kMissing, Format("run {} of the unchanged program has no value", i + 1),
              "make the measurement give a number in every run"};
    }
    if (input.metric.scale == Scale::kRatio && value <= 0) {
      return {Ruler::kZero,
              Format("run {} measured {}; gains in percent need values above 0", i + 1, value),
              "measure more work per run, or compare differences"};
    }
  }
  return {};
}

Verdict CheckSeries(const CalibrationInput& input, std::span<const double> scores) {
  if (SlowsDown(scores)) {
    return {Ruler::kSlowsDown,
            Format("runs get worse one after another (rank correlation with time {:.2f})",
                   TrendOf(scores)),
            "look for what a run leaves behind: files, caches, heat, processes"};
  }
  if (Drifts(scores)) {
    return {Ruler::kDrifts, "the unchanged program's runs move by far more than neighbours differ",
            "warm up first, or stop what else the machine does, and calibrate again"};
  }
  if (IsBimodal(scores)) {
    return {Ruler::kBimodal, "the unchanged program's runs fall into two groups",
            "find what differs between runs: placement, frequency, allocation, a cache"};
  }
  if (input.is_time && StandardDeviation(scores) <= 0) {
    return {Ruler::kConstant, "a time that is exactly the same in every run was not measured",
            "check what the metric reads"};
  }
  return {};
}

// Median effect of slowing, negative when it is seen; its spread by the same pairs.
Verdict CheckSlowed(const CalibrationInput& input, Calibration& out) {
  if (input.slowed.empty()) return {};
  std::vector<double> losses;
  for (const SlowedPair& pair : input.slowed) {
    const double loss = Score(input.metric, pair.slowed_value) - Score(input.metric, pair.value);
    if (!std::isfinite(loss))
      return {Ruler::kMissing, "a run beside the slowed copy has no value",
              "make the measurement give a number in every run"};
    losses.push_back(loss);
  }
  if (losses.size() < kSlowedPairs) {
    return {Ruler::kTooFewRuns,
            Format("{} pairs with the slowed copy; {} are needed", losses.size(), kSlowedPairs),
            ""};
  }
  const double seen = Median(losses);
  out.seen_slowdown = -FractionOfEffect(input.metric, -seen, out.typical);
  if (out.noise.run_sd <= 0 && seen == 0) {
    return {Ruler::kConstant, "the metric is constant: the slowed copy does not move it either",
            "check what the metric reads"};
  }
  const double expected = -EffectOfFraction(input.metric, -input.slowed_by, out.typical);
  const double error = out.noise.pair_spread / std::sqrt(static_cast<double>(losses.size()));
  if (seen < 0.5 * expected || seen < 2.5 * error) {
    return {Ruler::kSlowedNotSeen,
            Format("a copy slowed by {:.3g} % measured {:+.3g} % (noise of that {:.2g} %)",
                   100 * input.slowed_by, 100 * out.seen_slowdown, 100 * error),
            "the metric must react to time spent; lengthen the run or quiet the machine"};
  }
  return {};
}

// Variance of a run's median that its own samples explain: pi/2 of the mean's.
double WithinSpread(const Metric& metric, std::span<const CalibrationRun> runs) {
  double variances = 0;
  for (const CalibrationRun& run : runs) {
    std::vector<double> scores;
    scores.reserve(run.inside.size());
    for (const double value : run.inside) scores.push_back(Score(metric, value));
    if (scores.size() < 2 || !std::isfinite(StandardDeviation(scores))) return 0;
    const double sd = RobustSpread(scores);
    variances += 1.5708 * sd * sd / static_cast<double>(scores.size());
  }
  return std::sqrt(variances / static_cast<double>(runs.size()));
}

void MeasureNoise(const CalibrationInput& input, std::span<const double> scores, Calibration& out) {
  NoiseFigures& noise = out.noise;
  const double centre = Median(scores);
  out.incumbent_score = centre;
  noise.run_sd = StandardDeviation(scores);
  noise.run_spread = RobustSpread(scores);
  if (noise.run_spread <= 0) noise.run_spread = noise.run_sd;
  noise.worst = *std::max_element(scores.begin(), scores.end()) - centre;
  noise.pair_spread = BlockSpread(BlockDesign::kPair, scores);
  noise.abba_spread = BlockSpread(BlockDesign::kAbba, scores);
  noise.drifts = Wanders(scores);
  out.parts.within = WithinSpread(input.metric, input.runs);
  out.parts.drift = DriftSpread(scores);
  const double rest = noise.run_sd * noise.run_sd - out.parts.within * out.parts.within -
                      out.parts.drift * out.parts.drift;
  out.parts.between = std::sqrt(std::max(0.0, rest));
}

Verdict MakeCalibration(const CalibrationInput& input, Calibration& out) {
  if (input.runs.size() < kLeastCalibrationRuns) {
    return {Ruler::kTooFewRuns,
            Format("{} calibration runs; at least {} are needed", input.runs.size(),
                   kLeastCalibrationRuns),
            ""};
  }
  if (Verdict bad = CheckValues(input); bad.ruler != Ruler::kSound) return bad;
  if (Verdict bad = CheckClocks(input.runs); bad.ruler != Ruler::kSound) return bad;
  std::vector<double> scores, values, costs;
  for (const CalibrationRun& run : input.runs) {
    scores.push_back(Score(input.metric, run.value));
    values.push_back(run.value);
    costs.push_back(run.cost_s);
  }
  out.typical = Median(values);
  out.run_cost_s = Median(costs);
  MeasureNoise(input, scores, out);
  out.deterministic = out.noise.run_sd <= 0 && !input.is_time;
  if (Verdict bad = CheckSeries(input, scores); bad.ruler != Ruler::kSound) return bad;
  if (Verdict bad = CheckSlowed(input, out); bad.ruler != Ruler::kSound) return bad;

  const PlanInput wish{input.requested,   input.metric,   out.typical,
                       out.run_cost_s,    input.budget_s, input.min_gain_fraction,
                       out.deterministic, out.noise};
  Result<Plan> plan = MakePlan(wish);
  if (!plan.ok()) return {Ruler::kBadPlan, plan.error().message, plan.error().hint};
  out.plan = std::move(plan).value();
  out.scale = kScaleOverSpread * (out.plan.design == BlockDesign::kPair ? out.noise.pair_spread
                                                                        : out.noise.abba_spread);
  return {};
}

}  // namespace

std::string_view RulerName(Ruler ruler) {
  for (const auto& [value, name] : kNames)
    if (value == ruler) return name;
  return "";
}

CalibrationResult Calibrate(const CalibrationInput& input) {
  CalibrationResult out;
  Verdict verdict = MakeCalibration(input, out.calibration);
  out.ruler = verdict.ruler;
  out.why = std::move(verdict.why);
  out.hint = std::move(verdict.hint);
  return out;
}

}  // namespace pawl::measure
