#include "measure/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "measure/distributions.h"
#include "measure/single.h"
#include "measure/trial.h"

namespace pawl::measure {
namespace {

constexpr double kScreenSigmas = 4;
constexpr double kPricedGain = 0.05;
constexpr std::uint32_t kPriceTrials = 200;
constexpr std::uint64_t kPriceSeed = 20;
constexpr std::uint32_t kPoolStart = 8;

constexpr std::array<std::pair<Policy, std::string_view>, 5> kNames = {
    {{Policy::kAuto, "auto"},
     {Policy::kSingle, "single"},
     {Policy::kPaired, "paired"},
     {Policy::kSequential, "sequential"},
     {Policy::kAgreeing, "agreeing"}}};

std::uint32_t RunsOfBlock(BlockDesign design) {
  return design == BlockDesign::kPair ? 2 : 4;
}

double BlockSpreadOf(const PlanInput& input, BlockDesign design) {
  return design == BlockDesign::kPair ? input.noise.pair_spread : input.noise.abba_spread;
}

// Blocks that the budget pays for, beside the screening run.
double AffordableBlocks(const PlanInput& input, BlockDesign design) {
  return std::floor((input.budget_s / input.run_cost_s - 1) / RunsOfBlock(design));
}

Policy Choose(const PlanInput& input, BlockDesign design, std::string& why) {
  if (input.requested != Policy::kAuto) {
    why = Format("{} as the configuration asks", PolicyName(input.requested));
    return input.requested;
  }
  if (input.deterministic) {
    why = "calibration runs agree exactly, so two agreeing runs are the truth";
    return Policy::kAgreeing;
  }
  const double blocks = AffordableBlocks(input, design);
  const std::string price = Format("a run takes {}; the budget of {}",
                                   FormatSeconds(input.run_cost_s), FormatSeconds(input.budget_s));
  if (blocks >= kLeastBlocks) {
    why = Format("{} pays for {} paired blocks", price, std::min(blocks, double{kMostBlocks}));
    return Policy::kPaired;
  }
  why = Format(
      "{} pays for {} paired blocks and {} are needed, so candidates run on several seeds "
      "against a pool of incumbent runs",
      price, std::max(blocks, 0.0), kLeastBlocks);
  if (input.noise.drifts) why += "; single runs drift here, which costs it power";
  return Policy::kSequential;
}

Price PriceOfPaired(const Plan& plan, double run_cost_s, double spread, double effect) {
  RandomSource random(kPriceSeed);
  // A run of spread 1 makes a block of spread sqrt(2) or 1.
  const double run = plan.design == BlockDesign::kPair ? spread / std::sqrt(2.0) : spread;
  NoisyRuns noise({NoiseShape::kGaussian, run, 0}, random);
  Price price;
  for (std::uint32_t i = 0; i < kPriceTrials; ++i) {
    const TrialResult trial = PairedTrial(plan.paired, plan.design, effect, noise, random);
    price.runs += 1 + trial.runs;
    price.keep_share += trial.keep ? 1 : 0;
  }
  price.runs /= kPriceTrials;
  price.keep_share /= kPriceTrials;
  price.seconds = price.runs * run_cost_s;
  return price;
}

Price PriceOfSequential(const Plan& plan, double run_cost_s, double spread, double effect) {
  RandomSource random(kPriceSeed);
  NoisyRuns noise({NoiseShape::kGaussian, spread, 0}, random);
  Price price;
  for (std::uint32_t i = 0; i < kPriceTrials; ++i) {
    IncumbentPool pool = StartPool(noise.Take(kPoolStart), plan.sequential.pool).value();
    const TrialResult trial = SequentialTrial(pool, plan.sequential, 0, effect, noise, random);
    price.runs += trial.runs;
    price.keep_share += trial.keep ? 1 : 0;
  }
  price.runs /= kPriceTrials;
  price.keep_share /= kPriceTrials;
  price.seconds = price.runs * run_cost_s;
  return price;
}

Price FixedPrice(std::uint32_t runs, double run_cost_s, double keep_share) {
  return {double{1} * runs, runs * run_cost_s, keep_share};
}

void PlanPaired(const PlanInput& input, Plan& plan) {
  const double spread = BlockSpreadOf(input, plan.design);
  const double affordable = std::max(AffordableBlocks(input, plan.design), double{kLeastBlocks});
  PairedOptions& o = plan.paired;
  const double full = o.cap;
  o.cap = static_cast<std::uint32_t>(std::min(affordable, full));
  o.scale = kScaleOverSpread * spread;
  o.min_gain = plan.min_gain;
  // Fewer blocks see less: what must not be missed grows as the noise of their mean.
  o.worth_seeing = plan.min_gain + kWorthSeeingBlocks * spread * std::sqrt(full / o.cap);
  plan.most_runs = 1 + o.cap * RunsOfBlock(plan.design);
  const double detectable = plan.min_gain + DetectableEffect(spread, o.cap, o.keep_alpha, 0.9);
  plan.detectable_fraction = FractionOfEffect(input.metric, detectable, input.typical);
  const double gain = EffectOfFraction(input.metric, kPricedGain, input.typical);
  plan.null_price = PriceOfPaired(plan, input.run_cost_s, spread, 0);
  plan.gain_price = PriceOfPaired(plan, input.run_cost_s, spread, gain);
}

void PlanSequential(const PlanInput& input, Plan& plan) {
  SequentialOptions& o = plan.sequential;
  o.min_gain = plan.min_gain;
  plan.most_runs = o.MostRuns();
  const double spread = std::max(input.noise.run_spread, input.noise.run_sd);
  const double error = spread * std::sqrt(1.0 / o.looks[kLooks - 1] + 1.0 / o.pool.size);
  const double detectable = plan.min_gain + (o.keep_final + NormalQuantile(0.9)) * error;
  plan.detectable_fraction = FractionOfEffect(input.metric, detectable, input.typical);
  const double gain = EffectOfFraction(input.metric, kPricedGain, input.typical);
  plan.null_price = PriceOfSequential(plan, input.run_cost_s, spread, 0);
  plan.gain_price = PriceOfSequential(plan, input.run_cost_s, spread, gain);
}

void PlanSingle(const PlanInput& input, Plan& plan) {
  plan.most_runs = 1;
  const double spread = input.noise.run_spread;
  const double gain = EffectOfFraction(input.metric, kPricedGain, input.typical);
  const double two = spread * std::sqrt(2.0);
  const auto share = [&](double effect) {
    if (two <= 0) return effect > plan.min_gain ? 1.0 : 0.0;
    return NormalCdf((effect - plan.min_gain) / two);
  };
  plan.null_price = FixedPrice(1, input.run_cost_s, share(0));
  plan.gain_price = FixedPrice(1, input.run_cost_s, share(gain));
  plan.detectable_fraction =
      FractionOfEffect(input.metric, plan.min_gain + NormalQuantile(0.9) * two, input.typical);
  AppendFormat(plan.why, "; {}, {:.2g} % of candidates without effect would be kept", kSingleLabel,
               100 * plan.null_price.keep_share);
}

Status CheckInput(const PlanInput& input) {
  const auto refuse = [](std::string message, std::string hint = {}) {
    return MakeError(Code::kInvalidArgument, std::move(message), std::move(hint));
  };
  if (!(input.run_cost_s > 0) || !(input.budget_s > 0))
    return refuse("a plan needs the cost of a run and a budget, both above 0 s");
  if (!(input.min_gain_fraction >= 0) || input.min_gain_fraction >= 1)
    return refuse(Format("the least gain must be in [0, 1), not {}", input.min_gain_fraction));
  if (input.metric.scale == Scale::kDifference && input.typical == 0)
    return refuse("a fraction of a metric that is 0 means nothing", "give the metric an offset");
  if (input.requested == Policy::kAgreeing && !input.deterministic)
    return refuse("policy agreeing needs a metric without noise; calibration runs differed",
                  "use measure.policy = \"auto\"");
  const bool statistical =
      input.requested == Policy::kPaired || input.requested == Policy::kSequential;
  if (input.deterministic && statistical)
    return refuse("calibration runs agree exactly: there is no noise to test against",
                  "use measure.policy = \"auto\"");
  return OkStatus();
}

}  // namespace

std::string_view PolicyName(Policy policy) {
  for (const auto& [value, name] : kNames)
    if (value == policy) return name;
  return "";
}

std::optional<Policy> ParsePolicy(std::string_view name) {
  for (const auto& [value, known] : kNames)
    if (known == name) return value;
  return std::nullopt;
}

std::string Plan::PriceLine() const {
  return Format("null about {:.0f} runs, {}; 5 % gain about {:.0f} runs, {}",
                std::ceil(null_price.runs), FormatSeconds(null_price.seconds),
                std::ceil(gain_price.runs), FormatSeconds(gain_price.seconds));
}

Result<Plan> MakePlan(const PlanInput& input) {
  PAWL_TRY(CheckInput(input));
  Plan plan;
  plan.design = input.run_cost_s >= kPairFromSeconds ? BlockDesign::kPair : BlockDesign::kAbba;
  plan.min_gain = EffectOfFraction(input.metric, input.min_gain_fraction, input.typical);
  plan.policy = Choose(input, plan.design, plan.why);
  if (plan.policy == Policy::kPaired && !(BlockSpreadOf(input, plan.design) > 0))
    return MakeError(Code::kInvalidArgument, "the paired procedure needs a block spread above 0");
  if (plan.policy == Policy::kSequential && !(input.noise.run_sd > 0))
    return MakeError(Code::kInvalidArgument, "the sequential procedure needs seed noise above 0");
  switch (plan.policy) {
    case Policy::kPaired:
      PlanPaired(input, plan);
      break;
    case Policy::kSequential:
      PlanSequential(input, plan);
      break;
    case Policy::kAgreeing:
      plan.most_runs = 2;
      plan.null_price = FixedPrice(2, input.run_cost_s, 0);
      plan.gain_price = FixedPrice(2, input.run_cost_s, 1);
      plan.detectable_fraction = input.min_gain_fraction;
      break;
    default:
      PlanSingle(input, plan);
      break;
  }
  plan.within_budget = plan.most_runs * input.run_cost_s <= input.budget_s;
  if (!plan.within_budget) {
    AppendFormat(plan.why, "; an experiment may take {} runs, {}, more than the budget",
                 plan.most_runs, FormatSeconds(plan.most_runs * input.run_cost_s));
  }
  return plan;
}

bool ScreenRefuses(const NoiseFigures& noise, double incumbent_score, double first_score) {
  if (!std::isfinite(first_score)) return true;
  const double loss = first_score - incumbent_score;
  return loss > std::max(kScreenSigmas * std::max(noise.run_sd, noise.run_spread), noise.worst);
}

}  // namespace pawl::measure
