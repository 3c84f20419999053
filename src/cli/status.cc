#include "report/status.h"

#include "base/text.h"
#include "cli/session.h"

namespace pawl::cli {

namespace {

void PrintLane(Context& context, const report::LaneStatus& lane) {
  const campaign::CampaignRow& row = lane.campaign;
  context.Print(Format("{}  {} on {}  ({}, {} {})", context.out.Paint(Tone::kBold, row.lane),
                       PrintableLine(row.project), PrintableLine(row.branch), lane.protocol,
                       lane.metric, lane.direction));
  if (row.state == "open") {
    context.Print(Format("  no baseline yet; next: {} baseline", context.program));
    return;
  }
  context.Print(Format("  baseline  {}  {} = {}", row.root_commit.substr(0, 7), lane.metric,
                       FormatG(row.baseline_value)));
  context.Print(Format("  incumbent {}  {} = {}  ({:+.2f} % by recorded values{})",
                       row.incumbent_commit.substr(0, 7), lane.metric, FormatG(row.incumbent_value),
                       lane.gain_pct, lane.shared_keeps ? "; some under trust shared" : ""));
  std::string counts;
  for (const auto& [name, count] : lane.verdicts) {
    AppendFormat(counts, "{}{} {}", counts.empty() ? "" : ", ", count, name);
  }
  context.Print(
      Format("  experiments {}{}{}", row.experiments, counts.empty() ? "" : ": ", counts));
  for (const campaign::ExperimentRow& experiment : lane.recent) {
    context.Print(Format("    #{:<4} {:20} {} {}", experiment.id, experiment.status,
                         experiment.commit.substr(0, 7),
                         PrintableLine(experiment.description, 80)));
  }
  if (lane.open) {
    context.Print(Format("  open: #{} at stage {}", lane.open->id, lane.open->stage));
  }
}

}  // namespace

Result<int> RunStatus(Context& context, const Arguments& /*arguments*/) {
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  PAWL_ASSIGN(const campaign::Journal journal,
              campaign::Journal::OpenReader(loaded.config.state_dir));
  constexpr int kRecent = 5;
  PAWL_ASSIGN(const std::vector<report::LaneStatus> lanes, report::ReadStatus(journal, kRecent));
  if (lanes.empty()) context.Print(Format("No open campaign; next: {} init", context.program));
  JsonArray documents;
  for (const report::LaneStatus& lane : lanes) {
    PrintLane(context, lane);
    documents.push_back(lane.ToJson());
  }
  context.PrintJson(JsonObject{{"lanes", std::move(documents)}});
  return kExitOk;
}

}  // namespace pawl::cli
