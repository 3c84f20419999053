#include "store/ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "store/test_folders.h"

namespace pawl::store {
namespace {

// Sums the `value` of every event by kind; refuses the kind "refused".
class Sums : public Projection {
 public:
  explicit Sums(std::int64_t version = 1, std::int64_t factor = 1)
      : version_(version), factor_(factor) {}
  Status CreateTables(Database& database) override {
    return database.Execute("CREATE TABLE sums(kind TEXT PRIMARY KEY, total INTEGER) STRICT");
  }
  Status Apply(Database& database, const Event& event) override {
    if (event.kind == "refused") return MakeError(Code::kConflict, "refused by the projection");
    PAWL_ASSIGN(Statement add,
                database.Prepare("INSERT INTO sums VALUES(?1, ?2) ON CONFLICT(kind) DO UPDATE SET "
                                 "total = total + ?2"));
    return add.Bind(1, event.kind).Bind(2, factor_ * event.body.IntAt("value")).Run();
  }
  std::int64_t Version() const override { return version_; }

 private:
  std::int64_t version_;
  std::int64_t factor_;
};

NewEvent Valued(std::string kind, std::int64_t value, std::int64_t campaign = 1,
                std::int64_t experiment = 0) {
  return {.kind = std::move(kind),
          .campaign = campaign,
          .experiment = experiment,
          .body = JsonObject{{"value", value}}};
}

std::int64_t SumOf(Ledger& ledger, std::string_view kind) {
  Result<Statement> query = ledger.database().Prepare("SELECT total FROM sums WHERE kind = ?");
  EXPECT_TRUE(query.ok());
  query->Bind(1, kind);
  const Result<bool> row = query->Step();
  EXPECT_TRUE(row.ok());
  return *row ? query->Int(0) : 0;
}

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-ledger-");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(made).value());
    file_ = scratch_->path() / "ledger.sqlite3";
  }
  Ledger Open(OpenMode mode = OpenMode::kCreate) {
    Result<Ledger> ledger = Ledger::Open(file_, mode, &sums_);
    EXPECT_TRUE(ledger.ok()) << ledger.error().Text();
    return std::move(ledger).value();
  }
  std::optional<os::ScratchFolder> scratch_;
  os::Path file_;
  Sums sums_;
};

TEST_F(LedgerTest, NumbersEventsFromOneAndChainsThemAsDocumented) {
  Ledger ledger = Open();
  const Result<Event> first = ledger.Append(Valued("a", 1, 3, 4));
  ASSERT_TRUE(first.ok());
  const Result<Event> second = ledger.Append({.kind = "b", .body = JsonObject{}, .time_us = 17});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->seq, 1);
  EXPECT_EQ(second->seq, 2);
  const Json second_event = JsonObject{{"seq", 2},      {"time_us", 17},   {"kind", "b"},
                                       {"campaign", 0}, {"experiment", 0}, {"body", JsonObject{}}};
  EXPECT_EQ(second->hash, HashBytes(first->hash + "\n" + second_event.Canonical()).hex());
}

TEST_F(LedgerTest, OneCallIsAllOrNothingTogetherWithTheProjection) {
  Ledger ledger = Open();
  ASSERT_TRUE(ledger.Append(Valued("a", 5)).ok());
  const std::vector<NewEvent> events = {Valued("a", 1), Valued("refused", 1)};
  const auto refused = ledger.Append(events);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(SumOf(ledger, "a"), 5);
  EXPECT_EQ(ledger.Last()->seq, 1);
  EXPECT_EQ(ledger.Append(Valued("a", 2))->seq, 2);
  EXPECT_EQ(SumOf(ledger, "a"), 7);
}

TEST_F(LedgerTest, ARehearsalTellsTheOutcomeAndWritesNothing) {
  Ledger ledger = Open();
  const std::vector<NewEvent> good = {Valued("a", 1), Valued("a", 2)};
  const std::vector<NewEvent> bad = {Valued("a", 1), Valued("refused", 2)};
  EXPECT_TRUE(ledger.Rehearse(good).ok());
  EXPECT_EQ(ledger.Rehearse(bad).error().code, Code::kConflict);
  EXPECT_EQ(ledger.Last()->seq, 0);
  EXPECT_EQ(SumOf(ledger, "a"), 0);
}

TEST_F(LedgerTest, NoSqlStatementChangesRemovesReplacesOrInsertsInTheMiddle) {
  Ledger ledger = Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ledger.Append(Valued("a", i)).ok());
  const std::string row = "time_us, kind, campaign, experiment, body, hash FROM events WHERE seq=1";
  for (const std::string& sql : {
           std::string("UPDATE events SET body = '{}' WHERE seq = 2"),
           std::string("UPDATE events SET seq = 9 WHERE seq = 3"),
           std::string("DELETE FROM events WHERE seq = 3"),
           std::string("DELETE FROM events"),
           "INSERT OR REPLACE INTO events SELECT 2, " + row,
           "INSERT INTO events SELECT 5, " + row,
           "INSERT INTO events SELECT 0, " + row,
       }) {
    const Status status = ledger.database().Execute(sql);
    ASSERT_FALSE(status.ok()) << sql;
    EXPECT_EQ(status.error().code, Code::kConflict) << status.error().Text();
  }
  EXPECT_EQ(ledger.VerifyChain()->problems, std::vector<std::string>());
  EXPECT_EQ(ledger.VerifyChain()->events, 3);
}

TEST_F(LedgerTest, FiltersByCampaignExperimentKindAndNumber) {
  Ledger ledger = Open();
  for (int i = 1; i <= 6; ++i) {
    ASSERT_TRUE(ledger.Append(Valued(i % 2 == 0 ? "even" : "odd", i, i % 3, i)).ok());
  }
  EXPECT_EQ(ledger.Read({})->size(), 6U);
  EXPECT_EQ(ledger.Read({.campaign = 1})->size(), 2U);
  EXPECT_EQ(ledger.Read({.experiment = 4})->size(), 1U);
  EXPECT_EQ(ledger.Read({.kind = "odd", .after_seq = 1})->size(), 2U);
  EXPECT_EQ(ledger.At(4)->body.IntAt("value"), 4);
  EXPECT_EQ(ledger.At(7).error().code, Code::kNotFound);
  int seen = 0;
  const Status stopped = ledger.ForEach({}, [&](const Event&) -> Status {
    if (++seen < 3) return OkStatus();
    return MakeError(Code::kCancelled, "enough");
  });
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_EQ(seen, 3);
}

TEST_F(LedgerTest, ABodyIsReturnedAsItWillBeRead) {
  Ledger ledger = Open();
  const Result<Event> made = ledger.Append(
      {.kind = "a", .body = JsonObject{{"bad", "\xff"}, {"nan", std::nan("")}, {"half", 0.5}}});
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->body.Find("nan")->is_null());
  EXPECT_EQ(made->body, ledger.At(1)->body);
}

// Bytes that a candidate wrote, six bytes of the record each.
TEST_F(LedgerTest, LargeEvidenceIsRecordedAndReadBack) {
  Ledger ledger = Open();
  const std::string foreign(std::size_t{3} << 20, '\x01');
  const Event made =
      ledger.Append({.kind = "verdict", .body = JsonObject{{"perf", foreign}}}).value();
  EXPECT_EQ(made.body.StringAt("perf"), foreign);
  EXPECT_EQ(ledger.At(made.seq).value().body.StringAt("perf"), foreign);
  EXPECT_TRUE(ledger.VerifyChain().value().problems.empty());
}

TEST_F(LedgerTest, AReaderSeesWhatAWriterGoesOnToWriteAndWritesNothingItself) {
  Ledger writer = Open();
  ASSERT_TRUE(writer.Append(Valued("a", 1)).ok());
  Ledger reader = Open(OpenMode::kReadOnly);
  EXPECT_EQ(reader.Read({})->size(), 1U);
  ASSERT_TRUE(writer.Append(Valued("a", 2)).ok());
  EXPECT_EQ(reader.Read({})->size(), 2U);
  const Status refused = reader.database().Execute("DELETE FROM sums");
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied) << refused.error().Text();
}

TEST_F(LedgerTest, TheProjectionIsRebuiltWhenItsVersionChangesAndComparedOnDemand) {
  {
    Ledger ledger = Open();
    ASSERT_TRUE(ledger.Append(Valued("a", 2)).ok());
  }
  Sums doubled(2, 2);
  const Result<Ledger> old_reader = Ledger::Open(file_, OpenMode::kReadOnly, &doubled);
  ASSERT_FALSE(old_reader.ok());
  EXPECT_EQ(old_reader.error().code, Code::kConflict);
  Result<Ledger> ledger = Ledger::Open(file_, OpenMode::kCreate, &doubled);
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(SumOf(*ledger, "a"), 4);
  EXPECT_TRUE(ledger->VerifyProjection()->empty());
  ASSERT_TRUE(ledger->database().Execute("UPDATE sums SET total = 5").ok());
  EXPECT_EQ(*ledger->VerifyProjection(), std::vector<std::string>({"sums"}));
  ASSERT_TRUE(ledger->RebuildProjection().ok());
  EXPECT_TRUE(ledger->VerifyProjection()->empty());
}

TEST_F(LedgerTest, RefusesANewerFormatAndForeignDatabases) {
  {
    Ledger ledger = Open();
    ASSERT_TRUE(ledger.database().SetUserVersion(99).ok());
  }
  const Result<Ledger> newer = Ledger::Open(file_, OpenMode::kCreate, &sums_);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Code::kUnsupported);
  EXPECT_NE(newer.error().message.find("format 99"), std::string::npos);

  const os::Path foreign = scratch_->path() / "foreign.sqlite3";
  {
    Result<Database> database = Database::Open(foreign, OpenMode::kCreate);
    ASSERT_TRUE(database->Execute("CREATE TABLE mine(x)").ok());
  }
  EXPECT_EQ(Ledger::Open(foreign, OpenMode::kCreate, &sums_).error().code, Code::kCorrupt);
  EXPECT_EQ(Ledger::Open(scratch_->path() / "none", OpenMode::kReadOnly, &sums_).error().code,
            Code::kNotFound);
}

// Against a plain model: batches that are taken or refused, reopening in between.
RC_GTEST_PROP(LedgerProperty, BehavesLikeAListOfBatches, ()) {
  auto made = os::ScratchFolder::Make(FastFolder(), "pawl-ledger-");
  RC_ASSERT(made.ok());
  const os::Path file = made->path() / "l";
  Sums sums;
  std::vector<std::pair<std::string, std::int64_t>> model;
  std::optional<Ledger> ledger;
  const int steps = *rc::gen::inRange(1, 8);
  for (int step = 0; step < steps; ++step) {
    if (!ledger || *rc::gen::inRange(0, 3) == 0) {
      ledger.reset();
      Result<Ledger> opened = Ledger::Open(file, OpenMode::kCreate, &sums);
      RC_ASSERT(opened.ok());
      ledger.emplace(std::move(opened).value());
    }
    std::vector<NewEvent> batch;
    bool refused = false;
    const int size = *rc::gen::inRange(0, 4);
    for (int i = 0; i < size; ++i) {
      const auto kind = *rc::gen::element<std::string>("a", "b", "c", "refused");
      refused = refused || kind == "refused";
      batch.push_back(Valued(kind, *rc::gen::inRange<std::int64_t>(-100, 100)));
    }
    RC_ASSERT(ledger->Append(batch).ok() == !refused);
    if (refused) continue;
    for (const NewEvent& event : batch) {
      model.emplace_back(event.kind, event.body.IntAt("value"));
    }
  }
  const auto events = ledger->Read({});
  RC_ASSERT(events.ok());
  RC_ASSERT(events->size() == model.size());
  std::map<std::string, std::int64_t> totals;
  for (std::size_t i = 0; i < model.size(); ++i) {
    RC_ASSERT((*events)[i].seq == static_cast<std::int64_t>(i) + 1);
    RC_ASSERT((*events)[i].kind == model[i].first);
    RC_ASSERT((*events)[i].body.IntAt("value") == model[i].second);
    totals[model[i].first] += model[i].second;
  }
  for (const auto& [kind, total] : totals) RC_ASSERT(SumOf(*ledger, kind) == total);
  RC_ASSERT(ledger->VerifyChain()->problems.empty());
  RC_ASSERT(ledger->VerifyProjection()->empty());
}

}  // namespace
}  // namespace pawl::store
