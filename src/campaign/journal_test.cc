#include "campaign/journal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "campaign/harness_lock.h"
#include "store/test_folders.h"

namespace pawl::campaign {
namespace {

CommitId Commit40(int n) {
  return {Format("{:040x}", n)};
}

Json CampaignBody(std::string branch = "research", std::string config = "config/latency.json") {
  return JsonObject{{"branch", std::move(branch)},
                    {"config_path", std::move(config)},
                    {"project", "demo"},
                    {"root_commit", Commit40(1).hex},
                    {"metric", "wall"}};
}

// One file whose content is stored and one that stays in its place.
HarnessLock LockOf(const Sha256& stored, const Sha256& in_place) {
  HarnessLock lock;
  lock.files = {{.path = "harness/a.sh",
                 .sha256 = stored.hex(),
                 .size_bytes = 1,
                 .mode = 0644,
                 .in_place = false,
                 .stamp = {}},
                {.path = "harness/data.bin",
                 .sha256 = in_place.hex(),
                 .size_bytes = 1,
                 .mode = 0644,
                 .in_place = true,
                 .stamp = {}}};
  return lock;
}

Json Measured(double value) {
  return JsonObject{{"objective_value", value}, {"perf", JsonObject{{"wall", value}}}};
}

Journal::Admission Candidate(std::int64_t campaign, int commit, int incumbent = 1) {
  Journal::Admission admission;
  admission.campaign = campaign;
  admission.commit = Commit40(commit);
  admission.parent = Commit40(incumbent);
  admission.incumbent = Commit40(incumbent);
  admission.description = Format("idea {}", commit);
  admission.classification = "exact";
  admission.track = "tiles";
  admission.facts = JsonObject{{"lines_added", 3}};
  return admission;
}

Journal::Decision Verdict(std::int64_t experiment, VerdictKind kind, double value = 0) {
  Journal::Decision decision;
  decision.experiment = experiment;
  decision.kind = kind;
  decision.trust = Trust::kSeparate;
  decision.level = "L3";
  decision.quality = "pass";
  decision.evidence = JsonObject{{"version", 1}};
  if (kind == VerdictKind::kKeep) {
    decision.best_before = 10.0;
    decision.candidate = value;
    decision.incumbent = Measured(value);
  }
  return decision;
}

RunRecord RunOf(std::string stage, int index, std::string log = {}) {
  RunRecord run;
  run.stage = std::move(stage);
  run.index = index;
  run.command = "make";
  run.outcome = JsonObject{{"end", "exited"}, {"wall_s", 0.25}};
  run.log_sha256 = std::move(log);
  return run;
}

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-journal-");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(made).value());
    state_ = scratch_->path() / "state";
  }
  Journal Writer() {
    Result<Journal> journal = Journal::OpenWriter(state_);
    EXPECT_TRUE(journal.ok()) << journal.error().Text();
    return std::move(journal).value();
  }
  Journal Reader() {
    Result<Journal> journal = Journal::OpenReader(state_);
    EXPECT_TRUE(journal.ok()) << journal.error().Text();
    return std::move(journal).value();
  }
  // A campaign with a baseline of 10.
  static std::int64_t Baselined(Journal& journal) {
    const std::int64_t id = journal.OpenCampaign(CampaignBody()).value();
    EXPECT_TRUE(journal.RecordBaseline(id, Measured(10)).ok());
    return id;
  }
  static std::int64_t Keep(Journal& journal, std::int64_t campaign, int commit, int incumbent,
                           double value) {
    const Result<std::int64_t> id = journal.Admit(Candidate(campaign, commit, incumbent));
    EXPECT_TRUE(id.ok()) << id.error().Text();
    const Status kept = journal.Decide(Verdict(*id, VerdictKind::kKeep, value));
    EXPECT_TRUE(kept.ok()) << kept.error().Text();
    return *id;
  }
  static void ExpectSound(Journal& journal) {
    EXPECT_EQ(journal.ledger().VerifyChain()->problems, std::vector<std::string>());
    EXPECT_EQ(*journal.ledger().VerifyProjection(), std::vector<std::string>());
  }
  std::optional<os::ScratchFolder> scratch_;
  Path state_;
};

TEST(VerdictNames, AreReadBackAndUnknownOnesAreNot) {
  for (int i = 0; i <= static_cast<int>(VerdictKind::kInfraFail); ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    EXPECT_EQ(ParseVerdict(VerdictName(kind)), kind);
  }
  EXPECT_FALSE(ParseVerdict("open").has_value());
}

TEST_F(JournalTest, ACampaignGoesFromOpenToBaselinedToClosed) {
  Journal journal = Writer();
  const std::int64_t id = journal.OpenCampaign(CampaignBody()).value();
  CampaignRow row = journal.GetCampaign(id).value();
  EXPECT_EQ(row.state, "open");
  EXPECT_EQ(row.lane, "latency");
  EXPECT_EQ(row.opened.StringAt("metric"), "wall");
  EXPECT_EQ(journal.Admit(Candidate(id, 2)).error().code, Code::kConflict);

  ASSERT_TRUE(journal.RecordBaseline(id, Measured(10)).ok());
  row = journal.FindCampaign("research", "config/latency.json").value().value();
  EXPECT_EQ(row.state, "baselined");
  EXPECT_EQ(row.baseline_value, 10);
  EXPECT_EQ(row.incumbent_value, 10);
  EXPECT_EQ(row.incumbent_commit, Commit40(1).hex);
  EXPECT_EQ(row.incumbent.FindPath("perf.wall")->AsDouble(), 10);
  EXPECT_EQ(journal.RecordBaseline(id, Measured(9)).error().code, Code::kConflict);

  ASSERT_TRUE(journal.CloseCampaign(id, "done").ok());
  EXPECT_EQ(journal.CloseCampaign(id, "done").error().code, Code::kConflict);
  EXPECT_EQ(journal.Admit(Candidate(id, 2)).error().code, Code::kConflict);
  EXPECT_FALSE(journal.FindCampaign("research", "config/latency.json").value().has_value());
  ExpectSound(journal);
}

TEST_F(JournalTest, LanesStandSideBySideAndASecondLiveCampaignOfOneIsRefused) {
  Journal journal = Writer();
  const std::int64_t first = Baselined(journal);
  ASSERT_TRUE(journal.OpenCampaign(CampaignBody("research", "config/vram.json")).ok());
  const auto again = journal.OpenCampaign(CampaignBody());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_NE(again.error().hint.find("--new-campaign"), std::string::npos);
  const std::int64_t next = journal.OpenCampaign(CampaignBody(), first).value();
  EXPECT_EQ(journal.GetCampaign(first)->state, "closed");
  EXPECT_EQ(journal.GetCampaign(next)->state, "open");
  EXPECT_EQ(journal.Campaigns()->size(), 3U);
}

TEST_F(JournalTest, BodiesWithoutWhatMustBeThereAreRefused) {
  Journal journal = Writer();
  EXPECT_EQ(journal.OpenCampaign(JsonObject{{"branch", "b"}}).error().code, Code::kInvalidArgument);
  const std::int64_t id = journal.OpenCampaign(CampaignBody()).value();
  EXPECT_EQ(journal.RecordBaseline(id, JsonObject{}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(journal.RecordBaseline(id, JsonObject{{"objective_value", std::nan("")}}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(journal.GetCampaign(id)->state, "open");
  EXPECT_EQ(journal.RecordBaseline(77, Measured(1)).error().code, Code::kNotFound);
}

TEST_F(JournalTest, AnExperimentIsReadBackAsItWasWritten) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  Journal::Admission admission = Candidate(campaign, 2);
  admission.description = "na\xc3\xafve \x01 idea";
  admission.diff_sha256 = journal.artifacts().Put("diff")->hex();
  const std::int64_t id = journal.Admit(admission).value();
  ASSERT_TRUE(journal.RecordStage(id, "build").ok());
  ASSERT_TRUE(journal.RecordRun(id, RunOf("build", 0), Commit::kWithNext).ok());
  EXPECT_EQ(journal.GetExperiment(id)->stage, "") << "what waits is not visible yet";
  const std::string log = journal.artifacts().Put("log")->hex();
  ASSERT_TRUE(journal.RecordRun(id, RunOf("perf", 0, log)).ok());
  EXPECT_EQ(journal.OpenExperiments()->size(), 1U);

  Journal::Decision decision = Verdict(id, VerdictKind::kDiscardPerformance);
  decision.candidate = 10.5;
  ASSERT_TRUE(journal.Decide(decision).ok());
  const Journal reader = Reader();
  const ExperimentRow row = reader.GetExperiment(id).value();
  EXPECT_EQ(row.description, admission.description);
  EXPECT_EQ(row.commit, Commit40(2).hex);
  EXPECT_EQ(row.status, "discard-performance");
  EXPECT_EQ(row.stage, "perf");
  EXPECT_EQ(row.candidate, 10.5);
  EXPECT_FALSE(row.best_before.has_value());
  EXPECT_EQ(row.trust, "separate");
  EXPECT_EQ(row.diff_sha256, admission.diff_sha256);
  EXPECT_GE(row.decided_us, row.admitted_us);
  const std::vector<RunRecord> runs = reader.Runs(id).value();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].log_sha256, log);
  EXPECT_EQ(runs[1].outcome.DoubleAt("wall_s"), 0.25);
  EXPECT_EQ(reader.Evidence(id)->FindPath("evidence.version")->AsDouble(), 1);
  EXPECT_EQ(reader.artifacts().Get(*Sha256::FromHex(log)).value(), "log");
  EXPECT_TRUE(reader.OpenExperiments()->empty());
  EXPECT_EQ(reader.VerdictCounts(campaign)->at("discard-performance"), 1);
  ExpectSound(journal);
}

TEST_F(JournalTest, NothingIsDecidedCountedOrAdmittedTwice) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  const std::int64_t id = journal.Admit(Candidate(campaign, 2)).value();
  EXPECT_EQ(journal.Admit(Candidate(campaign, 2)).error().code, Code::kConflict);
  EXPECT_EQ(journal.CloseCampaign(campaign, "x").error().code, Code::kConflict);
  ASSERT_TRUE(journal.RecordRun(id, RunOf("perf", 0)).ok());
  EXPECT_EQ(journal.RecordRun(id, RunOf("perf", 0)).error().code, Code::kConflict);
  EXPECT_EQ(journal.RecordRun(id, RunOf("perf", 2)).error().code, Code::kConflict);
  ASSERT_TRUE(journal.RecordRun(id, RunOf("perf", 1), Commit::kWithNext).ok());
  EXPECT_EQ(journal.RecordRun(id, RunOf("perf", 1), Commit::kWithNext).error().code,
            Code::kConflict)
      << "what waits counts";
  ASSERT_TRUE(journal.Decide(Verdict(id, VerdictKind::kCrash)).ok());
  EXPECT_EQ(journal.Decide(Verdict(id, VerdictKind::kCrash)).error().code, Code::kConflict);
  EXPECT_EQ(journal.Decide(Verdict(id, VerdictKind::kKeep, 5)).error().code, Code::kConflict);
  EXPECT_EQ(journal.RecordRun(id, RunOf("perf", 2)).error().code, Code::kConflict);
  EXPECT_EQ(journal.RecordStage(id, "perf").error().code, Code::kConflict);
  EXPECT_EQ(journal.Runs(id)->size(), 2U);
  EXPECT_EQ(journal.Decide(Verdict(99, VerdictKind::kCrash)).error().code, Code::kNotFound);
  ASSERT_TRUE(journal.Admit(Candidate(campaign, 2)).ok()) << "again, as an attempt that is seen";
  EXPECT_EQ(journal.AttemptsOn(campaign, Commit40(2))->size(), 2U);
  ExpectSound(journal);
}

TEST_F(JournalTest, AKeepMovesTheIncumbentAndUndoGoesBackStepByStep) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  Keep(journal, campaign, 2, 1, 8);
  Keep(journal, campaign, 3, 2, 6);
  CampaignRow row = journal.GetCampaign(campaign).value();
  EXPECT_EQ(row.incumbent_commit, Commit40(3).hex);
  EXPECT_EQ(row.incumbent_value, 6);
  EXPECT_EQ(row.baseline_value, 10);
  EXPECT_EQ(row.keeps, 2);
  EXPECT_EQ(row.experiments, 2);

  int present = 3;
  for (const int back : {2, 1}) {
    const IncumbentRow previous = journal.PreviousIncumbent(campaign).value().value();
    EXPECT_EQ(previous.commit, Commit40(back).hex);
    EXPECT_EQ(previous.body.FindPath("perf.wall")->AsDouble(), back == 2 ? 8 : 10);
    ASSERT_TRUE(
        journal.MoveIncumbent(campaign, Commit40(present), {previous.commit}, "undo", previous.body)
            .ok());
    present = back;
    row = journal.GetCampaign(campaign).value();
    EXPECT_EQ(row.incumbent_commit, Commit40(back).hex);
    EXPECT_EQ(row.incumbent_value, back == 2 ? 8 : 10);
  }
  EXPECT_FALSE(journal.PreviousIncumbent(campaign).value().has_value());
  EXPECT_EQ(
      journal.MoveIncumbent(campaign, Commit40(3), Commit40(2), "undo", Measured(8)).error().code,
      Code::kConflict);
  const std::vector<IncumbentRow> history = journal.IncumbentHistory(campaign).value();
  ASSERT_EQ(history.size(), 5U);
  EXPECT_EQ(history[0].reason, "baseline");
  EXPECT_EQ(history[2].reason, "keep");
  EXPECT_EQ(history[4].reason, "undo");
  ExpectSound(journal);
}

TEST_F(JournalTest, AKeepAgainstAnIncumbentThatMovedIsRefusedWhole) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  const std::int64_t slow = journal.Admit(Candidate(campaign, 2)).value();
  Keep(journal, campaign, 3, 1, 8);
  EXPECT_EQ(journal.Decide(Verdict(slow, VerdictKind::kKeep, 7)).error().code, Code::kConflict);
  EXPECT_EQ(journal.GetExperiment(slow)->status, "open");
  EXPECT_EQ(journal.GetCampaign(campaign)->keeps, 1);
  EXPECT_EQ(journal.Admit(Candidate(campaign, 4, 1)).error().code, Code::kConflict);
  ASSERT_TRUE(journal.Decide(Verdict(slow, VerdictKind::kInterrupted)).ok());
  ExpectSound(journal);
}

TEST_F(JournalTest, ARefreshMeasuresAnewAndKeepsWhatUndoNeeds) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  Keep(journal, campaign, 2, 1, 8);
  const Json refresh =
      JsonObject{{"objective_value", 20.0}, {"refresh", true}, {"incumbent", Measured(16)}};
  ASSERT_TRUE(journal.RecordBaseline(campaign, refresh).ok());
  const CampaignRow row = journal.GetCampaign(campaign).value();
  EXPECT_EQ(row.baseline_value, 20);
  EXPECT_EQ(row.incumbent_value, 16);
  EXPECT_EQ(row.incumbent_commit, Commit40(2).hex);
  EXPECT_EQ(row.incumbent.FindPath("perf.wall")->AsDouble(), 16);
  EXPECT_EQ(journal.PreviousIncumbent(campaign).value()->commit, Commit40(1).hex);
  ExpectSound(journal);
}

TEST_F(JournalTest, ASharedKeepIsSeenAsLongAsItStands) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  EXPECT_FALSE(*journal.HasSharedKeep(campaign));
  const std::int64_t id = journal.Admit(Candidate(campaign, 2)).value();
  Journal::Decision shared = Verdict(id, VerdictKind::kKeep, 8);
  shared.trust = Trust::kShared;
  ASSERT_TRUE(journal.Decide(shared).ok());
  Keep(journal, campaign, 3, 2, 7);
  EXPECT_TRUE(*journal.HasSharedKeep(campaign));
  ASSERT_TRUE(journal.MoveIncumbent(campaign, Commit40(3), Commit40(1), "undo", Measured(10)).ok());
  EXPECT_FALSE(*journal.HasSharedKeep(campaign));
}

TEST_F(JournalTest, WhatTheLedgerNamesIsReferencedDirectlyOrThroughTheCampaignsLock) {
  Journal journal = Writer();
  const Sha256 inner = journal.artifacts().Put("harness file").value();
  const Sha256 in_place = HashBytes("large data that was never stored");
  const Sha256 lock = journal.artifacts().Put(LockOf(inner, in_place).ToJson().Canonical()).value();
  const Sha256 stray = journal.artifacts().Put("stray").value();
  JsonObject body = *CampaignBody().AsObject();
  body["lock_sha256"] = lock.hex();
  body["fixed_hashes"] = JsonObject{{"data.bin", in_place.hex()}};
  ASSERT_TRUE(journal.OpenCampaign(body).ok());
  const std::vector<Sha256> kept = journal.ReferencedArtifacts().value();
  EXPECT_TRUE(std::ranges::binary_search(kept, inner));
  EXPECT_TRUE(std::ranges::binary_search(kept, lock));
  EXPECT_TRUE(std::ranges::binary_search(kept, in_place));
  EXPECT_FALSE(std::ranges::binary_search(kept, stray));
  EXPECT_EQ(journal.RequiredArtifacts()->size(), 2U) << "lock and harness file";
  const Sha256 log = journal.artifacts().Put("log").value();
  const Json run = JsonObject{{"log_sha256", log.hex()}};
  const Json baseline = JsonObject{{"objective_value", 1},
                                   {"perf", JsonObject{{"weights_sha256", stray.hex()}}},
                                   {"runs", JsonArray{run}}};
  ASSERT_TRUE(journal.RecordBaseline(1, baseline).ok());
  std::vector<Sha256> required = {lock, inner, log};
  std::ranges::sort(required);
  EXPECT_EQ(journal.RequiredArtifacts().value(), required);
}

TEST_F(JournalTest, LimitsGiveTheLastOnesOldestFirst) {
  Journal journal = Writer();
  const std::int64_t campaign = Baselined(journal);
  for (int i = 2; i <= 6; ++i) {
    const std::int64_t id = journal.Admit(Candidate(campaign, i)).value();
    const VerdictKind kind = i % 2 == 0 ? VerdictKind::kCrash : VerdictKind::kTimeout;
    ASSERT_TRUE(journal.Decide(Verdict(id, kind)).ok());
  }
  const auto ids = [](const std::vector<ExperimentRow>& rows) {
    std::vector<std::int64_t> out;
    out.reserve(rows.size());
    for (const ExperimentRow& row : rows) out.push_back(row.id);
    return out;
  };
  EXPECT_EQ(ids(*journal.Experiments({.campaign = campaign, .status = {}, .limit = 2})),
            std::vector<std::int64_t>({4, 5}));
  EXPECT_EQ(ids(*journal.Experiments({.campaign = {}, .status = "crash", .limit = 0})),
            std::vector<std::int64_t>({1, 3, 5}));
  EXPECT_TRUE(journal.Experiments({.campaign = 9, .status = {}, .limit = 0})->empty());
}

TEST_F(JournalTest, OneWriterAtATimeAndReadersBesideIt) {
  EXPECT_EQ(Journal::OpenReader(state_).error().code, Code::kNotFound);
  EXPECT_FALSE(os::Exists(state_));
  Journal journal = Writer();
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<Journal> second = Journal::OpenWriter(state_);
    const bool refused = !second.ok() && second.error().code == Code::kBusy &&
                         second.error().message.find("pawl, process") != std::string::npos;
    const Result<Journal> reader = Journal::OpenReader(state_);
    ::_exit(refused && reader.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(JournalTest, AProgramStartedMeanwhileDoesNotInheritTheLock) {
  pid_t child = 0;
  {
    const Journal journal = Writer();
    const char* argv[] = {"sleep", "60", nullptr};
    ASSERT_EQ(::posix_spawnp(&child, "sleep", nullptr, nullptr, const_cast<char**>(argv), environ),
              0);
    EXPECT_EQ(Journal::OpenWriter(state_).error().code, Code::kBusy);
  }
  const Result<Journal> next = Journal::OpenWriter(state_);
  EXPECT_EQ(::kill(child, 0), 0) << "the program must still run for this to say anything";
  EXPECT_TRUE(next.ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Two processes write as fast as they can, each retrying while the other holds the lock.
TEST_F(JournalTest, RacingWritersTakeTurns) {
  {
    Baselined(*std::make_unique<Journal>(Writer()));
  }
  std::vector<pid_t> children;
  for (int side = 0; side < 2; ++side) {
    const pid_t child = ::fork();
    if (child == 0) {
      int done = 0;
      for (int attempt = 0; attempt < 20000 && done < 5; ++attempt) {
        Result<Journal> journal = Journal::OpenWriter(state_);
        if (!journal.ok()) {
          if (journal.error().code != Code::kBusy) ::_exit(2);
          ::usleep(500);
          continue;
        }
        const Result<std::int64_t> id = journal->Admit(Candidate(1, 100 + side * 100 + done));
        if (!id.ok() || !journal->Decide(Verdict(*id, VerdictKind::kCrash)).ok()) ::_exit(3);
        ++done;
      }
      ::_exit(done == 5 ? 0 : 4);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Journal journal = Writer();
  EXPECT_EQ(journal.VerdictCounts(1)->at("crash"), 10);
  ExpectSound(journal);
}

// A process that is killed at any moment of a campaign: what it reported is there, at most one
// experiment is open, and it can be named interrupted and the campaign go on.
TEST_F(JournalTest, KilledAtAnyMomentNothingReportedIsLostOrCountedTwice) {
  {
    Baselined(*std::make_unique<Journal>(Writer()));
  }
  std::int64_t reported_runs = 0;
  std::int64_t reported_verdicts = 0;
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Journal> journal = Journal::OpenWriter(state_);
      const auto report = [&](char what) {
        if (::write(ends[1], &what, 1) != 1) ::_exit(3);
      };
      for (int i = 0;; ++i) {
        const auto id = journal->Admit(Candidate(1, 1000 + round * 1000 + i));
        if (!id.ok()) ::_exit(4);
        for (int run = 0; run < 3; ++run) {
          const auto log = journal->artifacts().Put(Format("{} {} {}", round, i, run));
          if (!journal->RecordRun(*id, RunOf("perf", run, log->hex())).ok()) ::_exit(5);
          report('r');
        }
        if (!journal->Decide(Verdict(*id, VerdictKind::kDiscardPerformance)).ok()) ::_exit(6);
        report('v');
      }
    }
    ::close(ends[1]);
    char what = 0;
    for (int i = 0; i < 2 + round % 5 && ::read(ends[0], &what, 1) == 1; ++i) {
      (what == 'r' ? reported_runs : reported_verdicts) += 1;
    }
    ::usleep(static_cast<useconds_t>(round * 300));
    ::kill(child, SIGKILL);
    while (::read(ends[0], &what, 1) == 1) (what == 'r' ? reported_runs : reported_verdicts) += 1;
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;

    Journal journal = Writer();
    const std::vector<ExperimentRow> open = journal.OpenExperiments().value();
    ASSERT_LE(open.size(), 1U);
    for (const ExperimentRow& row : open) {
      ASSERT_TRUE(journal.Decide(Verdict(row.id, VerdictKind::kInterrupted)).ok());
    }
  }
  Journal journal = Writer();
  std::int64_t runs = 0;
  const std::vector<ExperimentRow> experiments = journal.Experiments({}).value();
  for (const ExperimentRow& row : experiments) {
    const std::vector<RunRecord> recorded = journal.Runs(row.id).value();
    for (const RunRecord& run : recorded) {
      EXPECT_TRUE(journal.artifacts().Check(*Sha256::FromHex(run.log_sha256)).ok());
      ++runs;
    }
  }
  EXPECT_GT(reported_runs, 12);
  EXPECT_GE(runs, reported_runs);
  EXPECT_LE(runs, reported_runs + 12) << "at most the unreported one of each kill";
  EXPECT_GE(journal.VerdictCounts(1)->at("discard-performance"), reported_verdicts);
  ExpectSound(journal);
}

// Any order of steps, sensible or not, against a plain model of the state machine.
RC_GTEST_PROP(JournalProperty, StepsAreTakenExactlyWhenTheStateAllowsThem, ()) {
  auto made = os::ScratchFolder::Make(store::FastFolder(), "pawl-journal-");
  RC_ASSERT(made.ok());
  Result<Journal> journal = Journal::OpenWriter(made->path());
  RC_ASSERT(journal.ok());
  RC_ASSERT(journal->OpenCampaign(CampaignBody()).ok());
  struct Experiment {
    int commit, incumbent;
    bool open;
  };
  bool baselined = false;
  int incumbent = 1;
  std::vector<Experiment> model;
  const int steps = *rc::gen::inRange(1, 14);
  for (int step = 0; step < steps; ++step) {
    const int action = *rc::gen::inRange(0, 6);
    if (action == 0) {
      RC_ASSERT(journal->RecordBaseline(1, Measured(10)).ok() == !baselined);
      baselined = true;
    } else if (action <= 2) {
      const int commit = *rc::gen::inRange(2, 6);
      const int against = *rc::gen::inRange(0, 4) == 0 ? 1 : incumbent;
      const bool twin = std::ranges::any_of(
          model, [&](const Experiment& one) { return one.open && one.commit == commit; });
      const bool expected = baselined && against == incumbent && !twin;
      RC_ASSERT(journal->Admit(Candidate(1, commit, against)).ok() == expected);
      if (expected) model.push_back({commit, against, true});
    } else if (!model.empty()) {
      const auto index = *rc::gen::inRange<std::size_t>(0, model.size());
      const bool keep = action == 3;
      Experiment& one = model[index];
      const bool expected = one.open && (!keep || one.incumbent == incumbent);
      const auto kind = keep ? VerdictKind::kKeep : VerdictKind::kDiscardQuality;
      const Journal::Decision decision = Verdict(static_cast<std::int64_t>(index) + 1, kind, 5);
      RC_ASSERT(journal->Decide(decision).ok() == expected);
      if (!expected) continue;
      one.open = false;
      if (keep) incumbent = one.commit;
    }
  }
  const auto row = journal->GetCampaign(1);
  RC_ASSERT(row->experiments == static_cast<std::int64_t>(model.size()));
  if (baselined) RC_ASSERT(row->incumbent_commit == Commit40(incumbent).hex);
  RC_ASSERT(journal->ledger().VerifyChain()->problems.empty());
  RC_ASSERT(journal->ledger().VerifyProjection()->empty());
}

}  // namespace
}  // namespace pawl::campaign
