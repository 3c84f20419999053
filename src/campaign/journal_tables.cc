#include "campaign/journal_tables.h"

#include <cmath>
#include <functional>
#include <utility>

#include "base/text.h"

namespace pawl::campaign {

using store::Database;
using store::Event;
using store::Statement;

namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE campaigns(
  id INTEGER PRIMARY KEY,
  branch TEXT NOT NULL,
  config_path TEXT NOT NULL,
  lane TEXT NOT NULL,
  project TEXT NOT NULL,
  root_commit TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN ('open', 'baselined', 'closed')),
  opened_us INTEGER NOT NULL,
  keeps INTEGER NOT NULL DEFAULT 0,
  experiments INTEGER NOT NULL DEFAULT 0,
  baseline_value REAL NOT NULL DEFAULT 0,
  opened_seq INTEGER NOT NULL,
  baseline_seq INTEGER NOT NULL DEFAULT 0,
  incumbent_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX campaigns_live ON campaigns(branch, config_path) WHERE state <> 'closed';
CREATE TABLE incumbents(
  seq INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL,
  time_us INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  commit_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  value REAL NOT NULL,
  previous INTEGER NOT NULL
) STRICT;
CREATE INDEX incumbents_by_campaign ON incumbents(campaign, seq);
CREATE TABLE experiments(
  id INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL,
  admitted_us INTEGER NOT NULL,
  decided_us INTEGER NOT NULL DEFAULT 0,
  commit_id TEXT NOT NULL,
  parent TEXT NOT NULL,
  incumbent TEXT NOT NULL,
  description TEXT NOT NULL,
  classification TEXT NOT NULL,
  source TEXT NOT NULL,
  expects TEXT NOT NULL,
  track TEXT NOT NULL,
  proposer TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'open',
  stage TEXT NOT NULL DEFAULT '',
  best_before REAL,
  candidate REAL,
  improvement_pct REAL,
  peak_vram_mb REAL,
  quality TEXT NOT NULL DEFAULT '',
  trust TEXT NOT NULL DEFAULT '',
  level TEXT NOT NULL DEFAULT '',
  run_dir TEXT NOT NULL,
  diff_sha256 TEXT NOT NULL,
  verdict_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX experiments_by_campaign ON experiments(campaign, id);
CREATE INDEX experiments_by_status ON experiments(campaign, status);
CREATE INDEX experiments_by_commit ON experiments(campaign, commit_id);
CREATE INDEX experiments_open ON experiments(id) WHERE status = 'open';
CREATE TABLE runs(
  experiment INTEGER NOT NULL,
  stage TEXT NOT NULL,
  number INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY(experiment, stage, number)
) STRICT, WITHOUT ROWID;
)sql";

Error Conflict(std::string message, std::string hint = {}) {
  return MakeError(Code::kConflict, std::move(message), std::move(hint));
}

Result<double> ObjectiveValue(const Json& body, std::string_view what) {
  const Json* member = body.Find("objective_value");
  const std::optional<double> value = member == nullptr ? std::nullopt : member->AsDouble();
  if (value && std::isfinite(*value)) return *value;
  return MakeError(Code::kInvalidArgument, Format("{} has no finite objective_value", what));
}

Status Execute(Database& database, std::string_view sql,
               const std::function<void(Statement&)>& bind) {
  PAWL_ASSIGN(Statement statement, database.Prepare(sql));
  bind(statement);
  return statement.Run();
}

Result<std::int64_t> Number(Database& database, std::string_view sql,
                            const std::function<void(Statement&)>& bind) {
  PAWL_ASSIGN(Statement statement, database.Prepare(sql));
  bind(statement);
  PAWL_ASSIGN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

void BindOptional(Statement& statement, int index, const Json& body, std::string_view key) {
  const Json* member = body.Find(key);
  const std::optional<double> value = member == nullptr ? std::nullopt : member->AsDouble();
  if (value) {
    statement.Bind(index, *value);
  } else {
    statement.BindNull(index);
  }
}

Result<ExperimentRow> OpenExperiment(Database& database, const Event& event) {
  PAWL_ASSIGN(ExperimentRow row, ReadExperiment(database, event.experiment));
  if (row.status == "open") return row;
  return Conflict(Format("experiment {} is decided already ({})", row.id, row.status));
}

Status RefuseWhileOpen(Database& database, std::int64_t campaign, std::string_view step) {
  PAWL_ASSIGN(const std::int64_t open,
              Number(database,
                     "SELECT count(*) FROM experiments WHERE campaign = ? AND "
                     "status = 'open'",
                     [&](Statement& s) { s.Bind(1, campaign); }));
  if (open == 0) return OkStatus();
  return Conflict(
      Format("{} is refused while {} experiment(s) of campaign {} are open", step, open, campaign));
}

Status SetIncumbent(Database& database, const Event& event, const IncumbentRecord& next) {
  PAWL_TRY(Execute(database,
                   "INSERT INTO incumbents(seq, campaign, time_us, experiment, commit_id, reason, "
                   "value, previous) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                   [&](Statement& s) {
                     s.Bind(1, event.seq).Bind(2, event.campaign).Bind(3, event.time_us);
                     s.Bind(4, event.experiment).Bind(5, next.row.commit).Bind(6, next.row.reason);
                     s.Bind(7, next.row.value).Bind(8, next.previous);
                   }));
  return Execute(database, "UPDATE campaigns SET incumbent_seq = ? WHERE id = ?",
                 [&](Statement& s) { s.Bind(1, event.seq).Bind(2, event.campaign); });
}

Status ApplyCampaignOpened(Database& database, const Event& event) {
  const Json& body = event.body;
  for (const char* key : {"branch", "config_path", "root_commit"}) {
    if (!body.StringAt(key).empty()) continue;
    return MakeError(Code::kInvalidArgument, Format("a campaign cannot be opened without {}", key));
  }
  const std::string branch = body.StringAt("branch");
  const std::string config = body.StringAt("config_path");
  PAWL_ASSIGN(const std::int64_t live,
              Number(database,
                     "SELECT id FROM campaigns WHERE branch = ? AND config_path = ? AND "
                     "state <> 'closed'",
                     [&](Statement& s) { s.Bind(1, branch).Bind(2, config); }));
  if (live != 0) {
    return MakeError(
        Code::kAlreadyExists,
        Format("campaign {} is live for branch {} and config {}", live, branch, config),
        "`pawl init --new-campaign` closes it and starts anew");
  }
  return Execute(database,
                 "INSERT INTO campaigns(id, branch, config_path, lane, project, root_commit, "
                 "state, opened_us, opened_seq) VALUES(?, ?, ?, ?, ?, ?, 'open', ?, ?)",
                 [&](Statement& s) {
                   s.Bind(1, event.campaign).Bind(2, branch).Bind(3, config);
                   s.Bind(4, body.StringAt("lane", Path(config).stem().string()));
                   s.Bind(5, body.StringAt("project")).Bind(6, body.StringAt("root_commit"));
                   s.Bind(7, event.time_us).Bind(8, event.seq);
                 });
}

Status ApplyCampaignClosed(Database& database, const Event& event) {
  PAWL_ASSIGN(const CampaignRecord campaign, ReadCampaign(database, event.campaign));
  if (campaign.row.state == "closed") {
    return Conflict(Format("campaign {} is closed already", event.campaign));
  }
  PAWL_TRY(RefuseWhileOpen(database, event.campaign, "closing"));
  return Execute(database, "UPDATE campaigns SET state = 'closed' WHERE id = ?",
                 [&](Statement& s) { s.Bind(1, event.campaign); });
}

// The first baseline makes the root commit the incumbent; a refresh measures the present one anew.
Status MeasureIncumbent(Database& database, const Event& event, const CampaignRecord& campaign) {
  const std::string& root = campaign.row.root_commit;
  const bool first = campaign.incumbent_seq == 0;
  const bool at_root = first || campaign.row.incumbent_commit == root;
  const Json* measured = IncumbentIn(event.body);
  if (measured == nullptr && at_root) measured = &event.body;
  if (measured == nullptr) return OkStatus();
  IncumbentRecord next;
  next.row.reason = first ? "baseline" : "refresh";
  next.row.commit = at_root ? root : campaign.row.incumbent_commit;
  PAWL_ASSIGN(next.row.value, ObjectiveValue(*measured, "the incumbent"));
  if (!first) {
    PAWL_ASSIGN(const IncumbentRecord present, ReadIncumbent(database, campaign.incumbent_seq));
    next.previous = present.previous;
  }
  return SetIncumbent(database, event, next);
}

Status ApplyBaseline(Database& database, const Event& event) {
  PAWL_ASSIGN(const CampaignRecord campaign, ReadCampaign(database, event.campaign));
  if (campaign.row.state == "closed") {
    return Conflict(Format("campaign {} is closed", event.campaign));
  }
  if (campaign.row.state == "baselined" && !event.body.BoolAt("refresh")) {
    return Conflict(Format("campaign {} has a baseline already", event.campaign),
                    "`pawl baseline --refresh` measures it again and keeps the history");
  }
  PAWL_TRY(RefuseWhileOpen(database, event.campaign, "a new baseline"));
  PAWL_ASSIGN(const double value, ObjectiveValue(event.body, "the baseline"));
  PAWL_TRY(
      Execute(database,
              "UPDATE campaigns SET state = 'baselined', baseline_value = ?, baseline_seq = ? "
              "WHERE id = ?",
              [&](Statement& s) { s.Bind(1, value).Bind(2, event.seq).Bind(3, event.campaign); }));
  return MeasureIncumbent(database, event, campaign);
}

Status CheckAdmission(Database& database, const Event& event) {
  PAWL_ASSIGN(const CampaignRecord campaign, ReadCampaign(database, event.campaign));
  if (campaign.row.state != "baselined") {
    return Conflict(Format("campaign {} has no baseline to judge against (it is {})",
                           event.campaign, campaign.row.state),
                    "run `pawl baseline`");
  }
  if (event.body.StringAt("incumbent") != campaign.row.incumbent_commit) {
    return Conflict(Format("the incumbent of campaign {} is {}, not {}", event.campaign,
                           campaign.row.incumbent_commit, event.body.StringAt("incumbent")));
  }
  const std::string commit = event.body.StringAt("commit");
  if (commit.empty()) {
    return MakeError(Code::kInvalidArgument, "an experiment cannot be admitted without a commit");
  }
  PAWL_ASSIGN(const std::int64_t open,
              Number(database,
                     "SELECT id FROM experiments WHERE campaign = ? AND commit_id = ? "
                     "AND status = 'open'",
                     [&](Statement& s) { s.Bind(1, event.campaign).Bind(2, commit); }));
  if (open == 0) return OkStatus();
  return Conflict(Format("experiment {} on commit {} is still open", open, commit));
}

Status ApplyAdmitted(Database& database, const Event& event) {
  PAWL_TRY(CheckAdmission(database, event));
  PAWL_TRY(Execute(database,
                   "INSERT INTO experiments(id, campaign, admitted_us, commit_id, parent, "
                   "incumbent, description, classification, source, expects, track, proposer, "
                   "run_dir, diff_sha256) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   [&](Statement& s) {
                     s.Bind(1, event.experiment).Bind(2, event.campaign).Bind(3, event.time_us);
                     int index = 4;
                     for (const char* key :
                          {"commit", "parent", "incumbent", "description", "classification",
                           "source", "expects", "track", "proposer", "run_dir", "diff_sha256"}) {
                       s.Bind(index++, event.body.StringAt(key));
                     }
                   }));
  return Execute(database, "UPDATE campaigns SET experiments = experiments + 1 WHERE id = ?",
                 [&](Statement& s) { s.Bind(1, event.campaign); });
}

Status SetStage(Database& database, const Event& event) {
  return Execute(database, "UPDATE experiments SET stage = ? WHERE id = ?", [&](Statement& s) {
    s.Bind(1, event.body.StringAt("stage")).Bind(2, event.experiment);
  });
}

Status ApplyStage(Database& database, const Event& event) {
  PAWL_TRY(OpenExperiment(database, event));
  return SetStage(database, event);
}

Status ApplyRun(Database& database, const Event& event) {
  PAWL_TRY(OpenExperiment(database, event));
  const std::string stage = event.body.StringAt("stage");
  const std::int64_t number = event.body.IntAt("index", -1);
  PAWL_ASSIGN(const std::int64_t next,
              Number(database, "SELECT count(*) FROM runs WHERE experiment = ? AND stage = ?",
                     [&](Statement& s) { s.Bind(1, event.experiment).Bind(2, stage); }));
  if (number != next) {
    return Conflict(
        Format("run {} of stage {} cannot be recorded in experiment {}: the next one "
               "is {}",
               number, stage, event.experiment, next));
  }
  PAWL_TRY(Execute(database, "INSERT INTO runs(experiment, stage, number, seq) VALUES(?, ?, ?, ?)",
                   [&](Statement& s) {
                     s.Bind(1, event.experiment).Bind(2, stage).Bind(3, number).Bind(4, event.seq);
                   }));
  return SetStage(database, event);
}

Status ApplyVerdict(Database& database, const Event& event) {
  PAWL_ASSIGN(const ExperimentRow experiment, OpenExperiment(database, event));
  const std::string verdict = event.body.StringAt("verdict");
  const std::optional<VerdictKind> kind = ParseVerdict(verdict);
  if (!kind) return MakeError(Code::kInvalidArgument, Format("there is no verdict `{}`", verdict));
  if (*kind == VerdictKind::kKeep) {
    PAWL_ASSIGN(const CampaignRecord campaign, ReadCampaign(database, experiment.campaign));
    if (campaign.row.incumbent_commit != experiment.incumbent) {
      return Conflict(Format("experiment {} was measured against {}, but the incumbent is {} now",
                             experiment.id, experiment.incumbent, campaign.row.incumbent_commit));
    }
    PAWL_TRY(Execute(database, "UPDATE campaigns SET keeps = keeps + 1 WHERE id = ?",
                     [&](Statement& s) { s.Bind(1, experiment.campaign); }));
  }
  return Execute(database,
                 "UPDATE experiments SET status = ?, decided_us = ?, trust = ?, level = ?, "
                 "quality = ?, best_before = ?, candidate = ?, improvement_pct = ?, "
                 "peak_vram_mb = ?, verdict_seq = ? WHERE id = ?",
                 [&](Statement& s) {
                   s.Bind(1, verdict).Bind(2, event.time_us).Bind(3, event.body.StringAt("trust"));
                   s.Bind(4, event.body.StringAt("level"));
                   s.Bind(5, event.body.StringAt("quality"));
                   BindOptional(s, 6, event.body, "best_before");
                   BindOptional(s, 7, event.body, "candidate");
                   BindOptional(s, 8, event.body, "improvement_pct");
                   BindOptional(s, 9, event.body, "peak_vram_mb");
                   s.Bind(10, event.seq).Bind(11, event.experiment);
                 });
}

// What the incumbent `to` stands on. Stepping back to an earlier one (undo) takes over what that
// one stood on, so that undo can be repeated down to the root; anything else stands on the present
// one.
Result<std::int64_t> PreviousOf(Database& database, std::int64_t present, const std::string& to) {
  for (std::int64_t seq = present; seq != 0;) {
    PAWL_ASSIGN(const IncumbentRecord one, ReadIncumbent(database, seq));
    if (one.row.commit == to) return one.previous;
    seq = one.previous;
  }
  return present;
}

Status ApplyIncumbentMoved(Database& database, const Event& event) {
  PAWL_ASSIGN(const CampaignRecord campaign, ReadCampaign(database, event.campaign));
  const std::string from = event.body.StringAt("from");
  if (campaign.row.state != "baselined" || campaign.row.incumbent_commit != from) {
    return Conflict(Format("the incumbent of campaign {} is {}, not {}", event.campaign,
                           campaign.row.incumbent_commit.empty() ? std::string("not set")
                                                                 : campaign.row.incumbent_commit,
                           from));
  }
  IncumbentRecord next;
  next.row.commit = event.body.StringAt("to");
  next.row.reason = event.body.StringAt("reason");
  if (next.row.commit.empty()) {
    return MakeError(Code::kInvalidArgument, "the incumbent cannot move to no commit");
  }
  const Json* measured = IncumbentIn(event.body);
  PAWL_ASSIGN(next.row.value,
              ObjectiveValue(measured == nullptr ? Json() : *measured, "the new incumbent"));
  PAWL_ASSIGN(next.previous, PreviousOf(database, campaign.incumbent_seq, next.row.commit));
  return SetIncumbent(database, event, next);
}

Status ApplyNote(Database&, const Event&) {
  return OkStatus();
}

struct Step {
  std::string_view kind;
  Status (*apply)(Database&, const Event&);
};
constexpr Step kSteps[] = {
    {event_kind::kCampaignOpened, ApplyCampaignOpened},
    {event_kind::kCampaignClosed, ApplyCampaignClosed},
    {event_kind::kBaselineRecorded, ApplyBaseline},
    {event_kind::kExperimentAdmitted, ApplyAdmitted},
    {event_kind::kExperimentStage, ApplyStage},
    {event_kind::kRunRecorded, ApplyRun},
    {event_kind::kVerdict, ApplyVerdict},
    {event_kind::kIncumbentMoved, ApplyIncumbentMoved},
    {event_kind::kNote, ApplyNote},
};

}  // namespace

Status JournalTables::CreateTables(Database& database) {
  return database.Execute(kSchema);
}

Status JournalTables::Apply(Database& database, const Event& event) {
  for (const Step& step : kSteps) {
    if (step.kind == event.kind) return step.apply(database, event);
  }
  return MakeError(Code::kUnsupported,
                   Format("event {} is of the unknown kind `{}`", event.seq, event.kind),
                   "use the newer Pawl that wrote it");
}

}  // namespace pawl::campaign
