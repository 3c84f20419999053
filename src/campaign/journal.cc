#include "campaign/journal.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "campaign/journal_references.h"
#include "campaign/journal_tables.h"

namespace pawl::campaign {

using store::NewEvent;
using store::Statement;

namespace {

struct VerdictWord {
  VerdictKind kind;
  std::string_view name;
};
constexpr VerdictWord kVerdicts[] = {
    {VerdictKind::kKeep, "keep"},
    {VerdictKind::kDiscardPerformance, "discard-performance"},
    {VerdictKind::kDiscardQuality, "discard-quality"},
    {VerdictKind::kDiscardScope, "discard-scope"},
    {VerdictKind::kDiscardHarness, "discard-harness"},
    {VerdictKind::kDiscardInvalid, "discard-invalid"},
    {VerdictKind::kCrash, "crash"},
    {VerdictKind::kTimeout, "timeout"},
    {VerdictKind::kOutOfMemory, "out-of-memory"},
    {VerdictKind::kInterrupted, "interrupted"},
    {VerdictKind::kInfraFail, "infra-fail"},
};

Json Optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json RunBody(const RunRecord& run) {
  return JsonObject{{"stage", run.stage},
                    {"index", run.index},
                    {"command", run.command},
                    {"outcome", run.outcome},
                    {"log_sha256", run.log_sha256},
                    {"perf_sha256", run.perf_sha256},
                    {"quality_sha256", run.quality_sha256},
                    {"seed", run.seed}};
}

RunRecord RunOf(const Json& body) {
  RunRecord run;
  run.stage = body.StringAt("stage");
  run.index = static_cast<int>(body.IntAt("index"));
  run.command = body.StringAt("command");
  if (const Json* outcome = body.Find("outcome")) run.outcome = *outcome;
  run.log_sha256 = body.StringAt("log_sha256");
  run.perf_sha256 = body.StringAt("perf_sha256");
  run.quality_sha256 = body.StringAt("quality_sha256");
  run.seed = body.StringAt("seed");
  return run;
}

Json AdmissionBody(const Journal::Admission& admission) {
  return JsonObject{{"commit", admission.commit.hex},
                    {"parent", admission.parent.hex},
                    {"incumbent", admission.incumbent.hex},
                    {"description", admission.description},
                    {"classification", admission.classification},
                    {"source", admission.source},
                    {"expects", admission.expects},
                    {"track", admission.track},
                    {"proposer", admission.proposer},
                    {"run_dir", admission.run_dir},
                    {"diff_sha256", admission.diff_sha256},
                    {"facts", admission.facts}};
}

Json VerdictBody(const Journal::Decision& decision) {
  return JsonObject{{"verdict", VerdictName(decision.kind)},
                    {"trust", TrustName(decision.trust)},
                    {"level", decision.level},
                    {"best_before", Optional(decision.best_before)},
                    {"candidate", Optional(decision.candidate)},
                    {"improvement_pct", Optional(decision.improvement_pct)},
                    {"peak_vram_mb", Optional(decision.peak_vram_mb)},
                    {"quality", decision.quality},
                    {"evidence", decision.evidence}};
}

std::string LockNote() {
  return Format("pawl, process {}, since {}\n", ::getpid(), IsoUtc(UnixMicros()));
}

}  // namespace

std::string_view VerdictName(VerdictKind kind) {
  for (const VerdictWord& word : kVerdicts) {
    if (word.kind == kind) return word.name;
  }
  return "infra-fail";
}

std::optional<VerdictKind> ParseVerdict(std::string_view name) {
  for (const VerdictWord& word : kVerdicts) {
    if (word.name == name) return word.kind;
  }
  return std::nullopt;
}

std::string_view TrustName(Trust trust) {
  return trust == Trust::kSeparate ? "separate" : "shared";
}

struct Journal::Impl {
  std::optional<os::FileLock> lock;  // a writer's
  std::optional<store::Artifacts> artifacts;
  JournalTables tables;
  std::optional<store::Ledger> ledger;
  std::vector<NewEvent> waiting;

  store::Database& database() { return ledger->database(); }

  Result<std::int64_t> NextId(const char* table) {
    PAWL_ASSIGN(Statement query,
                database().Prepare(Format("SELECT coalesce(max(id), 0) + 1 FROM {}", table)));
    PAWL_TRY(query.Step());
    return query.Int(0);
  }

  // What waits and then these, in one transaction. When it fails, what waited goes on waiting.
  Status CommitEvents(std::vector<NewEvent> events) {
    PAWL_CHECK(lock.has_value());
    std::vector<NewEvent> all = waiting;
    std::move(events.begin(), events.end(), std::back_inserter(all));
    PAWL_TRY(artifacts->Flush());
    PAWL_TRY(ledger->Append(all));
    waiting.clear();
    return OkStatus();
  }

  Status Record(NewEvent event, Commit commit) {
    if (commit == Commit::kNow) return CommitEvents({std::move(event)});
    PAWL_CHECK(lock.has_value());
    event.time_us = UnixMicros();
    std::vector<NewEvent> all = waiting;
    all.push_back(std::move(event));
    PAWL_TRY(ledger->Rehearse(all));
    waiting = std::move(all);
    return OkStatus();
  }

  Result<CampaignRow> Whole(CampaignRecord record) {
    PAWL_ASSIGN(store::Event opened, ledger->At(record.opened_seq));
    record.row.opened = std::move(opened.body);
    if (record.baseline_seq != 0) {
      PAWL_ASSIGN(store::Event baseline, ledger->At(record.baseline_seq));
      record.row.baseline = std::move(baseline.body);
    }
    if (record.incumbent_seq != 0) {
      PAWL_ASSIGN(record.row.incumbent, IncumbentBody(record.incumbent_seq));
    }
    return std::move(record.row);
  }

  Result<Json> IncumbentBody(std::int64_t seq) {
    PAWL_ASSIGN(store::Event event, ledger->At(seq));
    const Json* incumbent = IncumbentIn(event.body);
    return incumbent == nullptr ? std::move(event.body) : Json(*incumbent);
  }

  Result<std::vector<CampaignRow>> WholeCampaigns(const std::string& where) {
    PAWL_ASSIGN(std::vector<CampaignRecord> records, ReadCampaigns(database(), where, 0));
    std::vector<CampaignRow> rows;
    for (CampaignRecord& record : records) {
      PAWL_ASSIGN(CampaignRow row, Whole(std::move(record)));
      rows.push_back(std::move(row));
    }
    return rows;
  }
};

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() = default;
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;

Path Journal::LedgerPath(const Path& state_dir) {
  return state_dir / "pawl.sqlite3";
}
Path Journal::ObjectsPath(const Path& state_dir) {
  return state_dir / "objects";
}
Path Journal::LockPath(const Path& state_dir) {
  return state_dir / "pawl.lock";
}

Result<Journal> Journal::OpenWriter(const Path& state_dir) {
  PAWL_TRY(os::MakeFolders(state_dir));
  auto impl = std::make_unique<Impl>();
  PAWL_ASSIGN(impl->lock, os::FileLock::Acquire(LockPath(state_dir), LockNote()));
  PAWL_ASSIGN(impl->artifacts, store::Artifacts::Open(ObjectsPath(state_dir)));
  const bool made = !os::Exists(LedgerPath(state_dir));
  PAWL_ASSIGN(impl->ledger,
              store::Ledger::Open(LedgerPath(state_dir), store::OpenMode::kCreate, &impl->tables));
  if (made) PAWL_TRY(os::SyncFolder(state_dir));
  return Journal(std::move(impl));
}

Result<Journal> Journal::OpenReader(const Path& state_dir) {
  auto impl = std::make_unique<Impl>();
  PAWL_ASSIGN(impl->artifacts,
              store::Artifacts::Open(ObjectsPath(state_dir), store::OpenMode::kReadOnly));
  Result<store::Ledger> ledger =
      store::Ledger::Open(LedgerPath(state_dir), store::OpenMode::kReadOnly, &impl->tables);
  if (!ledger.ok() && ledger.error().code == Code::kNotFound) {
    return MakeError(Code::kNotFound, Format("no campaign was started in {}", state_dir.string()),
                     "run `pawl init`");
  }
  PAWL_ASSIGN(impl->ledger, std::move(ledger));
  return Journal(std::move(impl));
}

Result<std::int64_t> Journal::OpenCampaign(const Json& body, std::int64_t replaces) {
  PAWL_ASSIGN(const std::int64_t id, impl_->NextId("campaigns"));
  std::vector<NewEvent> events;
  if (replaces != 0) {
    events.push_back({.kind = event_kind::kCampaignClosed,
                      .campaign = replaces,
                      .body = JsonObject{{"reason", Format("replaced by campaign {}", id)}}});
  }
  events.push_back({.kind = event_kind::kCampaignOpened, .campaign = id, .body = body});
  PAWL_TRY(impl_->CommitEvents(std::move(events)));
  return id;
}

Status Journal::CloseCampaign(std::int64_t campaign, std::string_view reason) {
  return impl_->CommitEvents({{.kind = event_kind::kCampaignClosed,
                               .campaign = campaign,
                               .body = JsonObject{{"reason", reason}}}});
}

Status Journal::RecordBaseline(std::int64_t campaign, const Json& body) {
  return impl_->CommitEvents(
      {{.kind = event_kind::kBaselineRecorded, .campaign = campaign, .body = body}});
}

Result<std::int64_t> Journal::Admit(const Admission& admission) {
  PAWL_ASSIGN(const std::int64_t id, impl_->NextId("experiments"));
  PAWL_TRY(impl_->CommitEvents({{.kind = event_kind::kExperimentAdmitted,
                                 .campaign = admission.campaign,
                                 .experiment = id,
                                 .body = AdmissionBody(admission)}}));
  return id;
}

Status Journal::RecordStage(std::int64_t experiment, std::string_view stage, Commit commit) {
  PAWL_ASSIGN(const ExperimentRow row, GetExperiment(experiment));
  return impl_->Record({.kind = event_kind::kExperimentStage,
                        .campaign = row.campaign,
                        .experiment = experiment,
                        .body = JsonObject{{"stage", stage}}},
                       commit);
}

Status Journal::RecordRun(std::int64_t experiment, const RunRecord& run, Commit commit) {
  PAWL_ASSIGN(const ExperimentRow row, GetExperiment(experiment));
  return impl_->Record({.kind = event_kind::kRunRecorded,
                        .campaign = row.campaign,
                        .experiment = experiment,
                        .body = RunBody(run)},
                       commit);
}

Status Journal::Flush() {
  return impl_->waiting.empty() ? OkStatus() : impl_->CommitEvents({});
}

Status Journal::Decide(const Decision& decision) {
  PAWL_ASSIGN(const ExperimentRow row, GetExperiment(decision.experiment));
  std::vector<NewEvent> events;
  events.push_back({.kind = event_kind::kVerdict,
                    .campaign = row.campaign,
                    .experiment = row.id,
                    .body = VerdictBody(decision)});
  if (decision.kind == VerdictKind::kKeep) {
    JsonObject incumbent;
    if (const JsonObject* given = decision.incumbent.AsObject()) incumbent = *given;
    if (!incumbent.contains("objective_value")) {
      incumbent["objective_value"] = Optional(decision.candidate);
    }
    events.push_back({.kind = event_kind::kIncumbentMoved,
                      .campaign = row.campaign,
                      .experiment = row.id,
                      .body = JsonObject{{"from", row.incumbent},
                                         {"to", row.commit},
                                         {"reason", "keep"},
                                         {"incumbent", std::move(incumbent)}}});
  }
  return impl_->CommitEvents(std::move(events));
}

Status Journal::MoveIncumbent(std::int64_t campaign, const CommitId& from, const CommitId& to,
                              std::string_view reason, const Json& incumbent) {
  return impl_->CommitEvents(
      {{.kind = event_kind::kIncumbentMoved,
        .campaign = campaign,
        .body = JsonObject{
            {"from", from.hex}, {"to", to.hex}, {"reason", reason}, {"incumbent", incumbent}}}});
}

Status Journal::Note(std::int64_t campaign, std::int64_t experiment, std::string_view text) {
  return impl_->CommitEvents({{.kind = event_kind::kNote,
                               .campaign = campaign,
                               .experiment = experiment,
                               .body = JsonObject{{"text", text}}}});
}

Result<std::optional<CampaignRow>> Journal::FindCampaign(std::string_view branch,
                                                         std::string_view config_path) const {
  PAWL_ASSIGN(Statement query,
              impl_->database().Prepare("SELECT id FROM campaigns WHERE branch = ? AND "
                                        "config_path = ? AND state <> 'closed'"));
  query.Bind(1, branch).Bind(2, config_path);
  PAWL_ASSIGN(const bool found, query.Step());
  if (!found) return std::optional<CampaignRow>();
  PAWL_ASSIGN(CampaignRow row, GetCampaign(query.Int(0)));
  return std::optional(std::move(row));
}

Result<std::vector<CampaignRow>> Journal::Campaigns() const {
  return impl_->WholeCampaigns("c.id > ?1");
}

Result<CampaignRow> Journal::GetCampaign(std::int64_t id) const {
  PAWL_ASSIGN(CampaignRecord record, ReadCampaign(impl_->database(), id));
  return impl_->Whole(std::move(record));
}

Result<std::vector<ExperimentRow>> Journal::Experiments(const ExperimentFilter& filter) const {
  std::string sql = std::string(kSelectExperiments) + "WHERE id > 0";
  if (filter.campaign) sql += " AND campaign = ?1";
  if (filter.status) sql += " AND status = ?2";
  sql += filter.limit > 0 ? " ORDER BY id DESC LIMIT ?3" : " ORDER BY id";
  PAWL_ASSIGN(Statement query, impl_->database().Prepare(sql));
  if (filter.campaign) query.Bind(1, *filter.campaign);
  if (filter.status) query.Bind(2, *filter.status);
  if (filter.limit > 0) query.Bind(3, filter.limit);
  PAWL_ASSIGN(std::vector<ExperimentRow> rows, AllExperiments(query));
  if (filter.limit > 0) std::reverse(rows.begin(), rows.end());
  return rows;
}

Result<ExperimentRow> Journal::GetExperiment(std::int64_t id) const {
  return ReadExperiment(impl_->database(), id);
}

Result<std::map<std::string, std::int64_t>> Journal::VerdictCounts(std::int64_t campaign) const {
  PAWL_ASSIGN(Statement query,
              impl_->database().Prepare("SELECT status, count(*) FROM experiments WHERE campaign "
                                        "= ? AND status <> 'open' GROUP BY status"));
  query.Bind(1, campaign);
  std::map<std::string, std::int64_t> counts;
  while (true) {
    PAWL_ASSIGN(const bool row, query.Step());
    if (!row) return counts;
    counts[query.Text(0)] = query.Int(1);
  }
}

Result<bool> Journal::HasSharedKeep(std::int64_t campaign) const {
  PAWL_ASSIGN(const CampaignRecord record, ReadCampaign(impl_->database(), campaign));
  // A keep that was undone does not stand: only what the present incumbent stands on counts.
  for (std::int64_t seq = record.incumbent_seq; seq != 0;) {
    PAWL_ASSIGN(const IncumbentRecord one, ReadIncumbent(impl_->database(), seq));
    PAWL_ASSIGN(const std::vector<ExperimentRow> keeps, AttemptsOn(campaign, {one.row.commit}));
    const bool shared = std::ranges::any_of(keeps, [](const ExperimentRow& row) {
      return row.status == "keep" && row.trust == "shared";
    });
    if (shared) return true;
    seq = one.previous;
  }
  return false;
}

Result<std::vector<RunRecord>> Journal::Runs(std::int64_t experiment) const {
  std::vector<RunRecord> runs;
  const store::EventFilter filter{.experiment = experiment, .kind = event_kind::kRunRecorded};
  PAWL_TRY(impl_->ledger->ForEach(filter, [&](const store::Event& event) {
    runs.push_back(RunOf(event.body));
    return OkStatus();
  }));
  return runs;
}

Result<Json> Journal::Evidence(std::int64_t experiment) const {
  PAWL_ASSIGN(Statement query,
              impl_->database().Prepare("SELECT verdict_seq FROM experiments WHERE id = ?"));
  query.Bind(1, experiment);
  PAWL_ASSIGN(const bool row, query.Step());
  if (!row || query.Int(0) == 0) {
    return MakeError(Code::kNotFound, Format("experiment {} has no verdict", experiment));
  }
  PAWL_ASSIGN(store::Event event, impl_->ledger->At(query.Int(0)));
  return std::move(event.body);
}

Result<std::vector<ExperimentRow>> Journal::OpenExperiments() const {
  PAWL_ASSIGN(Statement query, impl_->database().Prepare(std::string(kSelectExperiments) +
                                                         "WHERE status = 'open' ORDER BY id"));
  return AllExperiments(query);
}

Result<std::vector<ExperimentRow>> Journal::AttemptsOn(std::int64_t campaign,
                                                       const CommitId& commit) const {
  PAWL_ASSIGN(Statement query,
              impl_->database().Prepare(std::string(kSelectExperiments) +
                                        "WHERE campaign = ? AND commit_id = ? ORDER BY id"));
  query.Bind(1, campaign).Bind(2, commit.hex);
  return AllExperiments(query);
}

Result<std::optional<IncumbentRow>> Journal::PreviousIncumbent(std::int64_t campaign) const {
  PAWL_ASSIGN(const CampaignRecord record, ReadCampaign(impl_->database(), campaign));
  if (record.incumbent_seq == 0) return std::optional<IncumbentRow>();
  PAWL_ASSIGN(const IncumbentRecord present,
              ReadIncumbent(impl_->database(), record.incumbent_seq));
  if (present.previous == 0) return std::optional<IncumbentRow>();
  PAWL_ASSIGN(IncumbentRecord previous, ReadIncumbent(impl_->database(), present.previous));
  PAWL_ASSIGN(previous.row.body, impl_->IncumbentBody(present.previous));
  return std::optional(std::move(previous.row));
}

Result<std::vector<IncumbentRow>> Journal::IncumbentHistory(std::int64_t campaign) const {
  PAWL_ASSIGN(Statement query,
              impl_->database().Prepare("SELECT seq FROM incumbents WHERE campaign = ? ORDER BY "
                                        "seq"));
  query.Bind(1, campaign);
  std::vector<IncumbentRow> rows;
  while (true) {
    PAWL_ASSIGN(const bool more, query.Step());
    if (!more) return rows;
    PAWL_ASSIGN(IncumbentRecord record, ReadIncumbent(impl_->database(), query.Int(0)));
    PAWL_ASSIGN(record.row.body, impl_->IncumbentBody(record.row.seq));
    rows.push_back(std::move(record.row));
  }
}

Result<std::vector<Sha256>> Journal::ReferencedArtifacts() const {
  std::set<Sha256> hashes;
  std::set<Sha256> indexes;
  std::set<Sha256> locks;
  PAWL_TRY(impl_->ledger->ForEach({}, [&](const store::Event& event) {
    const std::string text = event.body.Compact();
    CollectMentionedHashes(text, hashes);
    if (event.kind != event_kind::kCampaignOpened) return OkStatus();
    CollectMentionedHashes(text, indexes);
    const auto lock = Sha256::FromHex(event.body.StringAt("lock_sha256"));
    if (lock) locks.insert(*lock);
    return OkStatus();
  }));
  for (const Sha256& index : indexes) {
    // Some of them are hashes of files that were never stored, such as the locked data's. Without a
    // lock nobody knows any more what it named.
    if (!impl_->artifacts->Contains(index) && !locks.contains(index)) continue;
    PAWL_ASSIGN(const std::string text, impl_->artifacts->Get(index));
    CollectMentionedHashes(text, hashes);
  }
  return std::vector<Sha256>(hashes.begin(), hashes.end());
}

Result<std::vector<Sha256>> Journal::RequiredArtifacts() const {
  std::set<Sha256> hashes;
  std::set<Sha256> locks;
  PAWL_TRY(impl_->ledger->ForEach({}, [&](const store::Event& event) {
    CollectNamedHashes(event.body, hashes);
    if (const Json* incumbent = IncumbentIn(event.body)) CollectNamedHashes(*incumbent, hashes);
    const auto lock = Sha256::FromHex(event.body.StringAt("lock_sha256"));
    if (event.kind == event_kind::kCampaignOpened && lock) locks.insert(*lock);
    return OkStatus();
  }));
  for (const Sha256& lock : locks) {
    // A lock that cannot be read is missed under its own name.
    const Result<std::string> text = impl_->artifacts->Get(lock);
    if (text.ok()) PAWL_TRY(CollectSnapshot(*text, hashes));
  }
  return std::vector<Sha256>(hashes.begin(), hashes.end());
}

store::Artifacts& Journal::artifacts() {
  return *impl_->artifacts;
}
const store::Artifacts& Journal::artifacts() const {
  return *impl_->artifacts;
}
store::Ledger& Journal::ledger() {
  return *impl_->ledger;
}
const store::Ledger& Journal::ledger() const {
  return *impl_->ledger;
}

}  // namespace pawl::campaign
