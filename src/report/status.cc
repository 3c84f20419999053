#include "report/status.h"

#include <algorithm>
#include <cmath>

namespace pawl::report {

namespace {

Json ExperimentJson(const campaign::ExperimentRow& row) {
  JsonObject out{
      {"experiment", row.id},     {"commit", row.commit},        {"status", row.status},
      {"stage", row.stage},       {"class", row.classification}, {"description", row.description},
      {"source", row.source},     {"expects", row.expects},      {"track", row.track},
      {"proposer", row.proposer}, {"trust", row.trust},          {"isolation", row.level},
      {"quality", row.quality}};
  if (row.best_before) out["best_before"] = *row.best_before;
  if (row.candidate) out["candidate"] = *row.candidate;
  if (row.improvement_pct) out["improvement_pct"] = *row.improvement_pct;
  return out;
}

}  // namespace

Json LaneStatus::ToJson() const {
  JsonObject counts;
  for (const auto& [name, count] : verdicts) counts[name] = count;
  JsonArray rows;
  for (const campaign::ExperimentRow& row : recent) rows.push_back(ExperimentJson(row));
  return JsonObject{{"campaign", campaign.id},
                    {"lane", campaign.lane},
                    {"branch", campaign.branch},
                    {"config", campaign.config_path},
                    {"state", campaign.state},
                    {"protocol", protocol},
                    {"metric", metric},
                    {"direction", direction},
                    {"root_commit", campaign.root_commit},
                    {"incumbent_commit", campaign.incumbent_commit},
                    {"baseline_value", campaign.baseline_value},
                    {"incumbent_value", campaign.incumbent_value},
                    {"gain_pct", gain_pct},
                    {"shared_keeps", shared_keeps},
                    {"experiments", campaign.experiments},
                    {"keeps", campaign.keeps},
                    {"verdicts", std::move(counts)},
                    {"open", open ? ExperimentJson(*open) : Json()},
                    {"recent", std::move(rows)}};
}

Result<std::vector<LaneStatus>> ReadStatus(const campaign::Journal& journal, int recent) {
  PAWL_ASSIGN(std::vector<campaign::CampaignRow> campaigns, journal.Campaigns());
  PAWL_ASSIGN(const std::vector<campaign::ExperimentRow> open, journal.OpenExperiments());
  std::vector<LaneStatus> lanes;
  for (campaign::CampaignRow& row : campaigns) {
    if (row.state == "closed") continue;
    LaneStatus lane;
    lane.metric = row.opened.StringAt("metric");
    lane.direction = row.opened.StringAt("direction");
    lane.protocol = row.opened.StringAt("protocol");
    PAWL_ASSIGN(lane.verdicts, journal.VerdictCounts(row.id));
    PAWL_ASSIGN(lane.shared_keeps, journal.HasSharedKeep(row.id));
    PAWL_ASSIGN(lane.recent,
                journal.Experiments({.campaign = row.id, .status = {}, .limit = recent}));
    const auto mine = std::ranges::find(open, row.id, &campaign::ExperimentRow::campaign);
    if (mine != open.end()) lane.open = *mine;
    if (row.state == "baselined") {
      const double gain = lane.direction == "higher" ? row.incumbent_value - row.baseline_value
                                                     : row.baseline_value - row.incumbent_value;
      lane.gain_pct = 100 * gain / std::max(std::fabs(row.baseline_value), 1e-12);
    }
    lane.campaign = std::move(row);
    lanes.push_back(std::move(lane));
  }
  std::ranges::reverse(lanes);
  return lanes;
}

}  // namespace pawl::report
