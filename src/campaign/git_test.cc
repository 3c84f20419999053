#include "campaign/git.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "campaign/git_call.h"
#include "campaign/repository_fixture.h"
#include "campaign/scope_path.h"

namespace pawl::campaign {
namespace {

class GitTest : public testing::Test {
 protected:
  GitTest() : repository(folder.path() / "repo") {
    repository.Write("src/a.txt", "one\n");
    repository.Write("sub/project/b.txt", "b\n");
    first = repository.Commit("first");
  }
  TempFolder folder;
  TestRepository repository;
  CommitId first;
};

TEST_F(GitTest, OpensAProjectInASubFolder) {
  const auto worktree = OpenWorktree(repository.path() / "sub/project");
  ASSERT_TRUE(worktree.ok()) << worktree.error().Text();
  EXPECT_EQ(worktree->top, repository.path());
  EXPECT_EQ(worktree->prefix, "sub/project");
  EXPECT_EQ(worktree->branch, "main");
  EXPECT_EQ(worktree->head, first);
}

TEST_F(GitTest, DetachedUnbornAndLinkedWorktrees) {
  repository.Run({"checkout", "-q", "--detach"});
  EXPECT_EQ(OpenWorktree(repository.path())->branch, "");
  const TestRepository unborn(folder.path() / "unborn");
  const auto empty = OpenWorktree(unborn.path());
  ASSERT_TRUE(empty.ok()) << empty.error().Text();
  EXPECT_EQ(empty->branch, "main");
  EXPECT_FALSE(empty->head.has_value());
  repository.Run({"worktree", "add", "-q", "-b", "side", "../linked"});
  const auto linked = OpenWorktree(folder.path() / "linked");
  ASSERT_TRUE(linked.ok()) << linked.error().Text();
  EXPECT_EQ(linked->branch, "side");
  EXPECT_EQ(linked->head, first);
  EXPECT_TRUE(DirtyPaths(*linked)->empty());
}

TEST_F(GitTest, OutsideARepository) {
  TempFolder plain;
  const auto worktree = OpenWorktree(plain.path());
  ASSERT_FALSE(worktree.ok());
  EXPECT_EQ(worktree.error().code, Code::kNotFound);
  EXPECT_EQ(worktree.error().message,
            "project root is not a git repository: " + plain.path().string());
}

TEST_F(GitTest, DirtyPathsSeeEditsStagedFilesAndUntrackedNames) {
  const Worktree worktree = OpenWorktree(repository.path()).value();
  EXPECT_TRUE(DirtyPaths(worktree)->empty());
  repository.Write("src/a.txt", "two\n");
  repository.Write("new \xC3\xA9\nline", "x");
  repository.Write("staged", "x");
  repository.Run({"add", "staged"});
  EXPECT_EQ(DirtyPaths(worktree).value(),
            (std::vector<std::string>{"src/a.txt", "staged", "new \xC3\xA9\nline"}));
}

TEST_F(GitTest, IgnoredFilesAreNotDirty) {
  const Worktree worktree = OpenWorktree(repository.path()).value();
  repository.Write(".git/info/exclude", "*.log\n");
  repository.Write("a.log", "x");
  EXPECT_TRUE(DirtyPaths(worktree)->empty());
  // A touched file with the same content is clean, whatever its time stamp.
  repository.Write("src/a.txt", "one\n");
  EXPECT_TRUE(DirtyPaths(worktree)->empty());
}

TEST_F(GitTest, ResolvesWordsToCommits) {
  EXPECT_EQ(ResolveCommit(repository.path(), "HEAD").value(), first);
  EXPECT_EQ(ResolveCommit(repository.path(), first.hex.substr(0, 10)).value(), first);
  EXPECT_EQ(ResolveCommit(repository.path(), "main").value(), first);
  EXPECT_EQ(ResolveCommit(repository.path(), "nothing").error().code, Code::kNotFound);
  EXPECT_EQ(ResolveCommit(repository.path(), "--all").error().code, Code::kNotFound);
}

TEST_F(GitTest, MoveBranchComparesAndSwaps) {
  repository.Write("src/a.txt", "two\n");
  const CommitId second = repository.Commit("second");
  repository.Run({"branch", "campaign", first.hex});
  ASSERT_TRUE(MoveBranch(repository.path(), "campaign", first, second, "keep\n1").ok());
  EXPECT_EQ(ResolveCommit(repository.path(), "campaign").value(), second);
  const Status again = MoveBranch(repository.path(), "campaign", first, second, "keep 1");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kConflict);
  EXPECT_EQ(MoveBranch(repository.path(), "none", first, second, "x").error().code,
            Code::kConflict);
}

TEST_F(GitTest, MoveBranchRefusesASymbolicRef) {
  repository.Write("src/a.txt", "two\n");
  const CommitId second = repository.Commit("second");
  repository.Run({"branch", "other", first.hex});
  repository.Run({"symbolic-ref", "refs/heads/campaign", "refs/heads/other"});
  EXPECT_EQ(MoveBranch(repository.path(), "campaign", first, second, "x").error().code,
            Code::kConflict);
  EXPECT_EQ(ResolveCommit(repository.path(), "other").value(), first);
}

TEST_F(GitTest, EnvironmentHoldsNothingOfTheCallers) {
  ::setenv("GIT_DIR", "/nowhere", 1);
  ::setenv("GIT_CONFIG_COUNT", "1", 1);
  ::setenv("GIT_CONFIG_KEY_0", "core.fsmonitor", 1);
  ::setenv("GIT_CONFIG_VALUE_0", ("touch " + (folder.path() / "marker").string()).c_str(), 1);
  const auto worktree = OpenWorktree(repository.path());
  EXPECT_TRUE(worktree.ok() && DirtyPaths(*worktree).ok());
  for (const char* name : {"GIT_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"})
    ::unsetenv(name);
  EXPECT_FALSE(os::Exists(folder.path() / "marker"));
}

TEST(ScopePathTest, ComparesExactComponents) {
  EXPECT_TRUE(IsWithin("src/kernels/a.cu", "src/kernels"));
  EXPECT_TRUE(IsWithin("src/kernels", "src/kernels"));
  EXPECT_FALSE(IsWithin("src/kernels2/a.cu", "src/kernels"));
  EXPECT_FALSE(IsWithin("src", "src/kernels"));
  EXPECT_EQ(NormaliseRelative("./a//b/").value(), "a/b");
  EXPECT_EQ(NormaliseRelative("a\\b").value(), "a/b");
  EXPECT_EQ(NormaliseRelative(".github").value(), ".github");
}

TEST(ScopePathTest, OddNamesAreNamed) {
  for (const char* plain : {"a b/c", "\xC3\xA9t\xC3\xA9.py", ".gitignore", "a.b", "\xE6\x97\xA5"})
    EXPECT_EQ(OddName(plain), "") << plain;
  EXPECT_EQ(OddName("a/../b"), "name that climbs the tree");
  EXPECT_EQ(OddName("a//b"), "empty name");
  EXPECT_EQ(OddName("-rf"), "name with a leading dash");
  EXPECT_EQ(OddName("a\\b"), "name with a backslash");
  EXPECT_EQ(OddName("a/b "), "name with a blank or dot at its edge");
  EXPECT_EQ(OddName("a\nb"), "name with control or invisible characters");
  EXPECT_EQ(OddName("a\xE2\x80\xAE"
                    "b"),
            "name with control or invisible characters");
  EXPECT_EQ(OddName("a\xFF"), "name that is not UTF-8");
  EXPECT_EQ(OddName(std::string(300, 'x')), "name longer than 255 bytes");
  for (const char* git : {".git", ".GIT/config", "a/git~1", ".git::$INDEX_ALLOCATION",
                          ".g\xE2\x80\x8C"
                          "it"})
    EXPECT_NE(OddName(git), "") << git;
}

TEST(ScopePathTest, FoldsCaseAndForm) {
  EXPECT_EQ(FoldName("SRC/A"), FoldName("src/a"));
  EXPECT_EQ(FoldName("\xC3\x89"), FoldName("e\xCC\x81"));  // composed and decomposed
  EXPECT_NE(FoldName("a"), FoldName("b"));
}

}  // namespace
}  // namespace pawl::campaign
