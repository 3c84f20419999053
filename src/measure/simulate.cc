#include "measure/simulate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/result.h"
#include "measure/block_spread.h"
#include "measure/single.h"
#include "measure/spread.h"
#include "measure/trial.h"

namespace pawl::measure {
namespace {

constexpr std::uint32_t kPoolRuns = 8;
constexpr std::uint32_t kAfterKeepRuns = 6;

struct Decision {
  bool keep = false;
  double claimed = 0;
  std::uint32_t runs = 0;
};

// One campaign: an incumbent, its noise, and what the policy remembers.
class Campaign {
 public:
  Campaign(const SimulatedPolicy& policy, const NoiseModel& noise, RandomSource& random)
      : policy_(policy), spread_(noise.spread), random_(random), noise_(noise, random) {
    min_gain_ = policy.min_gain * spread_;
    policy_.sequential.min_gain = min_gain_;
  }

  std::uint32_t Begin() {
    if (policy_.policy == Policy::kSingle) {
      recorded_ = noise_.Next();
      return 1;
    }
    if (policy_.policy == Policy::kSequential) {
      pool_ = StartPool(Runs(kPoolRuns), policy_.sequential.pool).value();
      return kPoolRuns;
    }
    const std::vector<double> runs = Runs(policy_.calibration_runs);
    const double block = BlockSpread(policy_.design, runs);
    const double centre = Median(runs);
    figures_.run_spread = RobustSpread(runs);
    figures_.run_sd = StandardDeviation(runs);
    figures_.worst = *std::max_element(runs.begin(), runs.end()) - centre;
    recorded_ = centre;
    paired_.scale = kScaleOverSpread * block;
    paired_.min_gain = min_gain_;
    paired_.worth_seeing = min_gain_ + policy_.worth_seeing_blocks * block;
    paired_.cap = policy_.cap;
    return policy_.calibration_runs;
  }

  Decision Judge(double effect) {
    switch (policy_.policy) {
      case Policy::kSingle:
        return JudgeBySingle(effect);
      case Policy::kSequential:
        return JudgeBySequential(effect);
      default:
        return JudgeByPairs(effect);
    }
  }

  double progress() const { return -level_; }

 private:
  std::vector<double> Runs(std::uint32_t count) {
    std::vector<double> out = noise_.Take(count);
    for (double& score : out) score += level_;
    return out;
  }

  Decision JudgeBySingle(double effect) {
    const double run = level_ - effect + noise_.Next();
    const SingleVerdict verdict = JudgeSingle(recorded_, run, min_gain_, spread_);
    if (verdict.keep) {
      recorded_ = run;
      level_ -= effect;
    }
    return {verdict.keep, verdict.effect, 1};
  }

  Decision JudgeByPairs(double effect) {
    // The screening run is compared with the incumbent's run beside it.
    std::uint32_t runs = 0;
    if (policy_.screening) {
      runs = 2;
      const double incumbent = level_ + noise_.Next();
      const double first = level_ - effect + noise_.Next();
      if (ScreenRefuses(figures_, incumbent, first)) return {false, 0, runs};
    }
    const TrialResult trial = PairedTrial(paired_, policy_.design, effect, noise_, random_);
    if (trial.keep) level_ -= effect;
    return {trial.keep, trial.effect, runs + trial.runs};
  }

  Decision JudgeBySequential(double effect) {
    const TrialResult trial =
        SequentialTrial(pool_, policy_.sequential, level_, effect, noise_, random_);
    Decision out{trial.keep, trial.effect, trial.runs};
    if (!trial.keep) return out;
    level_ -= effect;
    PAWL_CHECK(RefillPool(pool_, Runs(kAfterKeepRuns), policy_.sequential.pool).ok());
    out.runs += kAfterKeepRuns;
    return out;
  }

  SimulatedPolicy policy_;
  double spread_;
  RandomSource& random_;
  NoisyRuns noise_;
  double min_gain_ = 0;
  double level_ = 0;  // the incumbent's true score
  double recorded_ = 0;
  NoiseFigures figures_;
  PairedOptions paired_;
  IncumbentPool pool_;
};

double DrawEffect(const EffectMix& mix, double spread, RandomSource& random) {
  const double u = random.Uniform();
  const double v = random.Uniform();
  if (u < mix.gain_share) return spread * (mix.gain_low + v * (mix.gain_high - mix.gain_low));
  if (u < mix.gain_share + mix.loss_share)
    return -spread * (mix.loss_low + v * (mix.loss_high - mix.loss_low));
  return 0;
}

void Count(double effect, const Decision& decision, CampaignFigures& out) {
  const double kept = decision.keep ? 1 : 0;
  if (effect > 0) {
    out.gains += 1;
    out.gain_keeps += kept;
  } else {
    (effect < 0 ? out.losses : out.nulls) += 1;
    (effect < 0 ? out.loss_keeps : out.null_keeps) += kept;
    ++out.without_gain_seen;
    if (decision.keep) ++out.false_keeps_seen;
  }
  if (decision.keep) out.claimed += decision.claimed;
  out.runs += decision.runs;
}

}  // namespace

double CampaignFigures::FalseKeepRate() const {
  if (without_gain_seen == 0) return 0;
  return static_cast<double>(false_keeps_seen) / static_cast<double>(without_gain_seen);
}

double CampaignFigures::MissedShare() const {
  return gains > 0 ? 1 - gain_keeps / gains : 0;
}

SimulatedPolicy PolicyOf(const Plan& plan, const NoiseFigures& noise) {
  SimulatedPolicy out;
  out.policy = plan.policy;
  out.design = plan.design;
  out.sequential = plan.sequential;
  out.cap = plan.paired.cap;
  if (noise.run_spread > 0) out.min_gain = plan.min_gain / noise.run_spread;
  const double block = plan.design == BlockDesign::kPair ? noise.pair_spread : noise.abba_spread;
  if (plan.policy == Policy::kPaired && block > 0)
    out.worth_seeing_blocks = (plan.paired.worth_seeing - plan.paired.min_gain) / block;
  return out;
}

CampaignFigures SimulateCampaigns(const SimulatedPolicy& policy, const CampaignModel& model,
                                  std::uint32_t campaigns, std::uint64_t seed) {
  RandomSource random(seed);
  CampaignFigures out;
  for (std::uint32_t i = 0; i < campaigns; ++i) {
    Campaign campaign(policy, model.noise, random);
    out.runs += campaign.Begin();
    for (std::uint32_t k = 0; k < model.experiments; ++k) {
      const double effect = DrawEffect(model.effects, model.noise.spread, random);
      Count(effect, campaign.Judge(effect), out);
    }
    out.progress += campaign.progress();
  }
  const double n = campaigns;
  for (double* mean : {&out.nulls, &out.losses, &out.gains, &out.null_keeps, &out.loss_keeps,
                       &out.gain_keeps, &out.progress, &out.claimed, &out.runs})
    *mean /= n;
  out.seconds = out.runs * model.run_cost_s;
  return out;
}

}  // namespace pawl::measure
