// A sound ledger of four events with one column of one row changed: the input says which, and to
// what. Whatever changes a stored value is found by the walk over the whole chain, and by whoever
// reads the row or, for its hash, the next one.
#include <array>

#include "input.h"
#include "store/ledger_chain.h"

namespace {

namespace store = pawl::store;

constexpr std::array<std::string_view, 7> kColumns = {"seq",        "time_us", "kind", "campaign",
                                                      "experiment", "body",    "hash"};
constexpr std::int64_t kEvents = 4;

// The columns of the ledger, without the triggers and checks that honest writers meet.
store::Database MakeChain() {
  auto database = store::Database::OpenInMemory();
  PAWL_CHECK(database.ok());
  PAWL_CHECK(database
                 ->Execute("CREATE TABLE events(seq INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, "
                           "kind TEXT NOT NULL, campaign INTEGER NOT NULL, experiment INTEGER NOT "
                           "NULL, body TEXT NOT NULL, hash TEXT NOT NULL) STRICT")
                 .ok());
  std::string previous(store::kChainStart);
  for (std::int64_t seq = 1; seq <= kEvents; ++seq) {
    store::Event event{
        .seq = seq, .time_us = 1'700'000'000'000'000 + seq, .kind = "note", .body = {}, .hash = {}};
    event.campaign = 1;
    event.experiment = seq / 2;
    const std::string body = pawl::Format(R"({{"experiment":{},"text":"ledger"}})", seq);
    event.hash = store::ChainHash(previous, event, body);
    previous = event.hash;
    auto insert = database->Prepare("INSERT INTO events VALUES(?, ?, ?, ?, ?, ?, ?)");
    PAWL_CHECK(insert.ok());
    insert->Bind(1, event.seq).Bind(2, event.time_us).Bind(3, event.kind).Bind(4, event.campaign);
    insert->Bind(5, event.experiment).Bind(6, body).Bind(7, event.hash);
    PAWL_CHECK(insert->Run().ok());
  }
  return std::move(database).value();
}

std::string Cell(store::Database& database, std::string_view column, std::int64_t row) {
  auto query = database.Prepare(pawl::Format("SELECT {} FROM events WHERE rowid = ?", column));
  PAWL_CHECK(query.ok());
  query->Bind(1, row);
  const auto found = query->Step();
  return found.ok() && *found ? query->Text(0) : std::string("gone");
}

bool Readable(store::Database& database) {
  return store::VisitEvents(database, {}, [](const store::Event&) { return pawl::OkStatus(); })
      .ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static store::Database database = MakeChain();
  const std::string_view column = kColumns[data[0] % kColumns.size()];
  const std::int64_t row = 1 + data[1] % kEvents;
  const std::string_view value = pawl::fuzz::TextOf(data, size).substr(2);

  PAWL_CHECK(database.Execute("BEGIN").ok());
  const std::string before = Cell(database, column, row);
  {
    auto update = database.Prepare(pawl::Format("UPDATE events SET {} = ? WHERE seq = ?", column));
    PAWL_CHECK(update.ok());
    update->Bind(1, value).Bind(2, row);
    update->Run().Ignore("a value of another type is refused by the table itself");
  }
  const bool same = Cell(database, column, row) == before;
  // A last event that got a number below 1 is a lost tail, which no reader can see.
  PAWL_CHECK(Readable(database) == same || column == "seq");
  PAWL_CHECK(database.Execute("COMMIT").ok());

  // The walk over the whole chain takes its own snapshot.
  const auto report = store::CheckWholeChain(database, "/nonexistent/ledger-head");
  PAWL_CHECK(report.ok());
  PAWL_CHECK(report->problems.empty() == same);
  for (const std::string& problem : report->problems) PAWL_CHECK(pawl::fuzz::IsPrintable(problem));
  if (!same) database = MakeChain();
  return 0;
}
