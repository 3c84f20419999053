// Reading rows of the journal's tables.
#include <utility>

#include "base/text.h"
#include "campaign/journal_tables.h"

namespace pawl::campaign {

using store::Database;
using store::Statement;

namespace {

std::optional<double> OptionalReal(const Statement& row, int column) {
  return row.IsNull(column) ? std::nullopt : std::optional(row.Real(column));
}

}  // namespace

const char* const kSelectExperiments =
    "SELECT id, campaign, admitted_us, decided_us, commit_id, parent, incumbent, description, "
    "classification, source, expects, track, proposer, status, stage, best_before, candidate, "
    "improvement_pct, peak_vram_mb, quality, trust, level, run_dir, diff_sha256 FROM experiments ";

ExperimentRow ExperimentOf(const Statement& row) {
  ExperimentRow out;
  out.id = row.Int(0);
  out.campaign = row.Int(1);
  out.admitted_us = row.Int(2);
  out.decided_us = row.Int(3);
  out.commit = row.Text(4);
  out.parent = row.Text(5);
  out.incumbent = row.Text(6);
  out.description = row.Text(7);
  out.classification = row.Text(8);
  out.source = row.Text(9);
  out.expects = row.Text(10);
  out.track = row.Text(11);
  out.proposer = row.Text(12);
  out.status = row.Text(13);
  out.stage = row.Text(14);
  out.best_before = OptionalReal(row, 15);
  out.candidate = OptionalReal(row, 16);
  out.improvement_pct = OptionalReal(row, 17);
  out.peak_vram_mb = OptionalReal(row, 18);
  out.quality = row.Text(19);
  out.trust = row.Text(20);
  out.level = row.Text(21);
  out.run_dir = row.Text(22);
  out.diff_sha256 = row.Text(23);
  return out;
}

Result<std::vector<ExperimentRow>> AllExperiments(Statement& query) {
  std::vector<ExperimentRow> rows;
  while (true) {
    PAWL_ASSIGN(const bool row, query.Step());
    if (!row) return rows;
    rows.push_back(ExperimentOf(query));
  }
}

Result<ExperimentRow> ReadExperiment(Database& database, std::int64_t id) {
  PAWL_ASSIGN(Statement query, database.Prepare(std::string(kSelectExperiments) + "WHERE id = ?"));
  query.Bind(1, id);
  PAWL_ASSIGN(const bool row, query.Step());
  if (row) return ExperimentOf(query);
  return MakeError(Code::kNotFound, Format("there is no experiment {}", id),
                   "`pawl summary` lists the experiments");
}

Result<std::vector<CampaignRecord>> ReadCampaigns(Database& database, const std::string& where,
                                                  std::int64_t parameter) {
  PAWL_ASSIGN(Statement query,
              database.Prepare("SELECT c.id, c.branch, c.config_path, c.lane, c.project, "
                               "c.root_commit, c.state, c.opened_us, c.keeps, c.experiments, "
                               "c.baseline_value, c.opened_seq, c.baseline_seq, c.incumbent_seq, "
                               "coalesce(i.commit_id, ''), coalesce(i.value, 0) FROM campaigns c "
                               "LEFT JOIN incumbents i ON i.seq = c.incumbent_seq WHERE " +
                               where + " ORDER BY c.id"));
  query.Bind(1, parameter);
  std::vector<CampaignRecord> records;
  while (true) {
    PAWL_ASSIGN(const bool more, query.Step());
    if (!more) return records;
    CampaignRecord& record = records.emplace_back();
    record.row.id = query.Int(0);
    record.row.branch = query.Text(1);
    record.row.config_path = query.Text(2);
    record.row.lane = query.Text(3);
    record.row.project = query.Text(4);
    record.row.root_commit = query.Text(5);
    record.row.state = query.Text(6);
    record.row.opened_us = query.Int(7);
    record.row.keeps = query.Int(8);
    record.row.experiments = query.Int(9);
    record.row.baseline_value = query.Real(10);
    record.opened_seq = query.Int(11);
    record.baseline_seq = query.Int(12);
    record.incumbent_seq = query.Int(13);
    record.row.incumbent_commit = query.Text(14);
    record.row.incumbent_value = query.Real(15);
  }
}

Result<CampaignRecord> ReadCampaign(Database& database, std::int64_t id) {
  PAWL_ASSIGN(std::vector<CampaignRecord> found, ReadCampaigns(database, "c.id = ?1", id));
  if (!found.empty()) return std::move(found.front());
  return MakeError(Code::kNotFound, Format("there is no campaign {}", id));
}

const Json* IncumbentIn(const Json& body) {
  const Json* incumbent = body.Find("incumbent");
  return incumbent != nullptr && incumbent->AsObject() != nullptr ? incumbent : nullptr;
}

Result<IncumbentRecord> ReadIncumbent(Database& database, std::int64_t seq) {
  PAWL_ASSIGN(Statement query,
              database.Prepare("SELECT seq, time_us, experiment, commit_id, reason, value, "
                               "previous FROM incumbents WHERE seq = ?"));
  query.Bind(1, seq);
  PAWL_ASSIGN(const bool row, query.Step());
  if (!row) return MakeError(Code::kNotFound, Format("event {} set no incumbent", seq));
  IncumbentRecord record;
  record.row.seq = query.Int(0);
  record.row.time_us = query.Int(1);
  record.row.experiment = query.Int(2);
  record.row.commit = query.Text(3);
  record.row.reason = query.Text(4);
  record.row.value = query.Real(5);
  record.previous = query.Int(6);
  return record;
}

}  // namespace pawl::campaign
