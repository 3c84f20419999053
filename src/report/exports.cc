#include "report/exports.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "os/files.h"

namespace pawl::report {

using campaign::CampaignRow;
using campaign::ExperimentRow;

namespace {

// A field as Python's csv module writes it with tabs: quoted only when it must be.
std::string TsvField(std::string_view text) {
  if (text.find_first_of("\t\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// Free text from outside: one field on one line, with nothing in it that a terminal obeys.
std::string Words(std::string_view text) {
  return PrintableLine(text, 2000);
}

std::string Number(const std::optional<double>& value) {
  return value ? FormatDouble(*value) : std::string();
}

std::string TsvLine(std::span<const std::string> fields) {
  std::vector<std::string> quoted;
  quoted.reserve(fields.size());
  for (const std::string& field : fields) quoted.push_back(TsvField(field));
  return Join(quoted, "\t") + "\r\n";
}

// Rows that a dit-ar installation had written here before the first campaign: an artifact that the
// first campaign names. They stay on top, word for word.
Result<std::string> ImportedRows(const campaign::Journal& journal,
                                 std::span<const CampaignRow> campaigns) {
  for (const CampaignRow& row : campaigns) {
    const std::string name = row.opened.StringAt("imported_results_sha256");
    if (const auto hash = Sha256::FromHex(name)) return journal.artifacts().Get(*hash);
  }
  return std::string();
}

Status WriteIfChanged(const os::Path& path, std::string_view bytes) {
  os::ReadOptions limits;
  limits.max_bytes = bytes.size() + 1;
  if (const Result<std::string> present = os::ReadFile(path, limits);
      present.ok() && *present == bytes) {
    return OkStatus();
  }
  PAWL_TRY(os::MakeFolders(path.parent_path()));
  return os::WriteFileAtomic(path, bytes, {.mode = 0644, .durable = false});
}

std::string SessionJson(const CampaignRow& row) {
  return Json(JsonObject{{"branch", row.branch},
                         {"initialized_at", IsoUtc(row.opened_us)},
                         {"project", row.project},
                         {"start_commit", row.root_commit}})
      .Pretty();
}

std::string BestJson(const CampaignRow& row) {
  return Json(
             JsonObject{{"commit", row.incumbent_commit},
                        {"objective_metric", row.opened.StringAt("metric")},
                        {"objective_value", row.incumbent_value},
                        {"perf", row.incumbent.Find("perf") ? *row.incumbent.Find("perf") : Json()},
                        {"quality",
                         row.incumbent.Find("quality") ? *row.incumbent.Find("quality") : Json()},
                        {"run_dir", row.incumbent.StringAt("run_dir")}})
      .Pretty();
}

Status WriteLane(const CampaignRow& row, const os::Path& folder) {
  PAWL_TRY(WriteIfChanged(folder / "session.json", SessionJson(row)));
  if (const Json* hashes = row.opened.Find("fixed_hashes")) {
    PAWL_TRY(WriteIfChanged(folder / "fixed_hashes.json", hashes->Pretty()));
  }
  if (row.state != "baselined") return OkStatus();
  PAWL_TRY(WriteIfChanged(folder / "best.json", BestJson(row)));
  for (const char* name : {"perf", "quality", "environment", "commands"}) {
    if (const Json* content = row.baseline.Find(name)) {
      PAWL_TRY(
          WriteIfChanged(folder / "baseline" / (std::string(name) + ".json"), content->Pretty()));
    }
  }
  return OkStatus();
}

}  // namespace

std::string ResultsTsvHeading() {
  static const std::vector<std::string> columns = {"timestamp_utc", "commit",    "parent",
                                                   "status",        "class",     "objective_metric",
                                                   "best_before",   "candidate", "improvement_pct",
                                                   "peak_vram_mb",  "quality",   "description",
                                                   "run_dir",       "campaign",  "experiment",
                                                   "trust",         "isolation", "source",
                                                   "expects",       "track",     "proposer"};
  return TsvLine(columns);
}

std::string ResultsTsvRow(const CampaignRow& campaign, const ExperimentRow& row) {
  const std::vector<std::string> fields = {IsoUtc(row.decided_us),
                                           row.commit.substr(0, 7),
                                           row.parent.substr(0, 7),
                                           row.status,
                                           row.classification,
                                           campaign.opened.StringAt("metric"),
                                           Number(row.best_before),
                                           Number(row.candidate),
                                           Number(row.improvement_pct),
                                           Number(row.peak_vram_mb),
                                           Words(row.quality),
                                           Words(row.description),
                                           Words(row.run_dir),
                                           Format("{}:{}", campaign.id, campaign.lane),
                                           Format("{}", row.id),
                                           row.trust,
                                           row.level,
                                           Words(row.source),
                                           Words(row.expects),
                                           Words(row.track),
                                           Words(row.proposer)};
  return TsvLine(fields);
}

Status WriteExports(const campaign::Journal& journal, const campaign::Config& config) {
  PAWL_ASSIGN(const std::vector<CampaignRow> campaigns, journal.Campaigns());
  std::string table = ResultsTsvHeading();
  PAWL_ASSIGN(const std::string imported, ImportedRows(journal, campaigns));
  table += imported;
  PAWL_ASSIGN(const std::vector<ExperimentRow> experiments, journal.Experiments({}));
  for (const ExperimentRow& row : experiments) {
    if (row.status == "open") continue;
    const auto owner = std::ranges::find(campaigns, row.campaign, &CampaignRow::id);
    if (owner != campaigns.end()) table += ResultsTsvRow(*owner, row);
  }
  PAWL_TRY(WriteIfChanged(config.results_tsv, table));

  // The lane that was opened first in this folder has dit-ar's places for as long as it is open.
  const auto first =
      std::ranges::find_if(campaigns, [](const CampaignRow& row) { return row.state != "closed"; });
  for (const CampaignRow& row : campaigns) {
    if (row.state == "closed") continue;
    const bool compat_place = &row == &*first;
    PAWL_TRY(
        WriteLane(row, compat_place ? config.state_dir : config.state_dir / "lanes" / row.lane));
  }
  return OkStatus();
}

}  // namespace pawl::report
