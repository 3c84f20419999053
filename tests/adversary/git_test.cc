// Git as the attacker: ranges, merges, names, kinds of entries, and everything that git runs or
// rewrites on the way from an object to a file.
#include <unistd.h>

#include <exception>
#include <functional>

#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

constexpr std::string_view kGain = "ops=5\n";

void Append(Project& project, std::string_view text) {
  project.Write("src/program.sh", project.Read("src/program.sh") + std::string(text));
}

TEST(Range, TheWholeRangeIsLookedAt) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  project.Write("README", "smuggled in an earlier commit\n");
  project.Commit();
  Append(project, kGain);
  project.Commit();
  EXPECT_TRUE(Refused(project, project.Experiment(), "discard-scope", "README"));
}

TEST(Range, AMergeSmugglesNothing) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const std::string incumbent = project.Git({"rev-parse", "HEAD"});
  project.Write("README", "smuggled through the first parent\n");
  project.Commit();
  Append(project, kGain);
  project.Git({"add", "--all"});
  const std::string tree = project.Git({"write-tree"});
  const std::string merge = project.Git(
      {"commit-tree", tree, "-p", "HEAD", "-p", incumbent, "-m", "merge of nothing in particular"});
  project.Git({"reset", "--quiet", "--hard", merge});
  EXPECT_TRUE(Refused(project, project.Experiment(), "discard-scope", "README"));
}

TEST(Range, WhatDoesNotDescendFromTheIncumbentIsRefused) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  Append(project, kGain);
  project.Git({"add", "--all"});
  const std::string tree = project.Git({"write-tree"});
  project.Git(
      {"reset", "--quiet", "--hard", project.Git({"commit-tree", tree, "-m", "no parent at all"})});
  EXPECT_TRUE(Refused(project, project.Experiment(), "discard-scope", "descend"));
}

// After a keep, a commit on the old program would be measured against a program that it lacks.
TEST(Range, ASiblingOfTheIncumbentIsRefused) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const std::string original = project.Git({"rev-parse", "HEAD"});
  ASSERT_TRUE(Kept(project, project.Try("ops=8\n"), "shared"));
  project.Git({"reset", "--quiet", "--hard", original});
  Append(project, kGain);
  project.Commit();
  EXPECT_TRUE(Refused(project, project.Experiment(), "discard-scope", "descend"));
}

struct Change {
  std::string_view name;
  std::function<void(Project&)> make;
  std::string_view verdict, reason;
};

void ExpectRefusals(Project& project, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    project.Reset();
    Append(project, kGain);
    change.make(project);
    project.Commit();
    EXPECT_TRUE(Refused(project, project.Experiment(), change.verdict, change.reason));
  }
}

TEST(Scope, PathsAreComparedByExactComponents) {
  ProjectOptions options;
  options.files["tools/helper.sh"] = "true\n";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const auto write = [](const char* path) { return [path](Project& p) { p.Write(path, "x\n"); }; };
  ExpectRefusals(
      project,
      {{"longer name", write("src2/x"), "discard-scope", "src2/x"},
       {"leading dot", write(".src/x"), "discard-scope", ".src/x"},
       {"three dots", write(".../src/x"), "discard-scope", ".../src/x"},
       {"below another folder", write("other/src/x"), "discard-scope", "other/src/x"},
       {"other case", write("SRC/x"), "discard-scope", "SRC/x"},
       {"renamed out", [](Project& p) { p.Git({"mv", "src/program.sh", "program.sh"}); },
        "discard-scope", "program.sh"},
       {"renamed in", [](Project& p) { p.Git({"mv", "tools/helper.sh", "src/helper.sh"}); },
        "discard-scope", "tools/helper.sh"},
       {"ignore rules", write(".gitignore"), "discard-scope", ".gitignore"},
       {"attributes of the whole tree", write(".gitattributes"), "discard-scope",
        ".gitattributes"}});
}

TEST(Scope, LinksAndOddNamesAreRefusedByTheirReason) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const auto write = [](const char* path) { return [path](Project& p) { p.Write(path, "x\n"); }; };
  const auto link = [](const char* target) {
    return [target](Project& p) {
      if (::symlink(target, (p.root() / "src/link").c_str()) != 0) ADD_FAILURE();
    };
  };
  ExpectRefusals(
      project,
      {{"link", link("program.sh"), "discard-scope", "symbolic link"},
       {"link to the harness", link("../harness/quality.sh"), "discard-scope", "symbolic link"},
       {"link out of the project", link("/etc/passwd"), "discard-scope", "symbolic link"},
       {"program as a link",
        [](Project& p) {
          p.Remove("src/program.sh");
          if (::symlink("/etc/passwd", (p.root() / "src/program.sh").c_str()) != 0) ADD_FAILURE();
        },
        "discard-scope", "symbolic link"},
       {"the whole folder as a link",
        [](Project& p) {
          p.Remove("src");
          if (::symlink("harness", (p.root() / "src").c_str()) != 0) ADD_FAILURE();
        },
        "discard-scope", "symbolic link"},
       {"line break", write("src/a\nb"), "discard-scope", "control"},
       {"escape sequence", write("src/a\x1b[2Jb"), "discard-scope", "control"},
       {"tab", write("src/a\tb"), "discard-scope", "control"},
       {"text direction",
        write("src/a\xe2\x80\xae"
              "b"),
        "discard-scope", "invisible"},
       {"leading dash", write("src/-rf"), "discard-scope", "dash"},
       {"backslash", write("src/..\\harness\\quality.sh"), "discard-scope", "backslash"},
       {"blank at the end", write("src/a "), "discard-scope", "blank"},
       {"not UTF-8",
        write("src/a\xff"
              "b"),
        "discard-scope", "UTF-8"},
       {"only case differs", write("src/Program.sh"), "discard-scope", "case"},
       {"two new names",
        [](Project& p) {
          p.Write("src/caf\xc3\xa9", "x");
          p.Write("src/cafe\xcc\x81", "y");
        },
        "discard-scope", "case or form"}});
}

// Trees that git itself would not make.
TEST(Scope, EntriesThatGitWouldNotMakeAreRefused) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const std::string head = project.Git({"rev-parse", "HEAD"});
  const std::string blob = project.Git({"hash-object", "-w", "--stdin"}, "ops=5\n");
  const std::string folder = project.Git({"mktree"}, Format("100644 blob {}\tconfig\n", blob));
  const std::string program = project.Git({"rev-parse", "HEAD:src/program.sh"});
  const std::vector<std::pair<std::string, std::string>> trees = {
      {"git's own folder",
       Format("040000 tree {}\t.git\n100644 blob {}\tprogram.sh\n", folder, program)},
      {"git's own folder in other case",
       Format("040000 tree {}\t.GIT\n100644 blob {}\tprogram.sh\n", folder, program)},
      {"submodule", Format("100644 blob {}\tprogram.sh\n160000 commit {}\tsub\n", program, head)},
      {"parent folder",
       Format("040000 tree {}\t..\n100644 blob {}\tprogram.sh\n", folder, program)}};
  for (const auto& [name, entries] : trees) {
    SCOPED_TRACE(name);
    const std::string source = project.Git({"mktree", "--missing"}, entries);
    std::string top;
    const std::string listing = project.Git({"ls-tree", head});
    for (const std::string_view line : Split(listing, '\n')) {
      top += line.ends_with("\tsrc") ? Format("040000 tree {}\tsrc\n", source)
                                     : std::string(line) + "\n";
    }
    const std::string commit =
        project.Git({"commit-tree", project.Git({"mktree"}, top), "-p", head, "-m", "odd tree"});
    project.Git({"update-ref", "HEAD", commit});
    // git itself takes some of these into no index; the work tree then differs from HEAD.
    std::filesystem::create_directory(project.root() / "src/sub");  // where the submodule would be
    bool indexed = true;
    try {
      project.Git({"read-tree", "HEAD"});
    } catch (const std::exception&) {
      indexed = false;
    }
    const Outcome outcome = project.Experiment();
    EXPECT_EQ(outcome.exit_code, indexed ? 3 : 2) << outcome.Text();
    EXPECT_TRUE(!indexed || outcome.verdict() == "discard-scope" ||
                outcome.verdict() == "discard-invalid")
        << outcome.Text();
    project.Git({"update-ref", "HEAD", head});
    project.Git({"read-tree", "HEAD"});
  }
}

// `.gitattributes` inside the scope is a file like any other: no attribute is ever applied.
TEST(Content, AttributesChangeNothing) {
  ProjectOptions options;
  options.files["src/marks.txt"] = "$Id$\n";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/.gitattributes",
                "*.txt ident\nprogram.sh export-ignore\nslow.sh export-ignore\n"
                "program.sh text eol=crlf\nfast.sh working-tree-encoding=UTF-16\n");
  project.Write("src/slow.sh", "ops=10\n");
  Append(project,
         "grep -q 'Id:' src/marks.txt && ops=1\ntest -f src/slow.sh || ops=1\n"
         "grep -q \"$(printf '\\r')\" src/program.sh && ops=1\ntrue\n");
  project.Git({"add", "--all"});
  project.Git({"commit", "--quiet", "-m", "attributes"});
  EXPECT_TRUE(Worthless(project, project.Experiment()));
}

// dit-ar measures whatever lies in the work tree.
TEST(Content, TheWorkTreeIsNeverMeasured) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  Append(project, "test -f ignored/fast.sh && . ignored/fast.sh\ntrue\n");
  project.Commit();
  project.Write("ignored/fast.sh", "ops=1\n");
  project.Git({"update-index", "--assume-unchanged", "src/program.sh"});
  Append(project, "ops=1\n");
  const Outcome assumed = project.Experiment();
  EXPECT_TRUE(Worthless(project, assumed));
  project.Git({"update-index", "--no-assume-unchanged", "src/program.sh"});
  project.Git({"update-index", "--skip-worktree", "src/program.sh"});
  EXPECT_EQ(project.Experiment().verdict(), "discard-performance");
  project.Git({"update-index", "--no-skip-worktree", "src/program.sh"});
  // An honest work tree that is not clean is a mistake of the user, not a candidate's.
  EXPECT_EQ(project.Experiment().exit_code, 2);
}

TEST(Content, ReplacedAndGraftedObjectsCountAsTheyAreNamed) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const std::string original = project.Git({"rev-parse", "HEAD"});
  Append(project, "true\n");
  const std::string commit = project.Commit();
  const std::string fast =
      project.Git({"hash-object", "-w", "--stdin"}, project.Read("src/program.sh") + "ops=1\n");
  project.Git({"replace", project.Git({"rev-parse", "HEAD:src/program.sh"}), fast});
  // With the replacement in force the work tree looks changed; the user has it as git shows it.
  project.Git({"checkout", "--quiet", "--force", "HEAD", "--", "."});
  EXPECT_TRUE(Worthless(project, project.Experiment()));
  project.Git(
      {"replace", "-d", project.Git({"--no-replace-objects", "rev-parse", "HEAD:src/program.sh"})});
  // A stranger made a descendant of the incumbent by a graft.
  project.Git({"reset", "--quiet", "--hard",
               project.Git({"commit-tree", project.Git({"rev-parse", "HEAD^{tree}"}), "-m", "x"})});
  project.Git({"replace", "--graft", "HEAD", original});
  EXPECT_TRUE(Refused(project, project.Experiment(), "discard-scope", "descend"));
}

TEST(Content, ARewrittenObjectIsNotTaken) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  Append(project, "true\n");
  project.Commit();
  const std::string blob = project.Git({"rev-parse", "HEAD:src/program.sh"});
  const std::string fast =
      project.Git({"hash-object", "-w", "--stdin"}, project.Read("src/program.sh") + "ops=1\n");
  const auto loose = [](const std::string& id) {
    return Format(".git/objects/{}/{}", id.substr(0, 2), id.substr(2));
  };
  project.Write(loose(blob), project.Read(loose(fast)), 0444);
  const Outcome outcome = project.Experiment();
  EXPECT_NE(outcome.exit_code, 0) << outcome.Text();
  EXPECT_NE(outcome.verdict(), "keep");
  EXPECT_TRUE(outcome.exit_code == 2 ? !outcome.error().empty()
                                     : outcome.verdict() == "discard-invalid")
      << outcome.Text();
}

// Everything that git would run for a user who works in this repository. A keep moves the campaign
// branch, so that every way through Pawl is walked.
TEST(Programs, NothingThatTheRepositoryNamesIsRun) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const std::string witness = (project.home() / "witness").string();
  const std::string script = Format("#!/bin/sh\necho \"$0\" >>'{}'\ncat\n", witness);
  project.Write(project.home() / "run.sh", script, 0755);
  const std::string run = (project.home() / "run.sh").string();
  for (const char* hook :
       {"applypatch-msg", "pre-applypatch", "pre-commit", "prepare-commit-msg", "commit-msg",
        "post-commit", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
        "post-receive", "post-update", "push-to-checkout", "pre-auto-gc", "post-rewrite",
        "reference-transaction", "post-index-change", "fsmonitor-watchman"}) {
    project.Write(Format(".git/hooks/{}", hook), script, 0755);
  }
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"core.fsmonitor", run},
           {"core.hooksPath", (project.root() / ".git/hooks").string()},
           {"core.pager", run},
           {"core.editor", run},
           {"core.askPass", run},
           {"core.sshCommand", run},
           {"core.gitProxy", run},
           {"core.alternateRefsCommand", run},
           {"diff.external", run},
           {"diff.evil.command", run},
           {"diff.evil.textconv", run},
           {"filter.evil.clean", run},
           {"filter.evil.smudge", run},
           {"filter.evil.process", run},
           {"filter.evil.required", "true"},
           {"gpg.program", run},
           {"commit.gpgSign", "true"},
           {"uploadpack.packObjectsHook", run},
           {"credential.helper", run},
           {"gc.auto", "1"},
           {"alias.fetch", "!" + run},
           {"alias.status", "!" + run}}) {
    project.Git({"config", key, value});
    if (key != "core.fsmonitor") continue;
    project.Git({"config", "--unset", key});  // set at last: git would run it for the next call
  }
  // Made without git's porcelain, which would run all of it.
  Append(project, kGain);
  project.Write("src/.gitattributes", "* filter=evil diff=evil\n");
  const auto harmless = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"-c", "core.hooksPath=/dev/null", "-c", "filter.evil.clean=cat", "-c",
                      "filter.evil.process=", "-c", "filter.evil.required=false"});
    return project.Git(arguments);
  };
  harmless({"add", "--all"});
  const std::string commit =
      harmless({"commit-tree", harmless({"write-tree"}), "-p", "HEAD", "-m", "gain"});
  harmless({"update-ref", "HEAD", commit});
  harmless({"config", "core.fsmonitor", run});
  project.Write(".git/info/attributes", "* filter=evil diff=evil\n");
  project.Remove(witness);

  const Outcome outcome = project.Experiment(
      {}, {"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + run,
           "GIT_CONFIG_KEY_1=core.hooksPath",
           "GIT_CONFIG_VALUE_1=" + (project.root() / ".git/hooks").string(),
           "GIT_EXTERNAL_DIFF=" + run, "GIT_SSH_COMMAND=" + run, "GIT_ASKPASS=" + run,
           "GIT_PAGER=" + run, "GIT_TEMPLATE_DIR=" + (project.root() / ".git").string()});
  EXPECT_TRUE(Kept(project, outcome, "shared"));
  EXPECT_FALSE(os::Exists(witness)) << project.Read(witness);
  EXPECT_EQ(project.Pawl({"status"}).exit_code, 0);
  EXPECT_EQ(project.Verify().exit_code, 0);
  EXPECT_FALSE(os::Exists(witness)) << project.Read(witness);
}

// Variables that lead git to another repository, index or object store.
TEST(Programs, GitVariablesOfTheCallerDoNotLeadAway) {
  Project project, other;
  PAWL_OPEN_OR_SKIP(project);
  Append(other, "ops=1\n");
  other.Commit();
  Append(project, "true\n");
  project.Commit();
  const std::string git = (other.root() / ".git").string();
  const Outcome outcome = project.Experiment(
      {}, {"GIT_DIR=" + git, "GIT_WORK_TREE=" + other.root().string(),
           "GIT_INDEX_FILE=" + git + "/index", "GIT_OBJECT_DIRECTORY=" + git + "/objects",
           "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + git + "/objects", "GIT_NAMESPACE=x",
           "GIT_REPLACE_REF_BASE=refs/heads/", "GIT_GRAFT_FILE=/dev/null"});
  EXPECT_TRUE(Worthless(project, outcome));
}

}  // namespace
}  // namespace pawl::adversary
