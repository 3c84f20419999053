#include <array>
#include <string_view>

#include "base/text.h"
#include "measure/operating.h"
#include "measure/simulate.h"

namespace pawl::measure {
namespace {

constexpr std::uint64_t kSeed = 2026;

std::string Percent(double share) {
  return Format("{:.2f} %", 100 * share);
}

std::string NullCell(const OperatingPoint& point) {
  const Interval interval = point.KeepInterval();
  return Format("{:.2f} % ({:.2f} to {:.2f})", 100 * point.KeepRate(), 100 * interval.low,
                100 * interval.high);
}

void AppendPaired(std::string& out, std::uint32_t trials) {
  AppendFormat(out,
               "Paired, default options, blocks of two, scale from 16 calibration runs; effects in "
               "spreads of null blocks; {} trials each.\n\n",
               trials);
  out +=
      "| noise | false keeps of nulls (99 % interval) | blocks of a null | kept at 0.3 | kept at "
      "0.6 | kept at 1 | blocks at 0.6 | a loser by 3 refused within 13 blocks |\n";
  out += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const NoiseShape shape : kNoiseShapes) {
    const auto at = [&](double effect) { return PairedOperating(shape, effect, trials, kSeed); };
    const OperatingPoint null = at(0);
    const OperatingPoint middle = at(0.6);
    AppendFormat(out, "| {} | {} | {:.0f} | {} | {} | {} | {:.0f} | {} |\n", NoiseShapeName(shape),
                 NullCell(null), null.blocks, Percent(at(0.3).KeepRate()),
                 Percent(middle.KeepRate()), Percent(at(1).KeepRate()), middle.blocks,
                 Percent(at(-3).QuickShare()));
  }
}

void AppendSequential(std::string& out, std::uint32_t trials) {
  AppendFormat(out,
               "\nSequential, default options; effects in seed spreads; {} trials each. \"Runs\" "
               "counts both arms and refills after drift.\n\n",
               trials);
  out +=
      "| noise | pool | false keeps of nulls (99 % interval) | runs of a null | kept at 1 | kept "
      "at 2 | kept at 3 | runs at 2 (of the candidate) |\n";
  out += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  struct Row {
    NoiseModel noise;
    PoolAge age;
    std::string_view noise_name, pool_name;
  };
  constexpr NoiseShape kDrift = NoiseShape::kDrifting;
  const std::array<Row, 9> rows = {{
      {{}, PoolAge::kFresh, "Gaussian", "8 runs"},
      {{}, PoolAge::kTwentyFreedom, "Gaussian", "20 degrees of freedom"},
      {{}, PoolAge::kCampaign, "Gaussian", "campaign of 50"},
      {{kDrift, 1, kSequentialDrift}, PoolAge::kFresh, "walk of 0.05 a run", "8 runs"},
      {{kDrift, 1, kSequentialDrift}, PoolAge::kCampaign, "walk of 0.05 a run", "campaign of 50"},
      {{kDrift, 1, 0.1}, PoolAge::kCampaign, "walk of 0.1 a run", "campaign of 50"},
      {{kDrift, 1, 0.3}, PoolAge::kCampaign, "walk of 0.3 a run", "campaign of 50"},
      {{NoiseShape::kHeavyTailed, 1, 0}, PoolAge::kCampaign, "heavy-tailed", "campaign of 50"},
      {{NoiseShape::kSpiky, 1, 0}, PoolAge::kCampaign, "spiky", "campaign of 50"},
  }};
  for (const Row& row : rows) {
    const auto at = [&](double effect) {
      return SequentialOperating(row.noise, effect, row.age, trials, kSeed);
    };
    const OperatingPoint null = at(0);
    const OperatingPoint middle = at(2);
    AppendFormat(out, "| {} | {} | {} | {:.1f} | {} | {} | {} | {:.1f} ({:.1f}) |\n",
                 row.noise_name, row.pool_name, NullCell(null), null.runs,
                 Percent(at(1).KeepRate()), Percent(middle.KeepRate()), Percent(at(3).KeepRate()),
                 middle.runs, middle.candidate_runs);
  }
}

void AppendCampaigns(std::string& out, std::uint32_t campaigns) {
  AppendFormat(
      out,
      "\nCampaigns of 100 experiments, means of {}. Mixed: 8 % of the ideas gain 0.5 to 3 run "
      "spreads, 30 % lose 0.5 to 3.5, the rest do nothing. Progress is the true gain of the last "
      "incumbent over the first, in run spreads; \"recorded\" is what adding up the deciding "
      "measurements would claim.\n\n",
      campaigns);
  out +=
      "| noise | ideas | policy | false keeps | gains kept | gains missed | progress | recorded "
      "| runs |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const NoiseShape shape : kNoiseShapes) {
    for (const bool mixed : {false, true}) {
      for (const Policy policy : {Policy::kSingle, Policy::kPaired, Policy::kSequential}) {
        SimulatedPolicy simulated;
        simulated.policy = policy;
        CampaignModel model;
        model.noise = {shape, 1, shape == NoiseShape::kDrifting ? kSequentialDrift : 0};
        model.effects = mixed ? kMixedEffects : kNullMix;
        const CampaignFigures f = SimulateCampaigns(simulated, model, campaigns, kSeed);
        AppendFormat(out,
                     "| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:+.1f} | {:+.1f} | {:.0f} |\n",
                     NoiseShapeName(shape), mixed ? "mixed" : "nulls", PolicyName(policy),
                     f.null_keeps + f.loss_keeps, f.gain_keeps, f.gains - f.gain_keeps, f.progress,
                     f.claimed, f.runs);
      }
    }
  }
}

}  // namespace

std::string ErrorTables(std::uint32_t trials, std::uint32_t campaigns) {
  std::string out;
  AppendPaired(out, trials);
  AppendSequential(out, trials);
  AppendCampaigns(out, campaigns);
  return out;
}

}  // namespace pawl::measure
