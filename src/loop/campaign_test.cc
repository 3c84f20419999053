// The life of a campaign around its experiments: init, baseline, undo, recovery, gc, the queue.
#include <cstdlib>

#include <algorithm>

#include "base/text.h"
#include "campaign/journal.h"
#include "loop/project_fixture.h"
#include "loop/queue_driver.h"
#include "loop/recovery.h"

namespace pawl::loop {
namespace {

using campaign::VerdictKind;

class CampaignTest : public ProjectTest {};

class Notes : public Observer {
 public:
  void OnNote(std::string_view text) override { notes_.emplace_back(text); }
  bool Mention(std::string_view words) const {
    return std::ranges::any_of(
        notes_, [&](const std::string& note) { return note.find(words) != std::string::npos; });
  }

 private:
  std::vector<std::string> notes_;
};

TEST_F(CampaignTest, InitRefusesADirtyTreeAndALiveCampaign) {
  MakeFilesProject();
  Write("src/program", "echo 3.0\n");
  EXPECT_EQ(Open().Init(false).error().message, "clean/commit your working tree before init");
  Git({"checkout", "-q", "--", "."});
  ASSERT_TRUE(Open().Init(false).ok());
  EXPECT_EQ(Open().Init(false).error().code, Code::kAlreadyExists);

  const auto again = Open().Init(true);
  ASSERT_TRUE(again.ok()) << again.error().Text();
  EXPECT_EQ(again->campaign, 2);
  EXPECT_EQ(again->locked_files, 5);
  EXPECT_EQ(Open().Campaign()->state, "open");
  ExpectSound();
}

TEST_F(CampaignTest, StateFolderIsInvisibleToGit) {
  MakeFilesProject();
  Start();
  EXPECT_EQ(Git({"status", "--porcelain"}), "");
}

TEST_F(CampaignTest, InitTakesOverRowsOfDitArOnce) {
  MakeFilesProject();
  const std::string heading =
      "timestamp_utc\tcommit\tparent\tstatus\tclass\tobjective_metric\tbest_before\tcandidate\t"
      "improvement_pct\tpeak_vram_mb\tquality\tdescription\trun_dir\r\n";
  Write(".autoresearch/.gitignore", "*\n");
  Write(".autoresearch/results.tsv", heading + "2026\tabc\tdef\tkeep\trest of the row\r\n");
  ASSERT_TRUE(Open().Init(false).ok());
  const auto journal = campaign::Journal::OpenReader(root() / ".autoresearch");
  ASSERT_TRUE(journal.ok());
  const auto rows = journal->Campaigns();
  ASSERT_TRUE(rows.ok());
  const auto hash = Sha256::FromHex(rows->front().opened.StringAt("imported_results_sha256"));
  ASSERT_TRUE(hash.has_value());
  EXPECT_EQ(*journal->artifacts().Get(*hash), "2026\tabc\tdef\tkeep\trest of the row\r\n");
}

TEST_F(CampaignTest, BaselineRefusesWhatNoCandidateCouldPass) {
  MakeFilesProject(
      {{"objective", JsonObject{{"metric", "latency.p95_s"}, {"direction", "lower"}}}});
  ASSERT_TRUE(Open().Init(false).ok());
  const auto missing = Open().Baseline(Engine::BaselineMode::kFirst);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("latency.p95_s"), std::string::npos);
  EXPECT_EQ(Open().Campaign()->state, "open");
}

TEST_F(CampaignTest, BaselineNamesAFailingCommandWithItsLastWords) {
  MakeFilesProject();
  Write("src/program", "echo broken; exit 9\n");
  Commit("Broken");
  ASSERT_TRUE(Open().Init(false).ok());
  const auto failed = Open().Baseline(Engine::BaselineMode::kFirst);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("smoke: exit 9"), std::string::npos);
}

TEST_F(CampaignTest, BaselineStandsUntilForcedOrRefreshed) {
  MakeFilesProject();
  Start();
  EXPECT_EQ(Open().Baseline(Engine::BaselineMode::kFirst).error().code, Code::kAlreadyExists);
  const ExperimentReport kept = TryProgram("echo 1.0\n");
  ASSERT_EQ(kept.verdict.kind, VerdictKind::kKeep);

  ASSERT_TRUE(Open().Baseline(Engine::BaselineMode::kRefresh).ok());
  EXPECT_EQ(Open().Campaign()->incumbent_commit, kept.commit);
  EXPECT_DOUBLE_EQ(Open().Campaign()->incumbent_value, 1.0);

  const auto forced = Open().Baseline(Engine::BaselineMode::kForce);
  ASSERT_TRUE(forced.ok()) << forced.error().Text();
  const auto row = Open().Campaign();
  EXPECT_EQ(row->incumbent_commit, row->root_commit);
  EXPECT_DOUBLE_EQ(row->incumbent_value, 2.0);
  ExpectSound();
}

TEST_F(CampaignTest, LanesOfOneRepositoryStandSideBySide) {
  MakeFilesProject();
  Write("config/other.json", Read("config/autoresearch.json"));
  Commit("Another lane");
  Start();
  EngineOptions options;
  options.config_file = root() / "config/other.json";
  auto other = Engine::Open(options, nullptr);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->Campaign().error().code, Code::kNotFound);
  const auto opened = other->Init(false);
  ASSERT_TRUE(opened.ok()) << opened.error().Text();
  EXPECT_EQ(opened->campaign, 2);
}

TEST_F(CampaignTest, UndoStepsBackAndIsRecorded) {
  MakeFilesProject();
  Start();
  EXPECT_EQ(Open().Undo().error().code, Code::kConflict);
  ASSERT_EQ(TryProgram("echo 1.0\n").verdict.kind, VerdictKind::kKeep);
  const auto back = Open().Undo();
  ASSERT_TRUE(back.ok()) << back.error().Text();
  const auto row = Open().Campaign();
  EXPECT_EQ(*back, row->root_commit);
  EXPECT_EQ(row->incumbent_commit, row->root_commit);
  ExpectSound();
}

TEST_F(CampaignTest, AnExperimentLeftOpenIsNamedInterrupted) {
  MakeFilesProject();
  Start();
  {
    auto journal = campaign::Journal::OpenWriter(root() / ".autoresearch");
    ASSERT_TRUE(journal.ok());
    const campaign::CampaignRow row = journal->Campaigns()->front();
    campaign::Journal::Admission admission;
    admission.campaign = row.id;
    admission.commit = admission.incumbent = {row.root_commit};
    admission.description = "cut off";
    admission.classification = "exact";
    ASSERT_TRUE(journal->Admit(admission).ok());
    ASSERT_TRUE(os::MakeFolders(root() / ".autoresearch/work/left-over").ok());
  }
  Notes notes;
  const auto rows = Open(&notes).Experiments();
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().status, "interrupted");
  EXPECT_TRUE(notes.Mention("cut off"));
  EXPECT_FALSE(os::Exists(root() / ".autoresearch/work/left-over"));
  ExpectSound();
}

TEST_F(CampaignTest, ACommitThatWasCutOffTooOftenIsNotMeasuredAgain) {
  MakeFilesProject();
  Start();
  Write("src/program", "echo 1.0\n");
  const std::string commit = Commit("Faster");
  for (std::size_t attempt = 0; attempt <= kMaxInterruptions; ++attempt) {
    auto journal = campaign::Journal::OpenWriter(root() / ".autoresearch");
    ASSERT_TRUE(journal.ok());
    const campaign::CampaignRow row = journal->Campaigns()->front();
    const auto left_open = journal->OpenExperiments();
    ASSERT_TRUE(left_open.ok());
    for (const campaign::ExperimentRow& open : *left_open) {
      campaign::Journal::Decision decision;
      decision.experiment = open.id;
      decision.kind = VerdictKind::kInterrupted;
      const Status decided = journal->Decide(decision);
      ASSERT_TRUE(decided.ok()) << decided.error().Text();
    }
    campaign::Journal::Admission admission;
    admission.campaign = row.id;
    admission.commit = {commit};
    admission.incumbent = {row.root_commit};
    ASSERT_TRUE(journal->Admit(admission).ok());
  }
  const ExperimentReport report = Try();
  EXPECT_EQ(report.verdict.kind, VerdictKind::kInfraFail);
  EXPECT_NE(Join(report.verdict.reasons, "").find("cut off 4 times"), std::string::npos);
}

TEST_F(CampaignTest, AChangedMachineIsNamedAndNothingRuns) {
  MakeFilesProject({{"sandbox", JsonObject{{"env", JsonArray{"PAWL_TEST_VARIABLE"}}}}});
  ::setenv("PAWL_TEST_VARIABLE", "before", 1);  // NOLINT(concurrency-mt-unsafe)
  Start();
  ::setenv("PAWL_TEST_VARIABLE", "after", 1);  // NOLINT(concurrency-mt-unsafe)
  const ExperimentReport report = TryProgram("echo 1.0\n");
  EXPECT_EQ(report.verdict.kind, VerdictKind::kInfraFail);
  EXPECT_NE(Join(report.verdict.reasons, "").find("PAWL_TEST_VARIABLE"), std::string::npos);
  ASSERT_TRUE(Open().Baseline(Engine::BaselineMode::kRefresh).ok());
  EXPECT_EQ(Try().verdict.kind, VerdictKind::kKeep);
  ::unsetenv("PAWL_TEST_VARIABLE");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(CampaignTest, VerifyFindsAChangedHarness) {
  MakeFilesProject();
  Start();
  Write("bench/perf.sh", "echo\n");
  const auto report = Open().Verify();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->problems.size(), 1U);
  EXPECT_NE(report->problems[0].find("bench/perf.sh"), std::string::npos);
}

TEST_F(CampaignTest, GcRemovesOnlyWhatNoRecordNames) {
  MakeFilesProject();
  Start();
  ASSERT_EQ(TryProgram("echo 1.0\n").verdict.kind, VerdictKind::kKeep);
  ASSERT_TRUE(os::MakeFolders(root() / ".autoresearch/runs/nobodys").ok());
  ASSERT_TRUE(os::MakeFolders(root() / ".autoresearch/incumbents/7/x").ok());
  const auto report = Open().Gc();
  ASSERT_TRUE(report.ok()) << report.error().Text();
  EXPECT_EQ(report->folders_removed, 2);
  EXPECT_FALSE(os::Exists(root() / ".autoresearch/runs/nobodys"));
  ExpectSound();
  EXPECT_EQ(TryProgram("echo 0.5\n").verdict.kind, VerdictKind::kKeep);
}

TEST_F(CampaignTest, DoctorPassesAndNamesWhatIsMissing) {
  MakeFilesProject();
  const auto sound = Open().Doctor();
  ASSERT_TRUE(sound.ok()) << sound.error().Text();
  EXPECT_EQ(sound->errors, std::vector<std::string>{});
  EXPECT_EQ(sound->branch, "autoresearch/test");
  EXPECT_TRUE(sound->knowledge_created);

  std::filesystem::remove_all(root() / "bench");
  const auto broken = Open().Doctor();
  ASSERT_TRUE(broken.ok());
  EXPECT_TRUE(std::ranges::count(broken->errors, "fixed path missing: bench"));
  EXPECT_TRUE(std::ranges::count(
      broken->warnings, "working tree is dirty; experiments should start from a clean commit"));
}

class QueueTest : public CampaignTest {
 protected:
  // A patch that makes src/program print `time` instead of `before`.
  void WritePatch(std::string_view name, std::string_view before, std::string_view time) {
    const auto written = os::WriteFileAtomic(
        folder() / name,
        Format("Print {1}\n\ndiff --git a/src/program b/src/program\n--- a/src/program\n"
               "+++ b/src/program\n@@ -1 +1 @@\n-echo {0}\n+echo {1}\n",
               before, time),
        {.durable = false});
    ASSERT_TRUE(written.ok());
  }
  os::Path folder() {
    const os::Path path = root().parent_path() / "patches";
    EXPECT_TRUE(os::MakeFolders(path).ok());
    return path;
  }
};

TEST_F(QueueTest, KeepsDropsAndNamesWithoutTouchingTheCheckout) {
  MakeFilesProject();
  Start();
  const std::string head = Git({"rev-parse", "HEAD"});
  WritePatch("1-slower.patch", "2.0", "4.0");
  WritePatch("2-faster.patch", "2.0", "1.0");
  WritePatch("3-stale.patch", "2.0", "0.5");
  WritePatch("4-faster.patch", "1.0", "0.5");
  Write("src/accuracy", "9\n");  // not committed: of no effect, and left as it is

  Engine engine = Open();
  const auto report = DriveQueue(engine, folder());
  ASSERT_TRUE(report.ok()) << report.error().Text();
  ASSERT_EQ(report->items.size(), 4U);
  EXPECT_EQ(report->items[0].verdict.kind, VerdictKind::kDiscardPerformance);
  EXPECT_EQ(report->items[1].verdict.kind, VerdictKind::kKeep);
  EXPECT_EQ(report->items[2].verdict.kind, VerdictKind::kDiscardInvalid);
  EXPECT_EQ(report->items[3].verdict.kind, VerdictKind::kKeep);

  const std::string branch = Git({"rev-parse", "autoresearch/test"});
  EXPECT_EQ(branch, engine.Campaign()->incumbent_commit);
  EXPECT_EQ(Git({"rev-parse", "autoresearch/test~2"}), head);
  EXPECT_EQ(Git({"log", "-1", "--format=%s"}), "Print 0.5");
  EXPECT_EQ(Read("src/program"), "echo 2.0\n");
  EXPECT_EQ(Read("src/accuracy"), "9\n");
}

TEST_F(QueueTest, GoesOnWhereItWas) {
  MakeFilesProject();
  Start();
  WritePatch("1-slower.patch", "2.0", "4.0");
  Engine engine = Open();
  ASSERT_TRUE(DriveQueue(engine, folder()).ok());
  WritePatch("2-faster.patch", "2.0", "1.0");
  const auto report = DriveQueue(engine, folder());
  ASSERT_TRUE(report.ok()) << report.error().Text();
  EXPECT_TRUE(report->items[0].skipped);
  EXPECT_EQ(report->items[0].verdict.kind, VerdictKind::kDiscardPerformance);
  EXPECT_FALSE(report->items[1].skipped);
  EXPECT_EQ(engine.Experiments()->size(), 2U);
}

TEST_F(QueueTest, APromotionThatWasOwedIsMadeAtTheNextStart) {
  MakeFilesProject();
  Start();
  const std::string head = Git({"rev-parse", "HEAD"});
  WritePatch("1-faster.patch", "2.0", "1.0");
  {
    Engine engine = Open();
    // A ref that cannot be locked: the decision stands, the move fails.
    Write(".git/refs/heads/autoresearch/test.lock", "");
    EXPECT_FALSE(DriveQueue(engine, folder()).ok());
  }
  EXPECT_EQ(Git({"rev-parse", "HEAD"}), head);
  std::filesystem::remove(root() / ".git/refs/heads/autoresearch/test.lock");
  Notes notes;
  Engine engine = Open(&notes);
  ASSERT_TRUE(engine.Campaign().ok());
  EXPECT_TRUE(notes.Mention("finishing the promotion"));
  EXPECT_EQ(Git({"rev-parse", "HEAD"}), engine.Campaign()->incumbent_commit);
  EXPECT_NE(Git({"rev-parse", "HEAD"}), head);
}

TEST_F(QueueTest, ABranchThatWentElsewhereIsLeftAlone) {
  MakeFilesProject();
  Start();
  Write("notes.txt", "x");
  const std::string elsewhere = Commit("Unrelated");
  WritePatch("1-faster.patch", "2.0", "1.0");
  Engine engine = Open();
  const auto report = DriveQueue(engine, folder());
  ASSERT_TRUE(report.ok()) << report.error().Text();
  EXPECT_EQ(report->items[0].verdict.kind, VerdictKind::kKeep);
  EXPECT_EQ(Git({"rev-parse", "autoresearch/test"}), elsewhere);
}

}  // namespace
}  // namespace pawl::loop
