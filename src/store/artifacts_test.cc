#include "store/artifacts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

#include "base/text.h"
#include "os/process.h"
#include "store/test_folders.h"

namespace pawl::store {
namespace {

class ArtifactsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-objects-");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(made).value());
    folder_ = scratch_->path() / "objects";
  }
  Artifacts Open(OpenMode mode = OpenMode::kCreate) {
    Result<Artifacts> store = Artifacts::Open(folder_, mode);
    EXPECT_TRUE(store.ok()) << store.error().Text();
    return std::move(store).value();
  }
  static void Overwrite(const os::Path& path, std::string_view bytes) {
    ASSERT_TRUE(os::WriteFileAtomic(path, bytes).ok());
  }
  std::optional<os::ScratchFolder> scratch_;
  os::Path folder_;
};

TEST_F(ArtifactsTest, ContentIsFoundUnderItsHashAlsoByLaterReaders) {
  Artifacts store = Open();
  const Result<Sha256> hash = store.Put("hello");
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(*hash, HashBytes("hello"));
  ASSERT_TRUE(store.Flush().ok());
  const Artifacts reader = Open(OpenMode::kReadOnly);
  EXPECT_EQ(*reader.Get(*hash), "hello");
  EXPECT_TRUE(reader.Contains(*hash));
  EXPECT_TRUE(reader.Check(*hash).ok());
  EXPECT_EQ(reader.PathOf(*hash), folder_ / hash->hex().substr(0, 2) / hash->hex().substr(2));
  EXPECT_EQ(reader.Get(*hash, 4).error().code, Code::kResourceExhausted);
  EXPECT_EQ(reader.Get(HashBytes("other")).error().code, Code::kNotFound);
  EXPECT_FALSE(reader.Contains(HashBytes("other")));
}

TEST_F(ArtifactsTest, AReaderOfNothingMakesNothing) {
  const Artifacts reader = Open(OpenMode::kReadOnly);
  EXPECT_EQ(reader.Get(HashBytes("x")).error().code, Code::kNotFound);
  EXPECT_TRUE(reader.List()->empty());
  EXPECT_FALSE(os::Exists(folder_));
}

TEST_F(ArtifactsTest, AFileIsCopiedAndLaterChangesToItHaveNoEffect) {
  Artifacts store = Open();
  const os::Path source = scratch_->path() / "log";
  const std::string big(3 << 20, 'b');
  Overwrite(source, big);
  const Result<Sha256> hash = store.PutFile(source);
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(::truncate(source.c_str(), 3), 0);
  EXPECT_EQ(*store.Get(*hash), big);

  const os::Path link = scratch_->path() / "link";
  std::filesystem::create_symlink("/etc/passwd", link);
  const os::Path fifo = scratch_->path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(store.PutFile(link).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store.PutFile(fifo).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store.PutFile("/no/such/file").error().code, Code::kNotFound);
  EXPECT_EQ(store.List()->size(), 1U);
}

TEST_F(ArtifactsTest, DamageIsFoundAndMendedWhenTheContentComesAgain) {
  Artifacts store = Open();
  const Sha256 hash = store.Put("content").value();
  Overwrite(store.PathOf(hash), "c0ntent");
  EXPECT_EQ(store.Get(hash).error().code, Code::kCorrupt);
  EXPECT_EQ(store.Check(hash).error().code, Code::kCorrupt);
  EXPECT_EQ(*store.Put("content"), hash);
  EXPECT_EQ(*store.Get(hash), "content");
}

TEST_F(ArtifactsTest, LinksDevicesAndWrongNamesAreNeverFollowed) {
  Artifacts store = Open();
  const Sha256 linked = store.Put("linked").value();
  const Sha256 piped = store.Put("piped").value();
  const Sha256 kept = store.Put("kept").value();
  const os::Path outside = scratch_->path() / "outside";
  Overwrite(outside, "linked");
  std::filesystem::remove(store.PathOf(linked));
  std::filesystem::create_symlink(outside, store.PathOf(linked));
  std::filesystem::remove(store.PathOf(piped));
  ASSERT_EQ(::mkfifo(store.PathOf(piped).c_str(), 0600), 0);
  Overwrite(folder_ / "README", "not an object");
  Overwrite(store.PathOf(kept).parent_path() / "short", "not an object");

  EXPECT_EQ(store.Get(linked).error().code, Code::kCorrupt);
  EXPECT_EQ(store.Get(piped).error().code, Code::kCorrupt);
  EXPECT_FALSE(store.Contains(linked));
  EXPECT_EQ(*store.List(), std::vector<Sha256>({kept}));
  EXPECT_EQ(store.Strangers()->size(), 4U);
  // Putting the content again replaces the link and leaves its target alone.
  ASSERT_TRUE(store.Put("linked").ok());
  EXPECT_FALSE(std::filesystem::is_symlink(store.PathOf(linked)));
  EXPECT_EQ(*os::ReadFile(outside), "linked");

  // A whole sub-folder that is a link to elsewhere.
  const os::Path elsewhere = scratch_->path() / "elsewhere";
  std::filesystem::rename(store.PathOf(kept).parent_path(), elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, store.PathOf(kept).parent_path());
  EXPECT_EQ(store.Get(kept).error().code, Code::kCorrupt);
  EXPECT_EQ(store.Put("kept").error().code, Code::kCorrupt);
  EXPECT_FALSE(store.Remove(kept).ok());
  EXPECT_TRUE(os::Exists(elsewhere / kept.hex().substr(2)));

  std::filesystem::create_directory_symlink(folder_, scratch_->path() / "alias");
  EXPECT_EQ(Artifacts::Open(scratch_->path() / "alias").error().code, Code::kInvalidArgument);
}

TEST_F(ArtifactsTest, RemovedContentIsGoneAndRemovingTwiceIsFine) {
  Artifacts store = Open();
  const Sha256 hash = store.Put("x").value();
  ASSERT_TRUE(store.Remove(hash).ok());
  ASSERT_TRUE(store.Remove(hash).ok());
  EXPECT_FALSE(store.Contains(hash));
}

TEST_F(ArtifactsTest, WhatAKilledWriterLeftHalfDoneIsClearedAway) {
  {
    Open();
  }
  Overwrite(folder_ / ".put-0123456789abcdef", "half");
  const Artifacts store = Open();
  EXPECT_TRUE(os::ListTree(folder_)->empty());
}

TEST_F(ArtifactsTest, KilledAtAnyMomentNoObjectIsWrong) {
  for (int round = 0; round < 15; ++round) {
    int started[2];
    ASSERT_EQ(::pipe(started), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Artifacts> store = Artifacts::Open(folder_);
      for (int i = 0;; ++i) {
        if (!store->Put(Format("{} {} {}", round, i, std::string(20000, 'x'))).ok()) ::_exit(1);
        if (i == 0 && ::write(started[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char first = 0;  // an object is there: from now on every moment is one in the middle of a write
    EXPECT_EQ(::read(started[0], &first, 1), 1);
    ::close(started[0]);
    ::close(started[1]);
    ::usleep(static_cast<useconds_t>(1000 + 700 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  const Artifacts store = Open();
  const std::vector<Sha256> all = store.List().value();
  EXPECT_GT(all.size(), 0U);
  for (const Sha256& hash : all) EXPECT_TRUE(store.Check(hash).ok()) << hash.hex();
  EXPECT_TRUE(store.Strangers()->empty());
}

// NOLINTBEGIN(concurrency-mt-unsafe): the test program has one thread.
// The program of the injection test below: puts and flushes in a folder that the environment names,
// and says with its exit code what it saw.
TEST(ArtifactsInjection, DISABLED_Child) {
  const char* folder = std::getenv("PAWL_TEST_OBJECTS");
  ASSERT_NE(folder, nullptr);
  Result<Artifacts> store = Artifacts::Open(folder);
  ASSERT_TRUE(store.ok());
  const bool each = std::getenv("PAWL_TEST_EACH") != nullptr;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(store->Put(Format("object {}", i)).ok());
  const Status first = store->Flush(each ? Artifacts::Sync::kEachFile : Artifacts::Sync::kCheapest);
  if (first.ok()) ::_exit(10);
  // The data may be lost by now: gone from the store, and no later flush pretends otherwise.
  const bool empty = store->List()->empty();
  ::_exit(empty && !store->Flush().ok() && !store->Put("more").ok() ? 11 : 12);
}
// NOLINTEND(concurrency-mt-unsafe)

int RunInjected(const os::Path& folder, const std::string& inject, bool each, std::string& trace) {
  os::ToolCall call;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  call.argv = {"strace",
               "-f",
               "-qq",
               "-e",
               "trace=fsync,fdatasync,syncfs",
               "-e",
               inject,
               self,
               "--gtest_also_run_disabled_tests",
               "--gtest_filter=ArtifactsInjection.DISABLED_Child"};
  call.env = os::BasicEnvironment();
  call.env.push_back("PAWL_TEST_OBJECTS=" + folder.string());
  if (each) call.env.emplace_back("PAWL_TEST_EACH=1");
  const Result<os::ToolResult> result = os::RunTool(call);
  if (!result.ok()) return -1;
  trace = result->err;
  return result->exit_code;
}

TEST_F(ArtifactsTest, AFailedSyncIsReportedForGoodAndItsObjectsAreDropped) {
  if (os::FindProgram("strace").empty()) GTEST_SKIP() << "strace is not installed";
  std::string trace;
  const int plain = RunInjected(scratch_->path() / "plain", "inject=none:error=EIO", false, trace);
  if (plain != 10 && trace.find("ptrace") != std::string::npos) {
    GTEST_SKIP() << "ptrace is refused here: " << trace;
  }
  ASSERT_EQ(plain, 10) << trace;
  int fired = 0;
  for (const bool each : {false, true}) {
    for (const char* error : {"EIO", "ENOSPC"}) {
      const os::Path folder = scratch_->path() / Format("{}{}", error, each);
      const int end = RunInjected(
          folder, Format("inject=fsync,fdatasync,syncfs:error={}:when=1", error), each, trace);
      EXPECT_EQ(end, 11) << trace;
      fired += trace.find("(INJECTED)") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_EQ(fired, 4) << trace;
}

RC_GTEST_PROP(ArtifactsProperty, AnyBytesComeBack, (const std::vector<std::string>& contents)) {
  auto made = os::ScratchFolder::Make(FastFolder(), "pawl-objects-");
  RC_ASSERT(made.ok());
  Result<Artifacts> store = Artifacts::Open(made->path());
  std::set<std::string> distinct(contents.begin(), contents.end());
  std::vector<Sha256> hashes;
  hashes.reserve(contents.size());
  for (const std::string& bytes : contents) hashes.push_back(store->Put(bytes).value());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    RC_ASSERT(store->Get(hashes[i]).value() == contents[i]);
  }
  RC_ASSERT(store->List()->size() == distinct.size());
}

}  // namespace
}  // namespace pawl::store
