#include "store/ledger_chain.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace pawl::store {
namespace {

constexpr std::size_t kMaxProblems = 50;

// Columns of every event query, in this order; the last is the predecessor's hash.
constexpr std::string_view kColumns =
    "SELECT e.seq, e.time_us, e.kind, e.campaign, e.experiment, e.body, e.hash, "
    "(SELECT p.hash FROM events p WHERE p.seq = e.seq - 1) FROM events e WHERE ";

Event RowOf(const Statement& row) {
  return {.seq = row.Int(0),
          .time_us = row.Int(1),
          .kind = row.Text(2),
          .campaign = row.Int(3),
          .experiment = row.Int(4),
          .body = {},
          .hash = row.Text(6)};
}

Error Damaged(const Database& database, std::int64_t seq, std::string_view what) {
  return MakeError(Code::kCorrupt, Format("{}: event {} {}", database.path().string(), seq, what),
                   "run `pawl verify` for the whole picture");
}

Status VisitRows(Database& database, Statement& query,
                 const std::function<Status(const Event&)>& visit) {
  while (true) {
    PAWL_ASSIGN(const bool row, query.Step());
    if (!row) return OkStatus();
    Event event = RowOf(query);
    const std::string body = query.Text(5);
    const std::string previous = event.seq == 1 ? std::string(kChainStart) : query.Text(7);
    if (ChainHash(previous, event, body) != event.hash) {
      return Damaged(database, event.seq, "is not what was written (its hash does not fit)");
    }
    Result<Json> parsed = ParseJson(body, Format("event {}", event.seq), kBodyLimits);
    if (!parsed.ok()) return Damaged(database, event.seq, parsed.error().message);
    event.body = std::move(parsed).value();
    PAWL_TRY(visit(event));
  }
}

std::string Quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// What two rows are compared by: type and text of every column.
std::string RowText(const Statement& row) {
  std::string text;
  for (int column = 0; column < row.column_count(); ++column) {
    const std::string cell = row.Text(column);
    AppendFormat(text, "{}{}:", row.IsNull(column) ? "n" : "v", cell.size());
    text += cell;
  }
  return text;
}

Result<bool> SameRows(Database& expected, Database& present, const std::string& table) {
  std::string sql = Format("SELECT * FROM {}", Quoted(table));
  PAWL_ASSIGN(const Statement columns, expected.Prepare(sql));
  for (int column = 1; column <= columns.column_count(); ++column) {
    AppendFormat(sql, "{}{}", column == 1 ? " ORDER BY " : ", ", column);
  }
  PAWL_ASSIGN(Statement left, expected.Prepare(sql));
  Result<Statement> right = present.Prepare(sql);
  if (!right.ok()) return false;  // no such table there
  while (true) {
    PAWL_ASSIGN(const bool more, left.Step());
    PAWL_ASSIGN(const bool other, right->Step());
    if (more != other) return false;
    if (!more) return true;
    if (RowText(left) != RowText(*right)) return false;
  }
}

}  // namespace

std::string ChainHash(std::string_view previous_hash, const Event& event, std::string_view body) {
  std::string text;
  text.reserve(body.size() + 256);
  text += previous_hash;
  text += "\n{\"body\":";
  text += body;
  AppendFormat(text, R"(,"campaign":{},"experiment":{},"kind":"{}","seq":{},"time_us":{}}})",
               event.campaign, event.experiment, event.kind, event.seq, event.time_us);
  return HashBytes(text).hex();
}

Status VisitEvents(Database& database, const EventFilter& filter,
                   const std::function<Status(const Event&)>& visit) {
  std::string sql = std::string(kColumns) + "e.seq > ?1";
  if (filter.experiment) sql += " AND e.experiment = ?2 AND e.experiment > 0";
  if (filter.campaign) sql += " AND e.campaign = ?3";
  if (filter.kind) sql += " AND e.kind = ?4";
  sql += " ORDER BY e.seq";
  PAWL_ASSIGN(Statement query, database.Prepare(sql));
  query.Bind(1, filter.after_seq);
  if (filter.experiment) query.Bind(2, *filter.experiment);
  if (filter.campaign) query.Bind(3, *filter.campaign);
  if (filter.kind) query.Bind(4, *filter.kind);
  return VisitRows(database, query, visit);
}

Status VisitEvent(Database& database, std::int64_t seq,
                  const std::function<Status(const Event&)>& visit) {
  PAWL_ASSIGN(Statement query, database.Prepare(std::string(kColumns) + "e.seq = ?1"));
  query.Bind(1, seq);
  return VisitRows(database, query, visit);
}

std::string HeadLine(const Ledger::Head& head) {
  const std::string text = Format("{:020} {}", head.seq, head.hash);
  return Format("{} {}\n", text, HashBytes(text).hex().substr(0, 16));
}

Result<std::optional<Ledger::Head>> ReadHead(const os::Path& head_file) {
  const Result<std::string> line =
      os::ReadFile(head_file, {.max_bytes = 4096, .follow_links = false});
  if (!line.ok() && line.error().code != Code::kNotFound) return line.error();
  if (!line.ok()) return std::optional<Ledger::Head>();
  const std::vector<std::string_view> words = Split(*line, ' ');
  const std::optional<std::int64_t> seq = words.size() == 3 ? ParseInt(words[0]) : std::nullopt;
  if (!seq) return std::optional<Ledger::Head>();
  Ledger::Head head{*seq, std::string(words[1])};
  if (HeadLine(head) != *line) return std::optional<Ledger::Head>();
  return std::optional<Ledger::Head>(std::move(head));
}

Result<std::string> LostTail(Database& database, const std::optional<Ledger::Head>& acknowledged) {
  if (!acknowledged) return std::string();
  PAWL_ASSIGN(Statement query, database.Prepare("SELECT hash FROM events WHERE seq = ?"));
  query.Bind(1, acknowledged->seq);
  PAWL_ASSIGN(const bool there, query.Step());
  if (there && query.Text(0) == acknowledged->hash) return std::string();
  if (there) {
    return Format("{}: event {} is another one than the one that was acknowledged",
                  database.path().string(), acknowledged->seq);
  }
  PAWL_ASSIGN(Statement last, database.Prepare("SELECT coalesce(max(seq), 0) FROM events"));
  PAWL_TRY(last.Step());
  return Format("{} ends at event {}, but event {} was acknowledged: its end is lost",
                database.path().string(), last.Int(0), acknowledged->seq);
}

Result<ChainReport> CheckWholeChain(Database& database, const os::Path& head_file) {
  ChainReport report;
  const auto complain = [&](std::string problem) {
    if (report.problems.size() < kMaxProblems) report.problems.push_back(std::move(problem));
  };
  const Result<std::optional<Ledger::Head>> acknowledged = ReadHead(head_file);
  PAWL_ASSIGN(const Transaction snapshot, Transaction::BeginRead(database));
  PAWL_ASSIGN(const std::string damage, database.IntegrityCheck());
  for (const std::string_view line : Split(damage, '\n')) {
    if (!line.empty()) complain(Format("SQLite: {}", line));
  }
  PAWL_ASSIGN(Statement query,
              database.Prepare("SELECT seq, time_us, kind, campaign, experiment, body, hash "
                               "FROM events ORDER BY seq"));
  std::string previous(kChainStart);
  std::int64_t expected = 1;
  while (true) {
    const Result<bool> row = query.Step();
    if (!row.ok()) {
      // A page that cannot be read ends the walk, but is a finding like the others.
      if (row.error().code != Code::kCorrupt) return row.error();
      complain(Format("after event {}: {}", expected - 1, row.error().message));
      break;
    }
    if (!*row) break;
    const Event event = RowOf(query);
    if (event.seq != expected) {
      complain(Format("event {} is missing (event {} follows)", expected, event.seq));
    }
    if (ChainHash(previous, event, query.Text(5)) != event.hash) {
      complain(Format("event {} ({}, experiment {}) does not fit the chain", event.seq,
                      PrintableLine(event.kind), event.experiment));
    }
    previous = event.hash;
    expected = event.seq + 1;
    ++report.events;
  }
  Result<std::string> lost = acknowledged.ok() ? LostTail(database, *acknowledged)
                                               : Result<std::string>(acknowledged.error());
  if (!lost.ok()) {
    complain(lost.error().message);
  } else if (!lost->empty()) {
    complain(std::move(lost).value());
  }
  return report;
}

Result<std::vector<std::string>> DerivedTables(Database& database) {
  PAWL_ASSIGN(Statement query,
              database.Prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT "
                               "IN ('events', 'projection') AND name NOT LIKE 'sqlite\\_%' "
                               "ESCAPE '\\' ORDER BY name"));
  std::vector<std::string> names;
  while (true) {
    PAWL_ASSIGN(const bool row, query.Step());
    if (!row) return names;
    names.push_back(query.Text(0));
  }
}

Status DropDerivedTables(Database& database) {
  PAWL_ASSIGN(const std::vector<std::string> names, DerivedTables(database));
  for (const std::string& name : names) PAWL_TRY(database.Execute("DROP TABLE " + Quoted(name)));
  return OkStatus();
}

Result<std::vector<std::string>> DifferingTables(Database& expected, Database& present) {
  PAWL_ASSIGN(const std::vector<std::string> right, DerivedTables(expected));
  PAWL_ASSIGN(const std::vector<std::string> found, DerivedTables(present));
  std::vector<std::string> differing;
  std::set_difference(found.begin(), found.end(), right.begin(), right.end(),
                      std::back_inserter(differing));
  for (const std::string& table : right) {
    PAWL_ASSIGN(const bool same, SameRows(expected, present, table));
    if (!same) differing.push_back(table);
  }
  return differing;
}

}  // namespace pawl::store
