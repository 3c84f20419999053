#include "store/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "store/ledger_chain.h"

namespace pawl::store {
namespace {

constexpr std::int64_t kFormat = 1;
// Events at the end that every opening re-hashes; `pawl verify` does all of them.
constexpr std::int64_t kTail = 32;

constexpr const char* kSchema = R"sql(
PRAGMA application_id=0x5041574c;
CREATE TABLE events(
  seq INTEGER PRIMARY KEY,
  time_us INTEGER NOT NULL,
  kind TEXT NOT NULL,
  campaign INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  body TEXT NOT NULL,
  hash TEXT NOT NULL CHECK(length(hash) = 64)
) STRICT;
CREATE INDEX events_by_experiment ON events(experiment, seq) WHERE experiment > 0;
CREATE INDEX events_by_kind ON events(kind, campaign, seq);
CREATE TABLE projection(version INTEGER NOT NULL) STRICT;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_never_go BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
CREATE TRIGGER events_have_no_gaps BEFORE INSERT ON events
  WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
  BEGIN SELECT RAISE(ABORT, 'events are only put at the end'); END;
)sql";

bool IsKind(std::string_view kind) {
  return !kind.empty() && std::all_of(kind.begin(), kind.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

os::Path HeadPath(const os::Path& file) {
  return file.string() + "-head";
}

// Says what to do about damage, where the layer below could not know.
Status Explained(Status status) {
  if (status.ok() || status.error().code != Code::kCorrupt || !status.error().hint.empty()) {
    return status;
  }
  return MakeError(
      Code::kCorrupt, status.error().message,
      "run `pawl verify`; if it is beyond repair, put back a copy of the state folder");
}

// Of the tables in the file; 0 when they were never made.
Result<std::int64_t> ProjectionVersion(Database& database) {
  PAWL_ASSIGN(Statement query, database.Prepare("SELECT version FROM projection"));
  PAWL_ASSIGN(const bool made, query.Step());
  return made ? query.Int(0) : 0;
}

}  // namespace

Status Ledger::Create() {
  PAWL_ASSIGN(Transaction transaction, Transaction::Begin(*database_));
  PAWL_TRY(database_->Execute(kSchema));
  PAWL_TRY(database_->SetUserVersion(kFormat));
  return transaction.Commit();
}

Status Ledger::CheckVersion(OpenMode mode) {
  PAWL_ASSIGN(const std::int64_t version, database_->UserVersion());
  if (version > kFormat) {
    return MakeError(Code::kUnsupported,
                     Format("{} has format {}, but this Pawl knows formats up to {}",
                            file().string(), version, kFormat),
                     "use the newer Pawl that wrote it");
  }
  if (version == kFormat) return OkStatus();
  PAWL_ASSIGN(Statement tables, database_->Prepare("SELECT count(*) FROM sqlite_schema"));
  PAWL_TRY(tables.Step());
  if (tables.Int(0) != 0) {
    return MakeError(Code::kCorrupt, Format("{} is a database, but not Pawl's", file().string()),
                     "move it away or choose another state folder");
  }
  if (mode == OpenMode::kCreate) return Create();
  return MakeError(Code::kNotFound, Format("{} is empty", file().string()));
}

Status Ledger::PrepareProjection(OpenMode mode) {
  if (projection_ == nullptr) return OkStatus();
  PAWL_ASSIGN(const std::int64_t present, ProjectionVersion(*database_));
  if (present == projection_->Version()) return OkStatus();
  if (mode == OpenMode::kReadOnly) {
    return MakeError(Code::kConflict,
                     Format("the tables of {} are of another version of Pawl", file().string()),
                     "run `pawl gc` once with this version: it makes them anew from the events");
  }
  return RebuildProjection();
}

Result<Ledger> Ledger::Open(const os::Path& file, OpenMode mode, Projection* projection) {
  Result<Database> database = Database::Open(file, mode, Durability::kFull);
  if (!database.ok()) return Explained(database.error()).error();
  Ledger ledger;
  ledger.database_ = std::make_unique<Database>(std::move(database).value());
  ledger.projection_ = projection;
  Status status = ledger.CheckVersion(mode);
  if (status.ok()) status = ledger.CheckTail();
  if (status.ok()) status = ledger.PrepareProjection(mode);
  if (!status.ok()) return Explained(status).error();
  if (mode == OpenMode::kReadOnly) return ledger;
  ledger.head_file_ =
      os::Fd(::open(HeadPath(file).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!ledger.head_file_.valid()) {
    return SystemError(Format("cannot open {}", HeadPath(file).string()), errno);
  }
  return ledger;
}

Result<Ledger::Head> Ledger::Last() const {
  PAWL_ASSIGN(Statement last,
              database_->Prepare("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"));
  PAWL_ASSIGN(const bool any, last.Step());
  if (!any) return Head{0, std::string(kChainStart)};
  return Head{last.Int(0), last.Text(1)};
}

Status Ledger::CheckTail() const {
  PAWL_ASSIGN(const std::optional<Head> acknowledged, ReadHead(HeadPath(file())));
  PAWL_ASSIGN(const Transaction snapshot, Transaction::BeginRead(*database_));
  PAWL_ASSIGN(const Head last, Last());
  const EventFilter tail{.after_seq = std::max<std::int64_t>(0, last.seq - kTail)};
  PAWL_TRY(ForEach(tail, [](const Event&) { return OkStatus(); }));
  PAWL_ASSIGN(const std::string lost, LostTail(*database_, acknowledged));
  if (lost.empty()) return OkStatus();
  return MakeError(Code::kCorrupt, lost,
                   Format("put back a newer copy, or remove {} to go on without them",
                          HeadPath(file()).string()));
}

Result<Event> Ledger::Insert(const NewEvent& event, const Head& previous) {
  PAWL_CHECK(IsKind(event.kind));
  PAWL_CHECK(event.body.AsObject() != nullptr);
  const std::string body = event.body.Canonical();
  Event made{.seq = previous.seq + 1,
             .time_us = event.time_us != 0 ? event.time_us : UnixMicros(),
             .kind = event.kind,
             .campaign = event.campaign,
             .experiment = event.experiment,
             .body = {},
             .hash = {}};
  // What cannot be read back must not be acknowledged.
  PAWL_ASSIGN(made.body, ParseJson(body, Format("body of a `{}` event", event.kind), kBodyLimits));
  made.hash = ChainHash(previous.hash, made, body);
  PAWL_ASSIGN(Statement insert,
              database_->Prepare("INSERT INTO events(seq, time_us, kind, campaign, experiment, "
                                 "body, hash) VALUES(?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(1, made.seq).Bind(2, made.time_us).Bind(3, made.kind).Bind(4, made.campaign);
  insert.Bind(5, made.experiment).Bind(6, body).Bind(7, made.hash);
  PAWL_TRY(insert.Run());
  if (projection_ != nullptr) PAWL_TRY(projection_->Apply(*database_, made));
  return made;
}

Result<std::vector<Event>> Ledger::InsertAll(std::span<const NewEvent> events) {
  std::vector<Event> made;
  PAWL_ASSIGN(Head head, Last());
  for (const NewEvent& event : events) {
    PAWL_ASSIGN(Event one, Insert(event, head));
    head = {one.seq, one.hash};
    made.push_back(std::move(one));
  }
  return made;
}

Result<std::vector<Event>> Ledger::Append(std::span<const NewEvent> events) {
  std::vector<Event> made;
  if (events.empty()) return made;
  const Status status = [&]() -> Status {
    PAWL_ASSIGN(Transaction transaction, Transaction::Begin(*database_));
    PAWL_ASSIGN(made, InsertAll(events));
    PAWL_TRY(transaction.Commit());
    NoteHead({made.back().seq, made.back().hash});
    return OkStatus();
  }();
  if (!status.ok()) return Explained(status).error();
  return made;
}

Status Ledger::Rehearse(std::span<const NewEvent> events) {
  const Result<Transaction> undone = Transaction::Begin(*database_);
  if (!undone.ok()) return undone.error();
  const Result<std::vector<Event>> made = InsertAll(events);
  return made.ok() ? OkStatus() : Status(made.error());
}

Result<Event> Ledger::Append(const NewEvent& event) {
  PAWL_ASSIGN(std::vector<Event> made, Append(std::span(&event, 1)));
  return std::move(made.front());
}

// Not synced: after a power loss it may be behind the ledger, which says nothing; it is never ahead
// of it unless acknowledged events are gone.
void Ledger::NoteHead(const Head& head) const {
  const std::string line = HeadLine(head);
  const ssize_t written = ::pwrite(head_file_.get(), line.data(), line.size(), 0);
  // A full disk leaves the older line, which is behind and therefore harmless.
  static_cast<void>(written);
}

Result<std::vector<Event>> Ledger::Read(const EventFilter& filter) const {
  std::vector<Event> events;
  PAWL_TRY(ForEach(filter, [&](const Event& event) {
    events.push_back(event);
    return OkStatus();
  }));
  return events;
}

Status Ledger::ForEach(const EventFilter& filter,
                       const std::function<Status(const Event&)>& visit) const {
  return Explained(VisitEvents(*database_, filter, visit));
}

Result<Event> Ledger::At(std::int64_t seq) const {
  std::optional<Event> found;
  PAWL_TRY(Explained(VisitEvent(*database_, seq, [&](const Event& event) {
    found = event;
    return OkStatus();
  })));
  if (found) return std::move(*found);
  return MakeError(Code::kNotFound, Format("{} has no event {}", file().string(), seq));
}

Result<ChainReport> Ledger::VerifyChain() const {
  return CheckWholeChain(*database_, HeadPath(file()));
}

Result<std::vector<std::string>> Ledger::VerifyProjection() const {
  PAWL_CHECK(projection_ != nullptr);
  PAWL_ASSIGN(const Transaction snapshot, Transaction::BeginRead(*database_));
  PAWL_ASSIGN(Database fresh, Database::OpenInMemory());
  PAWL_ASSIGN(Transaction filling, Transaction::Begin(fresh));
  PAWL_TRY(projection_->CreateTables(fresh));
  PAWL_TRY(ForEach({}, [&](const Event& event) { return projection_->Apply(fresh, event); }));
  PAWL_TRY(filling.Commit());
  return DifferingTables(fresh, *database_);
}

Status Ledger::RebuildProjection() {
  PAWL_CHECK(projection_ != nullptr);
  PAWL_ASSIGN(Transaction transaction, Transaction::Begin(*database_));
  PAWL_TRY(DropDerivedTables(*database_));
  PAWL_TRY(projection_->CreateTables(*database_));
  PAWL_TRY(ForEach({}, [&](const Event& event) { return projection_->Apply(*database_, event); }));
  PAWL_TRY(database_->Execute(
      Format("DELETE FROM projection; INSERT INTO projection VALUES({})", projection_->Version())));
  return transaction.Commit();
}

}  // namespace pawl::store
