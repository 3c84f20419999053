// Repositories that try to run code or to lie when Pawl looks at them. Each mechanism is armed with
// a command that leaves a marker file; where plain git can be made to run it, the test first shows
// that it does, so that a test that can no longer fail is noticed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "campaign/git.h"
#include "campaign/repository_fixture.h"
#include "campaign/vault.h"

namespace pawl::campaign {
namespace {

class HostileTest : public testing::Test {
 protected:
  HostileTest() : repository(folder.path() / "repo"), marker(folder.path() / "marker") {
    repository.Write("src/a.cc", "one\n");
    repository.Write("src/data.bin", "data\n");
    base = repository.Commit("base");
    repository.Write("src/a.cc", "two\n");
    candidate = repository.Commit("candidate");
    repository.Run({"branch", "campaign", base.hex});
  }

  std::string Script(std::string_view name = "evil.sh") {
    const Path script = folder.path() / name;
    WriteText(script, Format("#!/bin/sh\ntouch {}\ncat\n", marker.string()));
    ::chmod(script.c_str(), 0755);
    return script.string();
  }
  void ExpectArmed() {
    EXPECT_TRUE(os::Exists(marker)) << "the trap does not work, so the test could not fail";
    std::filesystem::remove(marker);
  }

  // Everything that Pawl does with a user's repository.
  void DoEverything() {
    const auto worktree = OpenWorktree(repository.path());
    ASSERT_TRUE(worktree.ok()) << worktree.error().Text();
    const auto dirty = DirtyPaths(*worktree);
    EXPECT_TRUE(dirty.ok()) << dirty.error().Text();
    EXPECT_TRUE(ResolveCommit(repository.path(), "HEAD").ok());
    auto vault = Vault::Open(folder.path() / "state");
    ASSERT_TRUE(vault.ok());
    EXPECT_TRUE(vault->Fetch(repository.path(), base).ok());
    EXPECT_TRUE(vault->Fetch(repository.path(), candidate).ok());
    const auto facts =
        vault->Inspect(base, candidate, "", ProjectConfig(repository.path(), {"src"}, {}));
    EXPECT_TRUE(facts.ok());
    EXPECT_TRUE(vault->Diff(base, candidate, 1 << 20).ok());
    EXPECT_TRUE(vault->Materialise(candidate, folder.path() / "tree").ok());
    EXPECT_EQ(ReadText(folder.path() / "tree/src/a.cc"), "two\n");
    EXPECT_TRUE(vault->Export(repository.path(), candidate).ok());
    EXPECT_TRUE(MoveBranch(repository.path(), "campaign", base, candidate, "keep").ok());
    EXPECT_FALSE(os::Exists(marker)) << "something of the repository ran";
  }

  Path LooseObject(const std::string& hex) const {
    return repository.path() / ".git/objects" / hex.substr(0, 2) / hex.substr(2);
  }

  TempFolder folder;
  TestRepository repository;
  Path marker;
  CommitId base, candidate;
};

TEST_F(HostileTest, FsMonitor) {
  repository.Run({"config", "core.fsmonitor", Script()});
  repository.Run({"status"});
  ExpectArmed();
  DoEverything();
}

TEST_F(HostileTest, HooksOfEveryKind) {
  for (const char* hook :
       {"reference-transaction", "post-checkout", "pre-commit", "post-index-change", "update",
        "post-update", "pre-receive", "post-receive", "proc-receive", "fsmonitor-watchman",
        "pre-auto-gc", "post-rewrite", "push-to-checkout"}) {
    WriteText(repository.path() / ".git/hooks" / hook,
              Format("#!/bin/sh\ntouch {}\n", marker.string()));
    ::chmod((repository.path() / ".git/hooks" / hook).c_str(), 0755);
  }
  repository.Run({"branch", "arm"});
  ExpectArmed();
  DoEverything();
}

TEST_F(HostileTest, HooksPath) {
  const Path hooks = folder.path() / "hooks";
  WriteText(hooks / "reference-transaction", Format("#!/bin/sh\ntouch {}\n", marker.string()));
  ::chmod((hooks / "reference-transaction").c_str(), 0755);
  repository.Run({"config", "core.hooksPath", hooks.string()});
  repository.Run({"branch", "arm"});
  ExpectArmed();
  DoEverything();
}

TEST_F(HostileTest, CleanAndSmudgeFilters) {
  const std::string script = Script();
  repository.Run({"config", "filter.evil.clean", script});
  repository.Run({"config", "filter.evil.smudge", script});
  repository.Run({"config", "filter.evil.required", "true"});
  repository.Write(".git/info/attributes", "* filter=evil\n");
  std::filesystem::last_write_time(repository.path() / "src/data.bin",
                                   std::filesystem::file_time_type::clock::now());
  repository.Run({"status"});
  ExpectArmed();
  repository.Write("src/data.bin", "data\n");  // stale in the index again
  DoEverything();
}

TEST_F(HostileTest, FilterProcessesAndAttributesInTheTree) {
  repository.Write(".gitattributes", "* filter=evil diff=evil merge=evil export-ignore ident\n");
  base = repository.Commit("attributes");
  repository.Write("src/a.cc", "two\n$Id$\n");
  repository.Run({"branch", "-f", "campaign", base.hex});
  candidate = repository.Commit("candidate");
  const std::string script = Script();
  for (const char* key : {"filter.evil.process", "diff.evil.textconv", "diff.evil.command",
                          "merge.evil.driver", "diff.external"})
    repository.Run({"config", key, script});
  auto vault = Vault::Open(folder.path() / "state");
  ASSERT_TRUE(vault->Fetch(repository.path(), candidate).ok());
  ASSERT_TRUE(vault->Fetch(repository.path(), base).ok());
  ASSERT_TRUE(vault->Materialise(candidate, folder.path() / "tree").ok());
  EXPECT_EQ(ReadText(folder.path() / "tree/src/a.cc"), "two\n$Id$\n");
  EXPECT_TRUE(vault->Diff(base, candidate, 1 << 20).ok());
  repository.Write("src/data.bin", "data\n");
  EXPECT_TRUE(DirtyPaths(OpenWorktree(repository.path()).value()).ok());
  EXPECT_FALSE(os::Exists(marker));
}

TEST_F(HostileTest, ProgramsNamedInTheConfiguration) {
  const std::string script = Script();
  for (const char* key :
       {"core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager",
        "core.alternateRefsCommand", "gpg.program", "credential.helper",
        "uploadpack.packObjectsHook", "remote.origin.uploadpack", "diff.external",
        "sequence.editor", "trailer.x.cmd"})
    repository.Run({"config", key, script});
  repository.Run({"config", "log.showSignature", "true"});
  DoEverything();
}

TEST_F(HostileTest, APromisorRemoteIsNotAskedForWhatIsMissing) {
  const std::string blob = repository.Run({"rev-parse", candidate.hex + ":src/a.cc"});
  std::filesystem::remove(LooseObject(blob));
  repository.Run({"config", "core.repositoryFormatVersion", "1"});
  repository.Run({"config", "extensions.partialClone", "origin"});
  repository.Run({"config", "remote.origin.promisor", "true"});
  repository.Run({"config", "remote.origin.url", folder.path().string() + "/nothing"});
  repository.Run({"config", "remote.origin.uploadpack", Script()});
  repository.Run({"config", "remote.origin.vcs", "evil"});
  auto vault = Vault::Open(folder.path() / "state");
  const Status fetched = vault->Fetch(repository.path(), candidate);
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::kCorrupt) << fetched.error().Text();
  EXPECT_FALSE(vault->Contains(candidate));
  EXPECT_TRUE(OpenWorktree(repository.path()).ok());
  EXPECT_FALSE(os::Exists(marker));
}

TEST_F(HostileTest, ReplaceRefsHaveNoEffect) {
  const std::string honest = repository.Run({"rev-parse", candidate.hex + ":src/a.cc"});
  const std::string evil = repository.Run({"hash-object", "-w", "--stdin"}, "evil\n");
  repository.Run({"replace", honest, evil});
  EXPECT_EQ(repository.Run({"cat-file", "blob", honest}), "evil") << "the trap works";
  DoEverything();
}

TEST_F(HostileTest, GraftsHaveNoEffect) {
  // Claims that the candidate has no parent.
  repository.Write(".git/info/grafts", candidate.hex + "\n");
  auto vault = Vault::Open(folder.path() / "state");
  ASSERT_TRUE(vault->Fetch(repository.path(), candidate).ok());
  EXPECT_TRUE(vault->IsAncestor(base, candidate).value());
}

TEST_F(HostileTest, ARewrittenBlobDoesNotArrive) {
  const std::string honest = repository.Run({"rev-parse", candidate.hex + ":src/a.cc"});
  const std::string evil = repository.Run({"hash-object", "-w", "--stdin"}, "evil\n");
  std::filesystem::permissions(LooseObject(honest), std::filesystem::perms::owner_all);
  std::filesystem::copy_file(LooseObject(evil), LooseObject(honest),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(repository.Run({"cat-file", "blob", honest}), "evil") << "plain git is fooled";
  auto vault = Vault::Open(folder.path() / "state");
  EXPECT_TRUE(vault->Fetch(repository.path(), base).ok());
  const Status fetched = vault->Fetch(repository.path(), candidate);
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::kCorrupt) << fetched.error().Text();
  EXPECT_FALSE(vault->Contains(candidate));
}

TEST_F(HostileTest, ARewrittenCommitDoesNotArrive) {
  const CommitId other{
      repository.Run({"commit-tree", candidate.hex + "^{tree}", "-p", base.hex, "-m", "another"})};
  std::filesystem::permissions(LooseObject(candidate.hex), std::filesystem::perms::owner_all);
  std::filesystem::copy_file(LooseObject(other.hex), LooseObject(candidate.hex),
                             std::filesystem::copy_options::overwrite_existing);
  auto vault = Vault::Open(folder.path() / "state");
  EXPECT_TRUE(vault->Fetch(repository.path(), base).ok());
  const Status fetched = vault->Fetch(repository.path(), candidate);
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::kCorrupt) << fetched.error().Text();
  EXPECT_FALSE(vault->Contains(candidate));
}

TEST_F(HostileTest, MissingObjectsAndShallowHistoriesFail) {
  repository.Run({"clone", "-q", "--depth=1", "file://" + repository.path().string(),
                  (folder.path() / "shallow").string()});
  auto vault = Vault::Open(folder.path() / "state");
  const Status shallow = vault->Fetch(folder.path() / "shallow", candidate);
  ASSERT_FALSE(shallow.ok());
  EXPECT_EQ(shallow.error().code, Code::kCorrupt);
  EXPECT_EQ(shallow.error().hint, "the repository is a shallow clone; run `git fetch --unshallow`");
  std::filesystem::remove(LooseObject(base.hex));
  EXPECT_EQ(vault->Fetch(repository.path(), candidate).error().code, Code::kCorrupt);
}

TEST_F(HostileTest, AlternatesLendObjectsAndNothingElse) {
  repository.Run({"clone", "-q", "--shared", repository.path().string(),
                  (folder.path() / "borrower").string()});
  auto vault = Vault::Open(folder.path() / "state");
  EXPECT_TRUE(vault->Fetch(folder.path() / "borrower", candidate).ok());
  // The vault holds its own copy: it does not need the lender any more.
  std::filesystem::rename(repository.path(), folder.path() / "gone");
  EXPECT_TRUE(vault->Materialise(candidate, folder.path() / "tree").ok());
  EXPECT_FALSE(os::Exists(vault->folder() / "objects/info/alternates"));
}

TEST_F(HostileTest, CoreWorktreeLeadsNowhere) {
  std::filesystem::create_directories(folder.path() / "empty");
  repository.Run({"config", "core.worktree", (folder.path() / "empty").string()});
  const auto worktree = OpenWorktree(repository.path());
  ASSERT_TRUE(worktree.ok());
  EXPECT_EQ(worktree->top, repository.path());
  EXPECT_TRUE(DirtyPaths(*worktree)->empty());
}

TEST_F(HostileTest, ASubmodulesConfigurationIsNotObeyed) {
  TestRepository inner(repository.path() / "src/inner");
  inner.Write("x", "x");
  inner.Commit("inner");
  repository.Run({"-c", "protocol.file.allow=always", "submodule", "add", "-q",
                  inner.path().string(), "src/inner"});
  base = repository.Commit("with a submodule");
  inner.Run({"config", "core.fsmonitor", Script()});
  inner.Write("x", "changed");
  repository.Run({"status"});
  ExpectArmed();
  EXPECT_TRUE(DirtyPaths(OpenWorktree(repository.path()).value()).ok());
  EXPECT_FALSE(os::Exists(marker));
}

TEST_F(HostileTest, ABareRepositoryCommittedIntoTheTreeIsNotEntered) {
  const Path inner = repository.path() / "src/bare";
  std::filesystem::create_directories(inner / "objects");
  std::filesystem::create_directories(inner / "refs");
  WriteText(inner / "HEAD", "ref: refs/heads/main\n");
  WriteText(inner / "config",
            Format("[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {}\n", Script()));
  std::filesystem::create_directories(inner / "project");
  const auto worktree = OpenWorktree(inner / "project");
  ASSERT_TRUE(worktree.ok()) << worktree.error().Text();
  EXPECT_EQ(worktree->top, repository.path());
  EXPECT_TRUE(DirtyPaths(*worktree).ok());
  EXPECT_FALSE(os::Exists(marker));
}

}  // namespace
}  // namespace pawl::campaign
