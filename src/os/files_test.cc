#include "os/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/text.h"

namespace pawl::os {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-files-");
    ASSERT_TRUE(made.ok()) << made.error().Text();
    scratch_.emplace(std::move(made).value());
  }
  Path At(std::string_view name) const { return scratch_->path() / name; }
  void Put(std::string_view name, std::string_view bytes) const {
    const Status written = WriteFileAtomic(At(name), bytes, {.durable = false});
    ASSERT_TRUE(written.ok()) << written.error().Text();
  }

  std::optional<ScratchFolder> scratch_;
};

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    if (!entry.path().empty()) ++count;
  }
  return count;
}

TEST_F(Files, WritesAndReadsBack) {
  const std::string bytes("a\0b\xff\n", 5);
  ASSERT_TRUE(WriteFileAtomic(At("f"), bytes, {.mode = 0640}).ok());
  EXPECT_EQ(ReadFile(At("f")).value(), bytes);
  struct stat info{};
  ASSERT_EQ(::stat(At("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
  ASSERT_TRUE(WriteFileAtomic(At("f"), "", {}).ok());
  EXPECT_EQ(ReadFile(At("f")).value(), "");
}

TEST_F(Files, AFailedWriteLeavesTheOldContentAndNoTemporary) {
  ASSERT_EQ(::mkdir(At("taken").c_str(), 0755), 0);
  Put("taken/x", "old");
  EXPECT_FALSE(WriteFileAtomic(At("taken"), "new", {}).ok());
  const auto entries = ListTree(scratch_->path());
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[1].relative, "taken/x");
}

TEST_F(Files, ReadsKernelFilesWhoseSizeIsZero) {
  const auto status = ReadFile("/proc/self/status");
  ASSERT_TRUE(status.ok());
  EXPECT_NE(status->find("Pid:"), std::string::npos);
}

TEST_F(Files, RefusesWhatIsNoPlainFile) {
  ASSERT_EQ(::mkfifo(At("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/etc/passwd", At("link").c_str()), 0);
  EXPECT_EQ(ReadFile(At("fifo")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(ReadFile(scratch_->path()).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(ReadFile(At("link")).ok());
  EXPECT_EQ(ReadFile(At("link"), {.follow_links = false}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(ReadFile(At("absent")).error().code, Code::kNotFound);
}

TEST_F(Files, HoldsTheSizeLimitExactly) {
  Put("ten", "0123456789");
  EXPECT_TRUE(ReadFile(At("ten"), {.max_bytes = 10}).ok());
  EXPECT_EQ(ReadFile(At("ten"), {.max_bytes = 9}).error().code, Code::kResourceExhausted);
  EXPECT_EQ(ReadFile("/proc/self/status", {.max_bytes = 100}).error().code,
            Code::kResourceExhausted);
}

TEST_F(Files, MakesFoldersAndNamesTheObstacle) {
  ASSERT_TRUE(MakeFolders(At("a/b/c")).ok());
  EXPECT_TRUE(MakeFolders(At("a/b/c")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(At("a/b/c")));
  Put("file", "");
  EXPECT_EQ(MakeFolders(At("file")).error().code, Code::kAlreadyExists);
  EXPECT_FALSE(MakeFolders(At("file/below")).ok());
}

TEST_F(Files, RemovesATreeWithoutEnteringLinks) {
  Put("outside", "keep");
  ASSERT_TRUE(MakeFolders(At("other")).ok());
  Put("other/inside", "keep");
  ASSERT_TRUE(MakeFolders(At("tree/sub/closed")).ok());
  Put("tree/sub/closed/f", "x");
  ASSERT_EQ(::symlink(At("other").c_str(), At("tree/folder-link").c_str()), 0);
  ASSERT_EQ(::symlink(At("outside").c_str(), At("tree/sub/file-link").c_str()), 0);
  ASSERT_EQ(::chmod(At("tree/sub/closed").c_str(), 0), 0);
  ASSERT_EQ(::chmod(At("tree/sub").c_str(), 0500), 0);
  const Status removed = RemoveTree(At("tree"));
  ASSERT_TRUE(removed.ok()) << removed.error().Text();
  EXPECT_FALSE(Exists(At("tree")));
  EXPECT_EQ(ReadFile(At("other/inside")).value(), "keep");
  EXPECT_EQ(ReadFile(At("outside")).value(), "keep");
}

TEST_F(Files, RemovingALinkLeavesItsTarget) {
  ASSERT_TRUE(MakeFolders(At("target")).ok());
  Put("target/f", "keep");
  ASSERT_EQ(::symlink(At("target").c_str(), At("link").c_str()), 0);
  EXPECT_TRUE(RemoveTree(At("link")).ok());
  EXPECT_EQ(ReadFile(At("target/f")).value(), "keep");
  EXPECT_TRUE(RemoveTree(At("absent/below")).ok());
  EXPECT_EQ(RemoveTree("/").error().code, Code::kInvalidArgument);
  EXPECT_EQ(RemoveTree("").error().code, Code::kInvalidArgument);
}

TEST_F(Files, RemovesATreeDeeperThanStackAndDescriptorsAllow) {
  constexpr int kLevels = 5000;
  int folder = ::open(scratch_->path().c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < kLevels; ++i) {
    ASSERT_EQ(::mkdirat(folder, "d", 0700), 0);
    const int below = ::openat(folder, "d", O_RDONLY | O_DIRECTORY);
    ASSERT_GE(below, 0);
    ::close(folder);
    folder = below;
  }
  ::close(folder);
  const std::size_t before = OpenDescriptors();
  const Status removed = RemoveTree(At("d"));
  EXPECT_TRUE(removed.ok()) << removed.error().Text();
  EXPECT_FALSE(Exists(At("d")));
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(Files, CopiesContentModesTimesLinksAndHoles) {
  ASSERT_TRUE(MakeFolders(At("from/sub")).ok());
  Put("from/sub/run", "#!/bin/sh\n");
  ASSERT_EQ(::chmod(At("from/sub/run").c_str(), 04751), 0);
  ASSERT_EQ(::symlink("run", At("from/sub/alias").c_str()), 0);
  const int sparse = ::open(At("from/sparse").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(::ftruncate(sparse, off_t{1} << 32), 0);
  ASSERT_EQ(::pwrite(sparse, "end", 3, (off_t{1} << 32) - 3), 3);
  ::close(sparse);
  const std::array<timespec, 2> times = {timespec{1'000'000, 5}, timespec{2'000'000, 7}};
  for (const char* name : {"from/sub/run", "from/sub", "from"}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, At(name).c_str(), times.data(), 0), 0);
  }

  const Status copied = CopyTree(At("from"), At("to"));
  ASSERT_TRUE(copied.ok()) << copied.error().Text();
  EXPECT_EQ(ReadFile(At("to/sub/run")).value(), "#!/bin/sh\n");
  EXPECT_EQ(std::filesystem::read_symlink(At("to/sub/alias")), "run");
  struct stat info{};
  ASSERT_EQ(::stat(At("to/sub/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0751U);  // without the set-uid bit
  for (const char* name : {"to/sub/run", "to/sub", "to"}) {
    EXPECT_EQ(StampFile(At(name))->mtime_ns, 2'000'000'000'000'007) << name;
  }
  ASSERT_EQ(::stat(At("to/sparse").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, off_t{1} << 32);
  EXPECT_LT(info.st_blocks, 10'000);
  EXPECT_FALSE(CopyTree(At("from"), At("to")).ok());
  ASSERT_EQ(::mkfifo(At("from/fifo").c_str(), 0600), 0);
  EXPECT_EQ(CopyTree(At("from"), At("again")).error().code, Code::kInvalidArgument);
}

TEST_F(Files, MovesAFolderOutThroughNoLink) {
  ASSERT_TRUE(MakeFolders(At("precious/build")).ok());
  ASSERT_TRUE(MakeFolders(At("tree/out/build")).ok());
  Put("tree/out/build/x", "1");
  ASSERT_TRUE(MoveFolderOut(At("tree"), "out/build", At("kept")).ok());
  EXPECT_EQ(ReadFile(At("kept/x")).value(), "1");
  EXPECT_EQ(MoveFolderOut(At("tree"), "out/build", At("again")).error().code, Code::kNotFound);
  // A link on the way, and one in its place.
  std::filesystem::remove_all(At("tree/out"));
  std::filesystem::create_symlink(At("precious"), At("tree/out"));
  EXPECT_EQ(MoveFolderOut(At("tree"), "out/build", At("again")).error().code,
            Code::kInvalidArgument);
  std::filesystem::create_symlink(At("precious/build"), At("tree/link"));
  EXPECT_EQ(MoveFolderOut(At("tree"), "link", At("again")).error().code, Code::kInvalidArgument);
  Put("tree/file", "");
  EXPECT_EQ(MoveFolderOut(At("tree"), "file", At("again")).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(Exists(At("precious/build")));
  EXPECT_FALSE(Exists(At("again")));
}

TEST_F(Files, ListsSortedWithKinds) {
  ASSERT_TRUE(MakeFolders(At("b")).ok());
  Put("b/z", "12345");
  Put("a", "");
  ASSERT_EQ(::symlink("b", At("c").c_str()), 0);
  const auto entries = ListTree(scratch_->path());
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ((*entries)[0].relative, "a");
  EXPECT_EQ((*entries)[1].kind, FileKind::kFolder);
  EXPECT_EQ((*entries)[2].relative, "b/z");
  EXPECT_EQ((*entries)[2].size_bytes, 5U);
  EXPECT_EQ((*entries)[3].kind, FileKind::kLink);
}

TEST_F(Files, HashAndStampFollowTheContent) {
  Put("f", "abc");
  EXPECT_EQ(HashFile(At("f"))->hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const FileStamp before = StampFile(At("f")).value();
  EXPECT_EQ(StampFile(At("f")).value(), before);
  Put("f", "abd");
  EXPECT_NE(StampFile(At("f")).value(), before);
}

TEST_F(Files, TheLockNamesItsHolderAndIsInheritedByNoChild) {
  auto held = FileLock::Acquire(At("lock"), "pid 7, since noon");
  ASSERT_TRUE(held.ok());
  const auto refused = FileLock::Acquire(At("lock"), "me too");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kBusy);
  EXPECT_NE(refused.error().message.find("pid 7, since noon"), std::string::npos);

  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sleep", "sleep", "30", nullptr);
    ::_exit(1);
  }
  // Once the child runs sleep, only this process holds the lock.
  while (std::filesystem::read_symlink(Format("/proc/{}/exe", child)).filename() ==
         std::filesystem::read_symlink("/proc/self/exe").filename()) {
    ::usleep(1000);
  }
  held = MakeError(Code::kInternal, "dropped");
  EXPECT_TRUE(FileLock::Acquire(At("lock"), "next").ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(Files, ScratchFoldersOfKilledProcessesAreRemoved) {
  const auto alive = ScratchFolder::Make(scratch_->path(), "pawl-scratch-x-");
  const Path abandoned = At("pawl-scratch-x-abandoned");
  const Path other = At("pawl-scratched");
  for (const Path& folder : {abandoned, other}) ASSERT_TRUE(MakeFolders(folder).ok());
  ScratchFolder::RemoveAbandoned(scratch_->path());
  EXPECT_TRUE(Exists(abandoned)) << "it may have been made just now";
  ScratchFolder::RemoveAbandoned(scratch_->path(), std::chrono::seconds(0));
  EXPECT_FALSE(Exists(abandoned));
  EXPECT_TRUE(Exists(alive->path()));
  EXPECT_TRUE(Exists(other));
}

TEST_F(Files, ScratchFoldersGoAwayUnlessKept) {
  Path gone;
  Path kept;
  {
    auto a = ScratchFolder::Make(scratch_->path(), "s-");
    auto b = ScratchFolder::Make(scratch_->path(), "s-");
    ASSERT_TRUE(a.ok() && b.ok());
    gone = a->path();
    kept = b->path();
    EXPECT_NE(gone, kept);
    ASSERT_TRUE(WriteFileAtomic(gone / "f", "x", {}).ok());
    EXPECT_EQ(b->Keep(), kept);
  }
  EXPECT_FALSE(Exists(gone));
  EXPECT_TRUE(Exists(kept));
}

TEST(Programs, AreFoundOnAbsolutePathEntriesOnly) {
  EXPECT_TRUE(FindProgram("sh").is_absolute());
  EXPECT_EQ(FindProgram("no-such-program-here"), Path());
  EXPECT_EQ(FindProgram("/etc/passwd"), Path());
  EXPECT_TRUE(Exists(ExecutableFolder()));
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "bin:.:", 1);
  const Path here = std::filesystem::current_path();
  std::filesystem::current_path("/");
  EXPECT_EQ(FindProgram("sh"), Path());
  std::filesystem::current_path(here);
  ::setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace pawl::os
