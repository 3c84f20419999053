// A ledger whose bytes were changed behind Pawl's back: the damage is found and named, and nothing
// crashes, whichever part of the files it hits.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "store/ledger.h"

namespace pawl::store {
namespace {

constexpr int kEvents = 60;

class LedgerCorruption : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-corrupt-");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(made).value());
    file_ = scratch_->path() / "ledger.sqlite3";
    Result<Ledger> ledger = Ledger::Open(file_, OpenMode::kCreate, nullptr);
    ASSERT_TRUE(ledger.ok());
    for (int i = 1; i <= kEvents; ++i) {
      const Json body =
          JsonObject{{"marker", Format("marker-{:03}", i)}, {"text", std::string(300, 'x')}};
      const Result<Event> event = ledger->Append({.kind = "test", .experiment = i, .body = body});
      ASSERT_TRUE(event.ok());
      hashes_.push_back(event->hash);
    }
    // A copy taken now has its newest events in the write-ahead log only, as after a kill.
    killed_ = scratch_->path() / "killed";
    CopyTo(killed_);
  }

  void CopyTo(const os::Path& folder) {
    ASSERT_TRUE(os::MakeFolders(folder).ok());
    for (const char* suffix : {"", "-wal", "-head"}) {
      const std::string name = "ledger.sqlite3" + std::string(suffix);
      const Result<std::string> bytes = os::ReadFile(scratch_->path() / name);
      if (bytes.ok()) Save(folder / name, *bytes);
    }
  }

  // Complaints of everything that looks: opening as a reader, then the whole check.
  static std::vector<std::string> Complaints(const os::Path& file) {
    Result<Ledger> ledger = Ledger::Open(file, OpenMode::kReadOnly, nullptr);
    if (!ledger.ok()) {
      EXPECT_EQ(ledger.error().code, Code::kCorrupt) << ledger.error().Text();
      EXPECT_NE(ledger.error().message.find(file.string()), std::string::npos);
      EXPECT_FALSE(ledger.error().hint.empty()) << ledger.error().message;
      return {ledger.error().message};
    }
    const Result<ChainReport> report = ledger->VerifyChain();
    EXPECT_TRUE(report.ok());
    return report.ok() ? report->problems : std::vector<std::string>{report.error().message};
  }

  static std::string Load(const os::Path& file) { return os::ReadFile(file).value(); }
  static void Save(const os::Path& file, std::string_view bytes) {
    ASSERT_TRUE(os::WriteFileAtomic(file, bytes, {.mode = 0600, .durable = false}).ok());
  }

  std::optional<os::ScratchFolder> scratch_;
  os::Path file_, killed_;
  std::vector<std::string> hashes_;
};

TEST_F(LedgerCorruption, AnUntouchedCopyOfAKilledWritersFilesIsSound) {
  EXPECT_EQ(Complaints(killed_ / "ledger.sqlite3"), std::vector<std::string>());
}

TEST_F(LedgerCorruption, AFlippedByteInABodyOrAHashIsNamed) {
  for (const bool in_hash : {false, true}) {
    const std::string bytes = Load(file_);
    const std::string needle = in_hash ? hashes_[9] : "marker-010";
    const std::size_t at = bytes.rfind(needle);
    ASSERT_NE(at, std::string::npos);
    std::string changed = bytes;
    changed[at + needle.size() - 1] = changed[at + needle.size() - 1] == '0' ? '1' : '0';
    if (!in_hash) changed[at + needle.size() - 1] = '7';
    Save(file_, changed);
    const std::vector<std::string> found = Complaints(file_);
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].find("event 10 "), std::string::npos) << found[0];
    // Nobody is handed the changed event as if it were true.
    Result<Ledger> ledger = Ledger::Open(file_, OpenMode::kReadOnly, nullptr);
    ASSERT_TRUE(ledger.ok());
    EXPECT_EQ(ledger->At(10).error().code, Code::kCorrupt);
    EXPECT_EQ(ledger->Read({.experiment = 10}).error().code, Code::kCorrupt);
    EXPECT_TRUE(ledger->At(9).ok());
    Save(file_, bytes);
  }
}

TEST_F(LedgerCorruption, EventsRemovedOrReorderedBySqlWithoutTriggersAreNoticed) {
  for (const std::string sql :
       {"DELETE FROM events WHERE seq = 30", "DELETE FROM events WHERE seq > 55",
        "UPDATE events SET body = (SELECT body FROM events WHERE seq = 4) "
        "WHERE seq = 5"}) {
    const os::Path folder = scratch_->path() / Format("sql{}", sql.size());
    CopyTo(folder);
    const os::Path file = folder / "ledger.sqlite3";
    {
      Result<Database> database = Database::Open(file, OpenMode::kCreate);
      ASSERT_TRUE(database.ok());
      ASSERT_TRUE(database
                      ->Execute("DROP TRIGGER events_never_go; DROP TRIGGER "
                                "events_never_change; " +
                                sql)
                      .ok());
    }
    EXPECT_FALSE(Complaints(file).empty()) << sql;
  }
}

TEST_F(LedgerCorruption, ADamagedWriteAheadLogCannotHideAcknowledgedEvents) {
  const os::Path file = killed_ / "ledger.sqlite3";
  const os::Path wal = killed_ / "ledger.sqlite3-wal";
  const std::string bytes = Load(wal);
  ASSERT_GT(bytes.size(), 20000U);
  // Its header, a frame's header, a frame's content, a cut, and nothing left at all.
  std::vector<std::string> damaged(5, bytes);
  damaged[0][20] = static_cast<char>(damaged[0][20] ^ 1);
  damaged[1][32 + 8] = static_cast<char>(damaged[1][32 + 8] ^ 1);
  damaged[2][bytes.size() - 2000] = static_cast<char>(damaged[2][bytes.size() - 2000] ^ 1);
  damaged[3].resize(bytes.size() / 2);
  damaged[4].clear();
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    const os::Path folder = scratch_->path() / Format("wal{}", i);
    ASSERT_TRUE(os::MakeFolders(folder).ok());
    Save(folder / "ledger.sqlite3", Load(file));
    Save(folder / "ledger.sqlite3-head", Load(killed_ / "ledger.sqlite3-head"));
    Save(folder / "ledger.sqlite3-wal", damaged[i]);
    Result<Ledger> writer = Ledger::Open(folder / "ledger.sqlite3", OpenMode::kCreate, nullptr);
    if (writer.ok()) {
      ADD_FAILURE() << "variant " << i << " was taken with " << writer->VerifyChain()->events
                    << " events";
    } else {
      EXPECT_EQ(writer.error().code, Code::kCorrupt) << writer.error().Text();
    }
  }
}

TEST_F(LedgerCorruption, TornAndForeignFilesAreRefusedByName) {
  const std::string bytes = Load(file_);
  const std::vector<std::string> contents = {std::string(8192, 'z'),
                                             "not a database",
                                             bytes.substr(0, 100),
                                             bytes.substr(0, 4096),
                                             bytes.substr(0, bytes.size() / 2),
                                             std::string(4096, '\0') + bytes.substr(4096)};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const os::Path file = scratch_->path() / Format("torn{}.sqlite3", i);
    Save(file, contents[i]);
    EXPECT_FALSE(Complaints(file).empty()) << "variant " << i;
  }
}

// A byte in every region of the file: found, or without any effect on what is read.
TEST_F(LedgerCorruption, NoFlippedByteIsBelievedAndNoneCrashes) {
  {
    Ledger::Open(file_, OpenMode::kCreate, nullptr).Ignore("closing puts all into the file");
  }
  const std::string bytes = Load(file_);
  const Result<Ledger> sound = Ledger::Open(file_, OpenMode::kReadOnly, nullptr);
  ASSERT_TRUE(sound.ok());
  const std::vector<Event> original = sound->Read({}).value();
  int found = 0;
  int tried = 0;
  const os::Path copy = scratch_->path() / "flipped.sqlite3";
  for (std::size_t at = 18; at < bytes.size(); at += 211) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    Save(copy, changed);
    ++tried;
    Result<Ledger> ledger = Ledger::Open(copy, OpenMode::kReadOnly, nullptr);
    if (!ledger.ok()) {
      ++found;
      continue;
    }
    const Result<ChainReport> report = ledger->VerifyChain();
    ASSERT_TRUE(report.ok()) << report.error().Text();
    if (!report->problems.empty()) {
      ++found;
      continue;
    }
    const auto events = ledger->Read({});
    ASSERT_TRUE(events.ok()) << "byte " << at;
    ASSERT_EQ(events->size(), original.size()) << "byte " << at;
    for (std::size_t i = 0; i < original.size(); ++i) {
      ASSERT_EQ((*events)[i].hash, original[i].hash) << "byte " << at;
    }
  }
  std::printf("%d of %d flipped bytes were found, the others had no effect\n", found, tried);
  EXPECT_GT(found, tried / 2);
}

}  // namespace
}  // namespace pawl::store
