#include <algorithm>

#include "base/text.h"
#include "loop/project_fixture.h"

namespace pawl::loop {
namespace {

using campaign::Trust;
using campaign::VerdictKind;

bool Mentions(const std::vector<std::string>& lines, std::string_view words) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

class FilesProtocol : public ProjectTest {
 protected:
  void SetUp() override {
    ProjectTest::SetUp();
    MakeFilesProject();
    Start();
  }
};

TEST_F(FilesProtocol, KeepsAFasterCommitAndJudgesTheNextOneAgainstIt) {
  const ExperimentReport first = TryProgram("echo 1.0\n");
  EXPECT_EQ(first.verdict.kind, VerdictKind::kKeep) << Join(first.verdict.reasons, "; ");
  EXPECT_EQ(first.verdict.trust, Trust::kShared);
  EXPECT_DOUBLE_EQ(first.verdict.improvement_pct.value_or(0), 50);
  EXPECT_FALSE(first.branch_moved);  // a person committed on the branch: it is there already

  const ExperimentReport second = TryProgram("echo 1.5\n");
  EXPECT_EQ(second.verdict.kind, VerdictKind::kDiscardPerformance);
  EXPECT_DOUBLE_EQ(second.verdict.best.value_or(0), 1.0);
  EXPECT_EQ(Open().Campaign()->incumbent_commit, first.commit);
  ExpectSound();
}

TEST_F(FilesProtocol, RefusesWorseQuality) {
  Write("src/accuracy", "0.74\n");
  EXPECT_EQ(TryProgram("echo 1.0\n").verdict.kind, VerdictKind::kDiscardQuality);
  ExpectSound();
}

TEST_F(FilesProtocol, RecordsRefusalsAtIntake) {
  Write("other.txt", "x");
  EXPECT_EQ(TryProgram("echo 1.0\n").verdict.kind, VerdictKind::kDiscardScope);
  Git({"reset", "-q", "--hard", "HEAD~1"});

  Write("bench/quality.sh", "echo '{\"metrics\": {\"accuracy\": 1}}' > \"$1/quality.json\"\n");
  const ExperimentReport harness = TryProgram("echo 1.0\n");
  EXPECT_EQ(harness.verdict.kind, VerdictKind::kDiscardHarness);
  EXPECT_TRUE(Mentions(harness.verdict.reasons, "bench/quality.sh"));
  Git({"reset", "-q", "--hard", "HEAD~1"});

  const auto rows = Open().Experiments();
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].status, "discard-scope");
  EXPECT_EQ((*rows)[1].status, "discard-harness");
  ExpectSound();
}

TEST_F(FilesProtocol, NamesAHarnessThatWasChangedWithoutACommit) {
  Write("bench/perf.sh", "echo '{\"latency\": {\"median_s\": 0.1}}' > \"$1/perf.json\"\n");
  EXPECT_EQ(Try().verdict.kind, VerdictKind::kDiscardHarness);
}

TEST_F(FilesProtocol, WantsTheCandidateCommitted) {
  Write("src/program", "echo 1.0\n");
  const auto report = Open().Experiment(ExperimentRequest{});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "commit the candidate before running an experiment");
  EXPECT_TRUE(Open().Experiments()->empty());
}

TEST_F(FilesProtocol, NamesCrashesAndTimeouts) {
  const ExperimentReport crash = TryProgram("echo out of luck >&2; exit 7\n");
  EXPECT_EQ(crash.verdict.kind, VerdictKind::kCrash);
  EXPECT_TRUE(Mentions(crash.verdict.reasons, "out of luck"));
  EXPECT_EQ(TryProgram("sleep 60\n").verdict.kind, VerdictKind::kTimeout);
  ExpectSound();
}

TEST_F(FilesProtocol, FindsResultsThatASmokeRunPlanted) {
  const ExperimentReport report =
      TryProgram("echo '{\"latency\": {\"median_s\": 0.1}}' > \"$1/perf.json\"; echo 1.9\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kDiscardInvalid);
  EXPECT_TRUE(Mentions(report.verdict.reasons, "perf.json was written by the smoke command"));
}

TEST_F(FilesProtocol, LaysTheHarnessOverAgainBeforeEveryStage) {
  // The tree is writable under `files`; moving the folder away must not bring in another harness.
  const ExperimentReport moved = TryProgram(
      "mv bench away 2>/dev/null; mkdir -p bench 2>/dev/null\n"
      "echo 'echo 0.1' > bench/perf.sh 2>/dev/null; echo 2.0\n");
  EXPECT_NE(moved.verdict.kind, VerdictKind::kKeep);
  const ExperimentReport linked = TryProgram(
      "mkdir -p fake; rm -rf bench 2>/dev/null; ln -s fake bench 2>/dev/null; echo 2.0\n");
  EXPECT_NE(linked.verdict.kind, VerdictKind::kKeep);
  ExpectSound();
}

TEST_F(FilesProtocol, JudgesTheCommitAndNotTheWorkTree) {
  Write(".git/info/exclude", "src/helper\n");
  Write("src/helper", "echo 0.5\n");
  const ExperimentReport report =
      TryProgram("if [ -e src/helper ]; then sh src/helper; else echo 3.0; fi\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kDiscardPerformance);
  EXPECT_DOUBLE_EQ(report.verdict.candidate.value_or(0), 3.0);
}

TEST_F(FilesProtocol, KeepsWhatTheCommandsLeftInTheRunFolder) {
  TryProgram("echo trace > \"$1/trace.txt\"; echo 1.0\n");
  const auto rows = Open().Experiments();
  ASSERT_TRUE(rows.ok() && rows->size() == 1);
  const os::Path trace = os::Path(rows->front().run_dir) / "trace.txt";
  EXPECT_TRUE(os::Exists(trace));
  EXPECT_FALSE(os::Exists(root() / ".autoresearch/work") &&
               !std::filesystem::is_empty(root() / ".autoresearch/work"));
}

TEST_F(FilesProtocol, RefusesOutputsThatLeadElsewhere) {
  const ExperimentReport report =
      TryProgram("mkdir -p \"$1/outputs\"; ln -sf /etc/passwd \"$1/outputs/image\"; echo 1.0\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kDiscardInvalid);
  EXPECT_TRUE(Mentions(report.verdict.reasons, "outputs holds a link"));
}

class WallProtocol : public ProjectTest {};

TEST_F(WallProtocol, TimesTheCommandItselfAndKeepsWithSeparateTrust) {
  MakeWallProject();
  Start();
  const ExperimentReport report = TryProgram("cp \"$1/inputs/seed\" \"$1/outputs/seed\"\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kKeep) << Join(report.verdict.reasons, "; ");
  EXPECT_EQ(report.verdict.trust, Trust::kSeparate);
  EXPECT_GT(report.verdict.best.value_or(0), 0.4);
  EXPECT_LT(report.verdict.candidate.value_or(1), 0.3);
  ExpectSound();
}

TEST_F(WallProtocol, RefusesWrongOutputsByTheCheckersExitCode) {
  MakeWallProject();
  Start();
  const ExperimentReport wrong = TryProgram("echo 1 > \"$1/outputs/seed\"\n");
  EXPECT_EQ(wrong.verdict.kind, VerdictKind::kDiscardQuality);
  const ExperimentReport none = TryProgram("true\n");
  EXPECT_EQ(none.verdict.kind, VerdictKind::kDiscardQuality);
  ExpectSound();
}

TEST_F(WallProtocol, FindsForgedResultFiles) {
  MakeWallProject();
  Start();
  for (const std::string_view name : {"perf.json", "quality.json"}) {
    const ExperimentReport report = TryProgram(
        Format("cp \"$1/inputs/seed\" \"$1/outputs/seed\"\necho '{{}}' > \"$1/{}\"\n", name));
    EXPECT_EQ(report.verdict.kind, VerdictKind::kDiscardInvalid) << name;
    EXPECT_TRUE(Mentions(report.verdict.reasons, name));
  }
}

TEST_F(WallProtocol, ShowsTheJudgesFilesToNobodyElse) {
  MakeWallProject({{"commands", JsonObject{{"prepare", "echo '{seed}' > '{run_dir}/inputs/seed'"},
                                           {"perf", "sh src/program '{run_dir}'"},
                                           {"quality",
                                            "test ! -e src && sh bench/check.sh "
                                            "'{run_dir}'"}}}});
  Start();  // the quality command itself checks that no candidate file is near
  const ExperimentReport report = TryProgram(
      "echo x > \"$1/inputs/seed\" 2>/dev/null && sleep 1\n"
      "cp \"$1/inputs/seed\" \"$1/outputs/seed\"\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kKeep) << Join(report.verdict.reasons, "; ");
}

TEST_F(WallProtocol, BuildsInACopyOfTheIncumbentsBuildFolder) {
  MakeWallProject(
      {{"commands", JsonObject{{"build",
                                "mkdir -p build; cat build/history 2>/dev/null; cat src/mark >> "
                                "build/history; cp src/program build/program"},
                               {"perf", "sh build/program '{run_dir}'"},
                               {"quality",
                                "cp '{run_dir}/outputs/history' /tmp/history; cat /tmp/history; "
                                "test -s /tmp/history"}}}});
  const std::string_view copy = "cp build/history \"$1/outputs/history\"\n";
  Write("src/mark", "root\n");
  Write("src/program", "sleep 0.5\n" + std::string(copy));
  Commit("With a build");
  Start();
  Write("src/mark", "one\n");
  const ExperimentReport first = TryProgram("sleep 0.2\n" + std::string(copy));
  ASSERT_EQ(first.verdict.kind, VerdictKind::kKeep) << Join(first.verdict.reasons, "; ");
  Write("src/mark", "two\n");
  const ExperimentReport second = TryProgram(copy);
  ASSERT_EQ(second.verdict.kind, VerdictKind::kKeep) << Join(second.verdict.reasons, "; ");

  auto journal = campaign::Journal::OpenReader(root() / ".autoresearch");
  ASSERT_TRUE(journal.ok());
  const auto runs = journal->Runs(second.id);
  ASSERT_TRUE(runs.ok());
  const auto quality = std::ranges::find(*runs, "quality", &campaign::RunRecord::stage);
  ASSERT_NE(quality, runs->end());
  const auto log = journal->artifacts().Get(*Sha256::FromHex(quality->log_sha256));
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(*log, "root\none\ntwo\n");
}

TEST_F(WallProtocol, MakesTheSetupResultOnceAndShowsItReadOnly) {
  MakeWallProject({{"commands", JsonObject{{"setup", "cat bench/check.sh > '{setup_dir}/check.sh'"},
                                           {"prepare", "echo '{seed}' > '{run_dir}/inputs/seed'"},
                                           {"perf", "sh src/program '{run_dir}' '{setup_dir}'"},
                                           {"quality", "sh '{setup_dir}/check.sh' '{run_dir}'"}}}});
  Start();
  const os::Path setups = root() / ".autoresearch/setup";
  const auto made = os::ListTree(setups);
  ASSERT_TRUE(made.ok());
  const ExperimentReport report =
      TryProgram("echo true > \"$2/check.sh\"; echo 1 > \"$1/outputs/seed\"\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kDiscardQuality)
      << Join(report.verdict.reasons, "; ");
  const auto after = os::ListTree(setups);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->size(), made->size());
}

// Without mounts the same campaigns run at the host's own paths.
class BelowL3 : public ProjectTest, public ::testing::WithParamInterface<os::IsolationLevel> {
 protected:
  void SetUp() override {
    ProjectTest::SetUp();
    SetCeiling(GetParam());
  }
};

TEST_P(BelowL3, FilesCampaignsKeepAndNameAChangedHarness) {
  MakeFilesProject();
  Start();
  const ExperimentReport kept = TryProgram("echo 1.0\n");
  EXPECT_EQ(kept.verdict.kind, VerdictKind::kKeep) << Join(kept.verdict.reasons, "; ");
  const ExperimentReport forged =
      TryProgram("echo 'echo {} > \"$1/perf.json\"' > bench/perf.sh || exit 0; echo 0.5\n");
  EXPECT_NE(forged.verdict.kind, VerdictKind::kKeep);
  ExpectSound();
}

TEST_P(BelowL3, LargeHarnessFilesAreUsedWhereTheyLie) {
  Write("bench/large.bin", std::string(std::size_t{9} << 20, 'x'));
  Write("bench/.gitignore", "large.bin\n");
  MakeFilesProject();
  Write("bench/smoke.sh", "test \"$(head -c 3 bench/large.bin)\" = xxx\n");
  Commit("Look at the data");
  Start();
  const ExperimentReport kept = TryProgram("echo 1.0\n");
  EXPECT_EQ(kept.verdict.kind, VerdictKind::kKeep) << Join(kept.verdict.reasons, "; ");
}

TEST_P(BelowL3, WallCampaignsKeepAndRefuse) {
  MakeWallProject();
  Start();
  const ExperimentReport kept = TryProgram("cp \"$1/inputs/seed\" \"$1/outputs/seed\"\n");
  EXPECT_EQ(kept.verdict.kind, VerdictKind::kKeep) << Join(kept.verdict.reasons, "; ");
  const ExperimentReport forged = TryProgram("echo '{}' > \"$1/quality.json\"\n");
  EXPECT_EQ(forged.verdict.kind, VerdictKind::kDiscardInvalid);
  ExpectSound();
}

INSTANTIATE_TEST_SUITE_P(Levels, BelowL3,
                         ::testing::Values(os::IsolationLevel::kL2, os::IsolationLevel::kL1),
                         [](const auto& level) { return std::string(os::LevelName(level.param)); });

}  // namespace
}  // namespace pawl::loop
