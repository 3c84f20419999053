// Records that somebody, or the disk, changed behind Pawl's back: said by name, never a crash.
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/project.h"

namespace pawl::fault {
namespace {

using test::Outcome;
using test::Project;

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    if (!project_.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
    ASSERT_EQ(project_.Try("ops=9\n").verdict(), "keep");
    ASSERT_EQ(project_.Verify().exit_code, 0);
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
  // Every stored file. What no record names is gone after gc.
  std::vector<os::Path> Artifacts() {
    EXPECT_EQ(project_.Pawl({"gc"}).exit_code, 0);
    std::vector<os::Path> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(project_.state() / "objects")) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }
  // Damages one artifact after the other, each time demanding that `verify` names it and no other.
  void EachIsNamedAlone(const std::function<void(const os::Path&)>& damage) {
    const std::vector<os::Path> files = Artifacts();
    // Lock, configuration, contract, three scripts; logs and metric files of two runs; a diff.
    EXPECT_GE(files.size(), 10U);
    for (const os::Path& file : files) {
      const std::string bytes = project_.Read(file);
      damage(file);
      if (os::Exists(file) && project_.Read(file) == bytes) continue;  // an empty log stays empty
      const Outcome outcome = project_.Verify();
      EXPECT_EQ(outcome.exit_code, 3) << file << ": " << outcome.Text();
      const Json* problems = outcome.json.Find("problems");
      ASSERT_NE(problems, nullptr) << outcome.Text();
      EXPECT_FALSE(problems->AsArray()->empty());
      for (const Json& problem : *problems->AsArray()) {
        EXPECT_NE(problem.AsString()->find(file.string()), std::string::npos)
            << *problem.AsString() << "\ninstead of " << file;
      }
      project_.Write(file, bytes, 0600);
    }
    EXPECT_EQ(project_.Verify().exit_code, 0) << "with everything put back";
    damage(files.front());
    NothingCrashes();
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
  EachIsNamedAlone([](const os::Path& file) {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  });
}

TEST_F(Damage, AFlippedByteOfAnArtifactIsNamed) {
  EachIsNamedAlone([this](const os::Path& file) {
    std::string bytes = project_.Read(file);
    if (bytes.empty()) {
      bytes = "x";
    } else {
      bytes[bytes.size() / 2] ^= 1;
    }
    project_.Write(file, bytes, 0600);
  });
}

TEST_F(Damage, AMissingArtifactIsNamed) {
  EachIsNamedAlone([](const os::Path& file) { std::filesystem::remove(file); });
}

TEST_F(Damage, ATruncatedDatabaseIsNamed) {
  std::filesystem::remove(Ledger().string() + "-wal");
  std::filesystem::resize_file(Ledger(), std::filesystem::file_size(Ledger()) / 2);
  EXPECT_NE(Complaint().find("pawl.sqlite3"), std::string::npos);
  NothingCrashes();
}

}  // namespace
}  // namespace pawl::fault
