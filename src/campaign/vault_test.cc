#include "campaign/vault.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "campaign/repository_fixture.h"
#include "campaign/tree_writer.h"

namespace pawl::campaign {
namespace {

using Kind = IntakeRefusal::Kind;

class VaultTest : public testing::Test {
 protected:
  VaultTest() : repository(folder.path() / "repo"), config(Project()) {
    repository.Write("src/a.cc", "one\n");
    repository.Write("src/tool.sh", "#!/bin/sh\n");
    ::chmod((repository.path() / "src/tool.sh").c_str(), 0755);
    repository.Write("eval/score.py", "score\n");
    repository.Write("config/autoresearch.json", "{}\n");
    repository.Write("config/quality_contract.json", "{}\n");
    repository.Write("README", "hello\n");
    base = repository.Commit("base");
  }

  Config Project() const { return ProjectConfig(repository.path(), {"src"}, {"eval"}); }

  Vault OpenVault() {
    auto vault = Vault::Open(folder.path() / "state");
    EXPECT_TRUE(vault.ok()) << vault.error().Text();
    return std::move(vault).value();
  }

  // Commits what is in the work tree and inspects it against the base.
  CandidateFacts Try(std::string_view message = "try") {
    return InspectCommit(repository.Commit(message));
  }
  CandidateFacts InspectCommit(const CommitId& commit, std::string_view prefix = "") {
    Vault vault = OpenVault();
    EXPECT_TRUE(vault.Fetch(repository.path(), base).ok());
    const Status fetched = vault.Fetch(repository.path(), commit);
    EXPECT_TRUE(fetched.ok()) << fetched.error().Text();
    auto facts = vault.Inspect(base, commit, prefix, config);
    EXPECT_TRUE(facts.ok()) << facts.error().Text();
    return facts.ok() ? std::move(facts).value() : CandidateFacts{};
  }

  // A commit on the base whose tree holds what no work tree could.
  CommitId CommitTree(const std::string& entries) {
    const std::string tree = repository.Run({"mktree", "-z"}, entries);
    return CommitId{repository.Run({"commit-tree", tree, "-p", base.hex, "-m", "made"})};
  }
  std::string Blob(std::string text) {
    return repository.Run({"hash-object", "-w", "--stdin"}, std::move(text));
  }
  // The base's entries, to add to.
  std::string BaseEntries() {
    std::string entries = repository.Run({"ls-tree", base.hex});
    for (char& c : entries) c = c == '\n' ? '\0' : c;
    return entries + '\0';
  }

  TempFolder folder;
  TestRepository repository;
  Config config;
  CommitId base;
};

TEST_F(VaultTest, LetsAnInScopeCandidateIn) {
  repository.Write("src/a.cc", "two\nthree\n");
  repository.Write("src/n\xC3\xA9w file.cc", "x\n");
  const CandidateFacts facts = Try("A better way\n\nbody");
  EXPECT_EQ(facts.refusal.kind, Kind::kNone) << Join(facts.refusal.reasons, "; ");
  EXPECT_EQ(facts.parent, base);
  EXPECT_EQ(facts.subject, "A better way");
  ASSERT_EQ(facts.changes.size(), 2U);
  EXPECT_EQ(facts.changes[0].path, "src/a.cc");
  EXPECT_EQ(facts.changes[1].old_mode, "");
}

TEST_F(VaultTest, RenamesAreDeletePlusAdd) {
  repository.Run({"mv", "README", "src/README"});
  const CandidateFacts facts = Try();
  EXPECT_EQ(facts.refusal.kind, Kind::kScope);
  EXPECT_EQ(facts.refusal.reasons, std::vector<std::string>{"outside mutable_paths: README"});
  EXPECT_EQ(facts.changes.size(), 2U);
}

TEST_F(VaultTest, HarnessConfigAndContractAreHarness) {
  for (const char* path : {"eval/score.py", "eval/new.py", "config/autoresearch.json",
                           "config/quality_contract.json"}) {
    repository.Run({"reset", "-q", "--hard", base.hex});
    repository.Write(path, "other\n");
    repository.Write("Makefile", "out of scope too\n");
    const CandidateFacts facts = Try();
    EXPECT_EQ(facts.refusal.kind, Kind::kHarness) << path;
    const std::string reasons = Join(facts.refusal.reasons, "; ");
    EXPECT_NE(reasons.find(Format("fixed harness path changed: {}", path)), std::string::npos);
    EXPECT_NE(reasons.find("outside mutable_paths: Makefile"), std::string::npos);
  }
}

TEST_F(VaultTest, AFileInTheHarnessFoldersPlaceIsHarness) {
  repository.Run({"rm", "-rq", "eval"});
  repository.Write("eval", "a file now\n");
  EXPECT_EQ(Try().refusal.kind, Kind::kHarness);
}

TEST_F(VaultTest, PathComponentsAreExact) {
  repository.Write("src2/a.cc", "x\n");
  EXPECT_EQ(Try().refusal.reasons, std::vector<std::string>{"outside mutable_paths: src2/a.cc"});
}

TEST_F(VaultTest, TheWholeRangeCountsNotTheLastCommit) {
  repository.Write("Makefile", "x\n");
  repository.Commit("first half");
  repository.Write("src/a.cc", "x\n");
  EXPECT_EQ(Try("second half").refusal.kind, Kind::kScope);
  repository.Run({"rm", "-q", "Makefile"});
  EXPECT_EQ(Try("taken back").refusal.kind, Kind::kNone);
}

TEST_F(VaultTest, MustDescendFromTheIncumbent) {
  repository.Run({"checkout", "-q", "--orphan", "elsewhere"});
  repository.Write("src/a.cc", "x\n");
  const CandidateFacts facts = Try();
  EXPECT_EQ(facts.refusal.kind, Kind::kScope);
  EXPECT_EQ(facts.refusal.reasons.front(), "does not descend from the incumbent " + base.brief());
  EXPECT_TRUE(facts.parent.empty());
}

TEST_F(VaultTest, AMergeInScopeIsLetIn) {
  repository.Run({"checkout", "-q", "-b", "side"});
  repository.Write("src/b.cc", "b\n");
  repository.Commit("side");
  repository.Run({"checkout", "-q", "main"});
  repository.Write("src/a.cc", "m\n");
  repository.Commit("main");
  repository.Run({"merge", "-q", "--no-edit", "side"});
  EXPECT_EQ(InspectCommit(repository.Head()).refusal.kind, Kind::kNone);
}

TEST_F(VaultTest, ProjectInASubFolder) {
  repository.Write("part/src/x.cc", "x\n");
  repository.Write("part/eval/s.py", "s\n");
  base = repository.Commit("with a part");
  config = ProjectConfig(repository.path() / "part", {"src"}, {"eval", "../README"});
  repository.Write("part/src/x.cc", "y\n");
  EXPECT_EQ(InspectCommit(repository.Commit("in"), "part").refusal.kind, Kind::kNone);
  repository.Write("src/a.cc", "outside of the part\n");
  EXPECT_EQ(InspectCommit(repository.Commit("out"), "part").refusal.kind, Kind::kScope);
  repository.Write("README", "fixed from above the root\n");
  EXPECT_EQ(InspectCommit(repository.Commit("fixed"), "part").refusal.kind, Kind::kHarness);
}

TEST_F(VaultTest, LinksAndSubmodulesAreRefusedByName) {
  std::filesystem::create_symlink("/etc/passwd", repository.path() / "src/link");
  CandidateFacts facts = Try();
  EXPECT_EQ(facts.refusal.kind, Kind::kScope);
  EXPECT_EQ(facts.refusal.reasons, std::vector<std::string>{"symbolic link: src/link"});
  repository.Run({"reset", "-q", "--hard", base.hex});
  repository.Run({"update-index", "--add", "--cacheinfo", "160000," + base.hex + ",src/mod"});
  repository.Run({"commit", "-q", "-m", "module"});
  facts = InspectCommit(repository.Head());
  EXPECT_EQ(facts.refusal.reasons, std::vector<std::string>{"submodule: src/mod"});
}

TEST_F(VaultTest, AFileSwappedForALinkIsRefused) {
  std::filesystem::remove(repository.path() / "src/a.cc");
  std::filesystem::create_symlink("../eval/score.py", repository.path() / "src/a.cc");
  EXPECT_EQ(Try().refusal.reasons, std::vector<std::string>{"symbolic link: src/a.cc"});
}

TEST_F(VaultTest, NamesThatNoWorkTreeCouldHold) {
  const std::string blob = Blob("x");
  const struct {
    std::string name, reason;
  } odd[] = {{"..", "name that climbs the tree: src/.."},
             {".git", "name of git's own folder: src/.git"},
             {".GiT", "name of git's own folder: src/.GiT"},
             {"a\nb", "name with control or invisible characters: src/a b"},
             {"-x", "name with a leading dash: src/-x"}};
  const std::string a = repository.Run({"rev-parse", base.hex + ":src/a.cc"});
  for (const auto& [name, reason] : odd) {
    const std::string src =
        repository.Run({"mktree", "-z"}, Format("100644 blob {}\t{}{}", blob, name, '\0'));
    std::string entries = BaseEntries();
    const auto at = entries.find("\tsrc");
    entries.replace(at - 40, 40, src);
    const CandidateFacts facts = InspectCommit(CommitTree(entries));
    EXPECT_EQ(facts.refusal.kind, Kind::kScope) << name;
    ASSERT_FALSE(facts.refusal.reasons.empty()) << name;
    EXPECT_EQ(facts.refusal.reasons.front(), reason);
  }
}

TEST_F(VaultTest, CaseAndFormCollisionsAreRefused) {
  repository.Run({"config", "core.ignorecase", "false"});
  repository.Write("src/A.CC", "x\n");
  CandidateFacts facts = Try();
  EXPECT_EQ(facts.refusal.kind, Kind::kScope);
  EXPECT_EQ(facts.refusal.reasons,
            std::vector<std::string>{"name that differs from `src/a.cc` only in case or form: "
                                     "src/A.CC"});
  repository.Run({"reset", "-q", "--hard", base.hex});
  config.mutable_paths.emplace_back("Eval");
  repository.Write("Eval/score.py", "shadow\n");
  facts = Try();
  EXPECT_EQ(facts.refusal.kind, Kind::kScope);
}

TEST_F(VaultTest, ATreeThatHoldsANameTwiceIsInvalid) {
  // mktree refuses this; a tree object written by hand does not.
  const std::string blob = Blob("x");
  std::string raw;
  const auto add = [&](std::string_view mode_and_name, const std::string& hex) {
    raw += mode_and_name;
    raw += '\0';
    for (std::size_t i = 0; i < hex.size(); i += 2)
      raw += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  };
  add("100644 a", blob);
  add("100644 a", Blob("y"));
  const std::string tree =
      repository.Run({"hash-object", "-w", "-t", "tree", "--literally", "--stdin"}, raw);
  const CommitId commit{repository.Run({"commit-tree", tree, "-p", base.hex, "-m", "twice"})};
  const CandidateFacts facts = InspectCommit(commit);
  EXPECT_NE(Join(facts.refusal.reasons, "; ").find("the tree holds a name twice: a"),
            std::string::npos);
}

TEST_F(VaultTest, ATreeBombIsRefusedNotSuffered) {
  std::string inner = Blob("x");
  std::string kind = "100644 blob";
  for (int level = 0; level < 9; ++level) {
    std::string entries;
    for (int i = 0; i < 10; ++i) entries += Format("{} {}\td{}{}", kind, inner, i, '\0');
    inner = repository.Run({"mktree", "-z"}, entries);
    kind = "040000 tree";
  }
  const CommitId commit{repository.Run({"commit-tree", inner, "-p", base.hex, "-m", "bomb"})};
  const CandidateFacts facts = InspectCommit(commit);
  EXPECT_EQ(facts.refusal.kind, Kind::kInvalid);
  EXPECT_EQ(facts.refusal.reasons, std::vector<std::string>{"the tree is too large to be listed"});
}

TEST_F(VaultTest, TooManyChangedFilesAreRefused) {
  std::string import =
      "commit refs/heads/many\ncommitter A <a@b> 1700000000 +0000\ndata 4\nmany\n"
      "from " +
      base.hex + "\n";
  for (int i = 0; i < 20'001; ++i) import += Format("M 100644 inline src/f{}\ndata 1\nx\n", i);
  repository.Run({"fast-import", "--quiet"}, import);
  const CandidateFacts facts = InspectCommit(CommitId{repository.Run({"rev-parse", "many"})});
  EXPECT_EQ(facts.refusal.kind, Kind::kInvalid);
  EXPECT_EQ(facts.refusal.reasons,
            std::vector<std::string>{"changes 20001 files; at most 20000 are let in"});
}

TEST_F(VaultTest, FetchNamesWhatIsWrongWithAnId) {
  Vault vault = OpenVault();
  EXPECT_EQ(vault.Fetch(repository.path(), CommitId{"HEAD"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(vault.Fetch(repository.path(), CommitId{std::string(40, 'a')}).error().code,
            Code::kNotFound);
  const CommitId tree{repository.Run({"rev-parse", "HEAD^{tree}"})};
  EXPECT_EQ(vault.Fetch(repository.path(), tree).error().code, Code::kInvalidArgument);
  repository.Run({"tag", "-a", "-m", "t", "v1"});
  const CommitId tag{repository.Run({"rev-parse", "v1"})};
  EXPECT_EQ(vault.Fetch(repository.path(), tag).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(vault.folder() / "refs" / "pawl")) << "nothing is pinned";
  EXPECT_TRUE(vault.Fetch(repository.path(), base).ok());
  EXPECT_TRUE(vault.Contains(base));
  EXPECT_TRUE(vault.Fetch(repository.path(), base).ok()) << "a second time";
}

TEST_F(VaultTest, ManyPacksAreRepacked) {
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), base).ok());
  const Path packs = vault.folder() / "objects/pack";
  const auto count = [&] {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(packs)) {
      if (entry.path().extension() == ".pack") ++found;
    }
    return found;
  };
  Path pack;
  for (const auto& entry : std::filesystem::directory_iterator(packs)) {
    if (entry.path().extension() == ".pack") pack = entry.path();
  }
  for (int i = 0; i < 45; ++i) {
    for (const char* extension : {".pack", ".idx"}) {
      Path from = pack;
      from.replace_extension(extension);
      std::filesystem::copy_file(from, packs / Format("pack-{}{}", i, extension));
    }
  }
  ASSERT_EQ(count(), 46U);
  repository.Write("src/a.cc", "next\n");
  const CommitId next = repository.Commit("next");
  ASSERT_TRUE(vault.Fetch(repository.path(), next).ok());
  EXPECT_LE(count(), 40U);
  EXPECT_TRUE(vault.IsAncestor(base, next).value());
  EXPECT_EQ(vault.ReadTree(next)->size(), 6U);
}

TEST_F(VaultTest, MaterialisesModesTimesAndNames) {
  std::filesystem::create_symlink("README", repository.path() / "old-link");
  repository.Write(".gitattributes", "*.cc export-ignore ident\nREADME eol=crlf\n");
  repository.Write("src/id.cc", "$Id$\n");
  base = repository.Commit("with a link");
  repository.Write("src/a.cc", "changed\n");
  const CommitId next = repository.Commit("next");
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), next).ok());
  const Path tree = folder.path() / "tree";
  ASSERT_TRUE(vault.Materialise(next, tree, &base).ok());
  EXPECT_EQ(ReadText(tree / "src/a.cc"), "changed\n");
  EXPECT_EQ(ReadText(tree / "src/id.cc"), "$Id$\n");
  EXPECT_EQ(ReadText(tree / "README"), "hello\n");
  EXPECT_FALSE(std::filesystem::is_symlink(tree / "old-link"));
  EXPECT_FALSE(os::Exists(tree / ".git"));
  struct stat info{};
  ASSERT_EQ(::stat((tree / "src/tool.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
  EXPECT_EQ(info.st_mtime, kFixedMtimeSeconds);
  ASSERT_EQ(::stat((tree / "src/a.cc").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0644U);
  EXPECT_GT(info.st_mtime, kFixedMtimeSeconds);
  EXPECT_EQ(vault.Materialise(next, tree).error().code, Code::kAlreadyExists);
}

TEST_F(VaultTest, WorkTreeStateHasNoEffect) {
  repository.Write("src/a.cc", "committed\n");
  const CommitId commit = repository.Commit("real");
  repository.Run({"update-index", "--assume-unchanged", "src/a.cc"});
  repository.Write("src/a.cc", "in the work tree only\n");
  repository.Write("src/untracked.cc", "x\n");
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), commit).ok());
  const Path tree = folder.path() / "tree";
  ASSERT_TRUE(vault.Materialise(commit, tree).ok());
  EXPECT_EQ(ReadText(tree / "src/a.cc"), "committed\n");
  EXPECT_FALSE(os::Exists(tree / "src/untracked.cc"));
}

TEST_F(VaultTest, BlobsLargerThanABatchAndManyFiles) {
  const std::string large(20U << 20, 'x');
  repository.Write("src/large.bin", large);
  for (int i = 0; i < 300; ++i) repository.Write(Format("src/d{}/f", i), Format("{}", i));
  const CommitId commit = repository.Commit("large");
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), commit).ok());
  const Path tree = folder.path() / "tree";
  ASSERT_TRUE(vault.Materialise(commit, tree).ok());
  EXPECT_EQ(std::filesystem::file_size(tree / "src/large.bin"), large.size());
  for (int i = 0; i < 300; ++i) EXPECT_EQ(ReadText(tree / Format("src/d{}/f", i)), Format("{}", i));
}

TEST_F(VaultTest, DiffIsCutAtALine) {
  repository.Write("src/a.cc", std::string(1000, 'z') + "\nshort\n");
  const CommitId next = repository.Commit("next");
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), next).ok());
  const Vault::Difference diff = vault.Diff(base, next, 1 << 20).value();
  EXPECT_TRUE(diff.text.starts_with("diff --git a/src/a.cc")) << diff.text;
  EXPECT_NE(diff.text.find("-one\n"), std::string::npos);
  EXPECT_EQ(diff.lines_added, 2);
  EXPECT_EQ(diff.lines_removed, 1);
  const Vault::Difference cut = vault.Diff(base, next, 100).value();
  EXPECT_NE(cut.text.find("... cut:"), std::string::npos);
  EXPECT_EQ(cut.lines_added, 2);
  EXPECT_EQ(vault.Diff(base, base, 100)->text, "");
}

TEST_F(VaultTest, PatchesBecomeTheSameCommitEveryTime) {
  repository.Write("src/a.cc", "two\n");
  const CommitId made = repository.Commit("Subject of the mail");
  const std::string diff = repository.Run({"diff", base.hex, made.hex}) + "\n";
  const std::string mail = repository.Run({"format-patch", "-1", "--stdout"}) + "\n";
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), base).ok());
  const auto plain = vault.CommitPatch(base, diff, "Idea");
  ASSERT_TRUE(plain.ok()) << plain.error().Text();
  EXPECT_EQ(vault.CommitPatch(base, mail, "Idea").value(), *plain);
  EXPECT_EQ(vault.CommitPatch(base, "Idea\nClass: exact\n\n" + diff, "Idea").value(), *plain);
  EXPECT_TRUE(vault.Contains(*plain));
  const auto facts = vault.Inspect(base, *plain, "", config);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->subject, "Idea");
  EXPECT_EQ(facts->refusal.kind, Kind::kNone);
  EXPECT_EQ(vault.ReadTree(*plain)->size(), 6U);
}

TEST_F(VaultTest, PatchesWithMiscountedHunksApply) {
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), base).ok());
  const std::string patch = "--- a/src/a.cc\n+++ b/src/a.cc\n@@ -1,7 +1,9 @@\n-one\n+two\n+three\n";
  EXPECT_TRUE(vault.CommitPatch(base, patch, "Idea").ok());
}

TEST_F(VaultTest, PatchesThatDoNotApplyOrEscapeAreRefused) {
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), base).ok());
  const auto code_of = [&](const std::string& patch) {
    const auto made = vault.CommitPatch(base, patch, "Idea");
    return made.ok() ? Code::kInternal : made.error().code;
  };
  EXPECT_EQ(code_of(""), Code::kInvalidArgument);
  EXPECT_EQ(code_of("no diff at all\n"), Code::kInvalidArgument);
  EXPECT_EQ(code_of("--- a/src/a.cc\n+++ b/src/a.cc\n@@ -1 +1 @@\n-other\n+two\n"),
            Code::kInvalidArgument);
  for (const char* path : {"../evil", "src/../../evil", ".git/config", "/etc/evil", "src/.GIT/x"}) {
    EXPECT_EQ(code_of(Format("diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n"
                             "+++ b/{0}\n@@ -0,0 +1 @@\n+x\n",
                             path)),
              Code::kInvalidArgument)
        << path;
  }
  EXPECT_FALSE(os::Exists(folder.path() / "evil"));
}

TEST_F(VaultTest, ExportLetsTheUsersBranchMove) {
  repository.Write("src/a.cc", "two\n");
  const std::string diff = repository.Run({"diff"}) + "\n";
  repository.Run({"checkout", "-q", "src/a.cc"});
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(repository.path(), base).ok());
  const CommitId made = vault.CommitPatch(base, diff, "Idea").value();
  EXPECT_FALSE(ResolveCommit(repository.path(), made.hex).ok());
  ASSERT_TRUE(vault.Export(repository.path(), made).ok());
  EXPECT_TRUE(vault.Export(repository.path(), made).ok()) << "a second time";
  repository.Run({"branch", "campaign"});
  ASSERT_TRUE(MoveBranch(repository.path(), "campaign", base, made, "keep").ok());
  EXPECT_EQ(repository.Run({"show", "campaign:src/a.cc"}), "two");
  repository.Run({"fsck", "--strict"});
}

TEST_F(VaultTest, AVaultThatWasTamperedWithIsRefused) {
  OpenVault();
  const Path vault = folder.path() / "state/vault.git";
  WriteText(vault / "objects/info/alternates", "/elsewhere\n");
  EXPECT_EQ(Vault::Open(folder.path() / "state").error().code, Code::kCorrupt);
  std::filesystem::remove(vault / "objects/info/alternates");
  WriteText(vault / "config", "[core]\n\tbare = true\n\tfsmonitor = evil\n");
  EXPECT_EQ(Vault::Open(folder.path() / "state").error().code, Code::kCorrupt);
  std::filesystem::rename(vault, folder.path() / "moved");
  std::filesystem::create_symlink(folder.path() / "moved", vault);
  EXPECT_EQ(Vault::Open(folder.path() / "state").error().code, Code::kCorrupt);
}

TEST_F(VaultTest, Sha256RepositoriesWork) {
  const Path path = folder.path() / "sha256";
  std::filesystem::create_directories(path);
  repository.Run({"init", "-q", "-b", "main", "--object-format=sha256", path.string()});
  TestRepository other(path);
  other.Write("src/a.cc", "one\n");
  const CommitId first = other.Commit("first");
  ASSERT_EQ(first.hex.size(), 64U);
  EXPECT_TRUE(DirtyPaths(OpenWorktree(path).value())->empty());
  Vault vault = OpenVault();
  ASSERT_TRUE(vault.Fetch(path, first).ok());
  EXPECT_EQ(vault.ReadTree(first)->size(), 1U);
  EXPECT_EQ(vault.Fetch(repository.path(), base).error().code, Code::kInvalidArgument);
}

TEST(TreeWriterTest, ReplacesLinksOnTheWayInsteadOfFollowingThem) {
  TempFolder folder;
  const Path root = folder.path() / "root";
  const Path outside = folder.path() / "outside";
  WriteText(outside / "kept", "kept");
  std::filesystem::create_directories(root);
  std::filesystem::create_symlink(outside, root / "sub");
  auto writer = TreeWriter::Open(root);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Clear("sub/kept").ok());
  ASSERT_TRUE(writer->Write({.path = "sub/kept", .bytes = "new"}).ok());
  EXPECT_EQ(ReadText(outside / "kept"), "kept");
  EXPECT_EQ(ReadText(root / "sub/kept"), "new");
  for (const char* bad : {"../x", "a/../b", "/abs", "", "a//b", "."})
    EXPECT_EQ(writer->Write({.path = bad, .bytes = "x"}).error().code, Code::kInvalidArgument)
        << bad;
}

}  // namespace
}  // namespace pawl::campaign
