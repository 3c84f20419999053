// Two Pawls at the same campaign at the same moment.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "base/text.h"
#include "fault/sample.h"
#include "support/project.h"

namespace pawl::fault {
namespace {

using test::Outcome;
using test::Project;
using Words = std::vector<std::string>;

test::ProjectOptions Options() {
  test::ProjectOptions options;
  options.level = "L3";
  return options;
}

const Words kExperiment = {"experiment", "--description", "race"};

class Rivals : public testing::Test {
 protected:
  bool Open() { return project_.Open(); }
  static int Rounds(int sample) { return TryAll() ? 10 * sample : sample; }

  // Starts both, holds them back before their first instruction, and lets them go together; the
  // second one so many milliseconds later.
  std::pair<Outcome, Outcome> Race(const Words& first, const Words& second, unsigned most_ms,
                                   unsigned least_ms = 0) {
    const os::Path gate = project_.home() / "gate";
    std::filesystem::remove(gate);
    EXPECT_EQ(::mkfifo(gate.c_str(), 0600), 0);
    const double lag_s =
        static_cast<double>(least_ms + random_() % (most_ms - least_ms + 1)) * 1e-3;
    const pid_t one = project_.Start(first, Held(gate, 0));
    const pid_t other = project_.Start(second, Held(gate, lag_s));
    // A line for each, whenever it comes to the gate.
    const os::Fd open_gate(::open(gate.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::write(open_gate.get(), "\n\n", 2), 2);
    Outcome first_end = project_.Await(one);
    return {std::move(first_end), project_.Await(other)};
  }

  // Went through, or was told who is at work.
  void ExpectClean(const Outcome& outcome) {
    if (outcome.exit_code == 0 || outcome.exit_code == 3) return;
    EXPECT_EQ(outcome.exit_code, 2) << outcome.Text();
    ASSERT_NE(outcome.json.Find("error"), nullptr) << outcome.Text();
    EXPECT_EQ(outcome.json.Find("error")->StringAt("code"), "busy") << outcome.Text();
    EXPECT_NE(outcome.error().find("process "), std::string::npos) << outcome.Text();
    ++refused_;
  }
  void ExpectOneThrough(const std::pair<Outcome, Outcome>& both) {
    ExpectClean(both.first);
    ExpectClean(both.second);
    EXPECT_TRUE(both.first.exit_code != 2 || both.second.exit_code != 2)
        << both.first.Text() << both.second.Text();
  }
  // The records are whole, and hold what was acknowledged and nothing else.
  void ExpectWhole(std::size_t experiments) {
    const Outcome sound = project_.Verify();
    EXPECT_EQ(sound.exit_code, 0) << sound.Text();
    const Outcome summary = project_.Pawl({"summary"});
    const Json* rows = summary.json.Find("experiments");
    ASSERT_NE(rows, nullptr) << summary.Text();
    EXPECT_EQ(rows->AsArray()->size(), experiments) << summary.Text();
    for (const Json& row : *rows->AsArray()) {
      EXPECT_NE(row.StringAt("status"), "interrupted") << summary.Text();
    }
    EXPECT_TRUE(!os::Exists(project_.state() / "work") ||
                std::filesystem::is_empty(project_.state() / "work"));
  }
  void ExpectRefusals(const char* what, int rounds) {
    std::printf("%s: %d of %d rounds met; PAWL_TEST_SEED=%u\n", what, refused_, rounds, Seed());
    EXPECT_GT(refused_, 0) << "the two never met";
  }
  // On the incumbent, better than all before, slow enough to be met.
  void Candidate() {
    const Outcome status = project_.Pawl({"status"});
    const Json& lane = status.json.Find("lanes")->AsArray()->at(0);
    project_.Git({"reset", "--quiet", "--hard", lane.StringAt("incumbent_commit")});
    ops_ -= 0.01;
    project_.Write("src/program.sh",
                   project_.Read("src/program.sh") +
                       Format("ops={:.2f}\ntest $stage = perf && sleep 0.1\ntrue\n", ops_));
    project_.Commit();
  }
  // In the first round the second one comes while the first is at work, later at any moment.
  static unsigned Least(int round) { return round == 0 ? 150 : 0; }
  static std::size_t Judged(const Outcome& outcome) { return outcome.verdict().empty() ? 0 : 1; }

  Project project_{Options()};
  std::mt19937 random_{Seed()};
  int refused_ = 0;
  double ops_ = 10;

 private:
  static Words Held(const os::Path& gate, double lag_s) {
    return {"/bin/sh", "-c", "read -r _ <\"$0\"; sleep \"$1\"; shift; exec \"$@\"", gate.string(),
            Format("{}", lag_s)};
  }
};

TEST_F(Rivals, OneOfTwoInitsOpensTheCampaign) {
  const int rounds = Rounds(3);
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::remove_all(project_.state());
    const auto [one, other] = Race({"init"}, {"init"}, 5);
    EXPECT_EQ((one.exit_code == 0) + (other.exit_code == 0), 1) << one.Text() << other.Text();
    const Outcome& loser = one.exit_code == 0 ? other : one;
    if (loser.error().find("is open on branch") == std::string::npos) ExpectClean(loser);
    ExpectWhole(0);
  }
  ExpectRefusals("init against init", rounds);
}

TEST_F(Rivals, OneOfTwoBaselinesIsRecorded) {
  const int rounds = Rounds(2);
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::remove_all(project_.state());
    ASSERT_EQ(project_.Pawl({"init"}).exit_code, 0);
    const auto [one, other] = Race({"baseline"}, {"baseline"}, 50);
    if (one.error().find("min_level") != std::string::npos) GTEST_SKIP() << one.error();
    EXPECT_EQ((one.exit_code == 0) + (other.exit_code == 0), 1) << one.Text() << other.Text();
    const Outcome& loser = one.exit_code == 0 ? other : one;
    if (loser.error().find("baseline already exists") == std::string::npos) ExpectClean(loser);
    ExpectWhole(0);
  }
  ExpectRefusals("baseline against baseline", rounds);
}

TEST_F(Rivals, ExperimentAgainstExperiment) {
  if (!Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  const int rounds = Rounds(3);
  std::size_t recorded = 0;
  for (int round = 0; round < rounds; ++round) {
    Candidate();
    const auto both = Race(kExperiment, kExperiment, 10);
    ExpectOneThrough(both);
    recorded += Judged(both.first) + Judged(both.second);
    ExpectWhole(recorded);
  }
  ExpectRefusals("experiment against experiment", rounds);
}

TEST_F(Rivals, ExperimentAgainstUndo) {
  if (!Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  const int rounds = Rounds(2);
  std::size_t recorded = 0;
  for (int round = 0; round < rounds; ++round) {
    Candidate();
    ASSERT_EQ(project_.Experiment().verdict(), "keep");
    Candidate();
    const auto both = Race(kExperiment, {"undo"}, 150, Least(round));
    ExpectOneThrough(both);
    recorded += 1 + Judged(both.first);
    ExpectWhole(recorded);
    const bool kept = both.first.verdict() == "keep";
    const bool undone = both.second.exit_code == 0;
    // The undo took back one of the two, or came too late; what stands is below what it stood on.
    EXPECT_TRUE(kept || undone) << both.first.Text() << both.second.Text();
  }
  ExpectRefusals("experiment against undo", rounds);
}

TEST_F(Rivals, EachPatchOfTwoQueuesIsJudgedOnce) {
  if (!Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  const os::Path folder = project_.home() / "queue";
  const int rounds = Rounds(2);
  for (int round = 0; round < rounds; ++round) {
    for (const int patch : {1, 2}) {
      project_.Write(folder / Format("{}.patch", patch),
                     Format("try {} {}\n\ndiff --git a/src/program.sh b/src/program.sh\n"
                            "--- a/src/program.sh\n+++ b/src/program.sh\n@@ -1,2 +1,3 @@\n"
                            " ops=10\n+ops={}\n memory_mb=100\n",
                            round, patch, 20 + patch));
    }
    const auto both = Race({"queue", folder.string()}, {"queue", folder.string()}, 30);
    ExpectOneThrough(both);
    ExpectWhole(2 * static_cast<std::size_t>(round + 1));
  }
  ExpectRefusals("queue against queue", rounds);
}

// `gc` removes what nobody names, and nothing that a running experiment is about to name.
TEST_F(Rivals, ExperimentAgainstGc) {
  if (!Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  const int rounds = Rounds(3);
  std::size_t recorded = 0;
  for (int round = 0; round < rounds; ++round) {
    Candidate();
    const auto both = Race(kExperiment, {"gc"}, 150, Least(round));
    ExpectOneThrough(both);
    recorded += Judged(both.first);
    ExpectWhole(recorded);
  }
  ExpectRefusals("experiment against gc", rounds);
}

// Reading takes no lock: beside a writer every look finds whole records.
TEST_F(Rivals, ReadersBesideAnExperiment) {
  if (!Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  const int rounds = Rounds(2);
  for (int round = 0; round < rounds; ++round) {
    Candidate();
    for (const char* reader : {"verify", "status"}) {
      const auto [experiment, reading] = Race(kExperiment, {reader}, 300);
      EXPECT_FALSE(experiment.verdict().empty()) << experiment.Text();
      EXPECT_EQ(reading.exit_code, 0) << reading.Text();
    }
  }
}

}  // namespace
}  // namespace pawl::fault
