// Records that somebody, or the disk, changed behind Pawl's back: said by name, never a crash.
#include <filesystem>

#include "base/text.h"
#include "fault/campaign.h"

namespace pawl::fault {
namespace {

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    if (!project_.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
    ASSERT_EQ(project_.Try("ops=9\n").verdict(), "keep");
  }
  static test::ProjectOptions Options() {
    test::ProjectOptions options;
    options.level = "L3";
    return options;
  }
  os::Path Ledger() const { return project_.state() / "pawl.sqlite3"; }
  // What `verify` says, once it said that something is wrong.
  std::string Complaint() {
    const Outcome outcome = project_.Verify();
    const Json* error = outcome.json.Find("error");
    const bool corrupt =
        outcome.exit_code == 2 && error != nullptr && error->StringAt("code") == "corrupt";
    EXPECT_TRUE(outcome.exit_code == 3 || corrupt) << outcome.Text();
    return outcome.out;
  }
  // The other verbs may go on or refuse; they must not crash.
  void NothingCrashes() {
    for (const char* verb : {"status", "summary", "gc", "experiment"}) {
      std::vector<std::string> words = {verb};
      if (words.front() == "experiment") words.insert(words.end(), {"--description", "x"});
      const Outcome outcome = project_.Pawl(words);
      EXPECT_LE(outcome.exit_code, 3) << verb << ": " << outcome.Text();
      const Json* error = outcome.json.Find("error");
      const std::string code = error == nullptr ? std::string() : error->StringAt("code");
      EXPECT_NE(code, "internal") << outcome.Text();
    }
  }

  Project project_{Options()};
};

TEST_F(Damage, AFlippedByteOfAnEventIsFound) {
  // In the database file or its log, wherever the event's text lies.
  int flipped = 0;
  for (const char* suffix : {"", "-wal"}) {
    const os::Path file = Ledger().string() + suffix;
    if (!os::Exists(file)) continue;
    std::string bytes = project_.Read(file);
    for (std::size_t at = bytes.find("\"verdict\":\"keep\""); at != std::string::npos;
         at = bytes.find("\"verdict\":\"keep\"", at + 1)) {
      bytes[at + 11] = 'K';
      ++flipped;
    }
    project_.Write(file, bytes, 0600);
  }
  ASSERT_GT(flipped, 0);
  const std::string complaint = Complaint();
  EXPECT_TRUE(complaint.find("event") != std::string::npos ||
              complaint.find("pawl.sqlite3") != std::string::npos)
      << complaint;
  NothingCrashes();
}

TEST_F(Damage, ATruncatedArtifactIsNamed) {
  std::vector<os::Path> victims;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(project_.state() / "objects")) {
    if (entry.is_regular_file() && entry.file_size() > 40) victims.push_back(entry.path());
  }
  ASSERT_FALSE(victims.empty());
  for (const os::Path& victim : victims) {
    std::filesystem::permissions(victim, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::filesystem::resize_file(victim, 20);
  }
  const std::string complaint = Complaint();
  int named = 0;
  for (const os::Path& victim : victims) {
    const std::string tail = victim.filename().string().substr(0, 16);
    named += complaint.find(tail) == std::string::npos ? 0 : 1;
  }
  EXPECT_GT(named, 0) << complaint;
  NothingCrashes();
}

TEST_F(Damage, ATruncatedDatabaseIsNamed) {
  std::filesystem::remove(Ledger().string() + "-wal");
  std::filesystem::resize_file(Ledger(), std::filesystem::file_size(Ledger()) / 2);
  EXPECT_NE(Complaint().find("pawl.sqlite3"), std::string::npos);
  NothingCrashes();
}

}  // namespace
}  // namespace pawl::fault
