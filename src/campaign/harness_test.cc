#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/harness_lock.h"
#include "campaign/repository_fixture.h"

namespace pawl::campaign {
namespace {

class HarnessTest : public testing::Test {
 protected:
  HarnessTest() : config(ProjectConfig(folder.path() / "project", {"src"}, {"eval", "bench.py"})) {
    Write("eval/score.py", "score\n");
    Write("eval/data/small.bin", "abc");
    Write("bench.py", "bench\n");
    ::chmod((config.root / "bench.py").c_str(), 0750);
    Write("config/autoresearch.json", "{}\n");
    Write("config/quality_contract.json", "{}\n");
  }
  void Write(std::string_view path, std::string_view text) { WriteText(config.root / path, text); }

  store::Artifacts Artifacts() {
    auto artifacts = store::Artifacts::Open(folder.path() / "objects");
    EXPECT_TRUE(artifacts.ok());
    return std::move(artifacts).value();
  }
  HarnessLock Lock() {
    store::Artifacts artifacts = Artifacts();
    auto lock = LockHarness(config, artifacts);
    EXPECT_TRUE(lock.ok()) << lock.error().Text();
    return lock.ok() ? std::move(lock).value() : HarnessLock{};
  }
  std::string LockError() {
    store::Artifacts artifacts = Artifacts();
    const auto lock = LockHarness(config, artifacts);
    return lock.ok() ? "" : lock.error().message;
  }
  std::vector<std::string> Changed(const HarnessLock& lock, LockCheck check = LockCheck::kQuick) {
    const auto changed = ChangedHarness(lock, config, check);
    EXPECT_TRUE(changed.ok()) << changed.error().Text();
    return changed.ok() ? *changed : std::vector<std::string>{};
  }

  TempFolder folder;
  Config config;
};

using Paths = std::vector<std::string>;

TEST_F(HarnessTest, LocksFilesFoldersConfigAndContract) {
  const HarnessLock lock = Lock();
  Paths paths;
  for (const LockedFile& file : lock.files) paths.push_back(file.path);
  EXPECT_EQ(paths, (Paths{"bench.py", "config/autoresearch.json", "config/quality_contract.json",
                          "eval/data/small.bin", "eval/score.py"}));
  EXPECT_EQ(lock.files[0].sha256, HashBytes("bench\n").hex());
  EXPECT_EQ(lock.CompatHashes().StringAt("eval/score.py"), HashBytes("score\n").hex());
  const auto copy = HarnessLock::FromJson(lock.ToJson());
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->ToJson(), lock.ToJson());
  EXPECT_TRUE(Changed(*copy).empty());
  EXPECT_TRUE(Changed(*copy, LockCheck::kFull).empty());
}

TEST_F(HarnessTest, IllFormedLocksAreCorrupt) {
  EXPECT_EQ(HarnessLock::FromJson(JsonObject{}).error().code, Code::kCorrupt);
  for (const char* key : {"size_bytes", "mode"}) {
    Json json = Lock().ToJson();
    (*(*(*json.AsObject())["files"].AsArray())[0].AsObject())[key] = -1;
    EXPECT_EQ(HarnessLock::FromJson(json).error().code, Code::kCorrupt) << key;
  }
  EXPECT_EQ(
      HarnessLock::FromJson(ParseJson(R"({"files": [{"path": "a", "sha256": "12"}]})", "l").value())
          .error()
          .code,
      Code::kCorrupt);
}

TEST_F(HarnessTest, ChangesAdditionsAndRemovalsAreNamed) {
  const HarnessLock lock = Lock();
  Write("eval/score.py", "SCORE\n");
  Write("eval/extra.py", "x");
  std::filesystem::remove(config.root / "bench.py");
  Write("config/quality_contract.json", "{\"metrics\": {}}\n");
  EXPECT_EQ(Changed(lock),
            (Paths{"bench.py", "config/quality_contract.json", "eval/extra.py", "eval/score.py"}));
}

TEST_F(HarnessTest, ATouchedFileWithTheSameContentIsUnchanged) {
  const HarnessLock lock = Lock();
  Write("eval/score.py", "score\n");  // new time stamps
  EXPECT_TRUE(Changed(lock).empty());
}

TEST_F(HarnessTest, FullCheckSeesWhatStampsHide) {
  HarnessLock lock = Lock();
  for (LockedFile& file : lock.files) {
    if (file.path == "eval/score.py") file.sha256 = HashBytes("other").hex();
  }
  EXPECT_TRUE(Changed(lock, LockCheck::kQuick).empty());
  EXPECT_EQ(Changed(lock, LockCheck::kFull), Paths{"eval/score.py"});
}

TEST_F(HarnessTest, UnchangedDataIsRecognisedWithoutReading) {
  // Ten sparse files of 1 GiB. Their recorded hash is wrong on purpose: reading any would show.
  HarnessLock lock = Lock();
  for (int i = 0; i < 10; ++i) {
    const std::string path = Format("eval/data/big{}", i);
    Write(path, "");
    ASSERT_EQ(::truncate((config.root / path).c_str(), off_t{1} << 30), 0);
    LockedFile file;
    file.path = path;
    file.sha256 = HashBytes("never read").hex();
    file.in_place = true;
    file.stamp = os::StampFile(config.root / path).value();
    file.size_bytes = file.stamp.size_bytes;
    lock.files.push_back(file);
  }
  EXPECT_TRUE(Changed(lock).empty());
}

TEST_F(HarnessTest, LinksInsideTheProjectAreReadThrough) {
  Write("shared/helper.py", "help\n");
  std::filesystem::create_symlink("../shared/helper.py", config.root / "eval/helper.py");
  const HarnessLock lock = Lock();
  EXPECT_EQ(lock.CompatHashes().StringAt("eval/helper.py"), HashBytes("help\n").hex());
  Write("shared/helper.py", "HELP\n");
  EXPECT_EQ(Changed(lock), Paths{"eval/helper.py"});
}

TEST_F(HarnessTest, WhatCannotBeLockedIsRefusedByName) {
  const Path link = config.root / "eval/link";
  std::filesystem::create_symlink("/etc/passwd", link);
  EXPECT_EQ(LockError(),
            "fixed path cannot be locked: symbolic link leaves the project: "
            "eval/link -> /etc/passwd");
  std::filesystem::remove(link);
  std::filesystem::create_symlink("data", link);
  EXPECT_EQ(LockError(),
            "fixed path cannot be locked: symbolic link to a folder: eval/link (name "
            "its target in fixed_paths)");
  std::filesystem::remove(link);
  ASSERT_EQ(::mkfifo(link.c_str(), 0600), 0);
  EXPECT_EQ(LockError(), "fixed path cannot be locked: special file: eval/link");
  std::filesystem::remove(link);
  config.fixed_paths.emplace_back("gone");
  EXPECT_EQ(LockError(), "fixed path missing: gone");
}

TEST_F(HarnessTest, AFixedFolderThatBecomesALinkIsChanged) {
  const HarnessLock lock = Lock();
  std::filesystem::rename(config.root / "eval", folder.path() / "elsewhere");
  std::filesystem::create_symlink(folder.path() / "elsewhere", config.root / "eval");
  EXPECT_EQ(Changed(lock), (Paths{"eval", "eval/data/small.bin", "eval/score.py"}));
}

TEST_F(HarnessTest, OverlayReplacesExactly) {
  const HarnessLock lock = Lock();
  const Path tree = folder.path() / "tree";
  WriteText(tree / "src/a.cc", "candidate\n");
  WriteText(tree / "eval/score.py", "cheat\n");
  WriteText(tree / "eval/conftest.py", "cheat\n");
  WriteText(tree / "bench.py/nested", "a folder in a file's place\n");
  const Path precious = folder.path() / "precious";
  WriteText(precious / "quality_contract.json", "precious\n");
  std::filesystem::create_symlink(precious, tree / "config");
  const auto mounts = OverlayHarness(lock, config, Artifacts(), tree);
  ASSERT_TRUE(mounts.ok()) << mounts.error().Text();
  EXPECT_TRUE(mounts->empty());
  EXPECT_EQ(ReadText(tree / "eval/score.py"), "score\n");
  EXPECT_FALSE(os::Exists(tree / "eval/conftest.py"));
  EXPECT_EQ(ReadText(tree / "bench.py"), "bench\n");
  EXPECT_EQ(ReadText(tree / "config/quality_contract.json"), "{}\n");
  EXPECT_FALSE(std::filesystem::is_symlink(tree / "config"));
  EXPECT_EQ(ReadText(precious / "quality_contract.json"), "precious\n");
  EXPECT_EQ(ReadText(tree / "src/a.cc"), "candidate\n");
  struct stat info{};
  ASSERT_EQ(::stat((tree / "bench.py").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
}

TEST_F(HarnessTest, LargeFilesStayInPlace) {
  Write("eval/data/weights.bin", std::string((8U << 20) + 1, 'w'));
  const HarnessLock lock = Lock();
  const Path tree = folder.path() / "tree";
  std::filesystem::create_directories(tree);
  const auto mounts = OverlayHarness(lock, config, Artifacts(), tree);
  ASSERT_TRUE(mounts.ok()) << mounts.error().Text();
  ASSERT_EQ(mounts->size(), 1U);
  EXPECT_EQ(mounts->front().host, config.root / "eval/data/weights.bin");
  EXPECT_EQ(mounts->front().inside, tree / "eval/data/weights.bin");
  EXPECT_EQ(mounts->front().access, os::Access::kReadOnly);
  EXPECT_EQ(std::filesystem::file_size(tree / "eval/data/weights.bin"), 0U);
}

TEST_F(HarnessTest, AbsoluteFixedPathsStayInPlaceAndAreWatched) {
  WriteText(folder.path() / "data/x.bin", "x");
  config.fixed_paths.push_back((folder.path() / "data").string());
  const HarnessLock lock = Lock();
  EXPECT_TRUE(lock.files.front().in_place);
  const Path tree = folder.path() / "tree";
  std::filesystem::create_directories(tree);
  EXPECT_TRUE(OverlayHarness(lock, config, Artifacts(), tree)->empty());
  WriteText(folder.path() / "data/x.bin", "y");
  EXPECT_EQ(Changed(lock), Paths{(folder.path() / "data/x.bin").string()});
}

TEST_F(HarnessTest, ADamagedSnapshotIsNoticed) {
  const HarnessLock lock = Lock();
  const store::Artifacts artifacts = Artifacts();
  const Path stored = artifacts.PathOf(HashBytes("score\n"));
  ::chmod(stored.c_str(), 0644);
  WriteText(stored, "cheat\n");
  const Path tree = folder.path() / "tree";
  std::filesystem::create_directories(tree);
  EXPECT_EQ(OverlayHarness(lock, config, artifacts, tree).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace pawl::campaign
