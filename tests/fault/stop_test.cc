// Pawl ended in the middle of a run: asked to (SIGINT, SIGTERM) and not (SIGKILL).
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/processes.h"
#include "support/project.h"

namespace pawl::fault {
namespace {

using test::Becomes;
using test::Lives;
using test::Outcome;
using test::Project;

// A campaign in which an experiment hangs in perf, with a forked process beside it.
class Hanging {
 public:
  Hanging() {
    test::ProjectOptions options;
    options.level = "L3";
    project_.emplace(options);
  }
  bool Open() { return project_->Open(); }
  Project& project() { return *project_; }

  // Starts the experiment and waits until both of its processes live.
  testing::AssertionResult Start() {
    project_->Write("src/program.sh",
                    project_->Read("src/program.sh") +
                        Format("if test $stage = perf; then\n  setsid sleep {} & sleep {}\nfi\n",
                               Number(1), Number(2)));
    project_->Commit();
    pawl_ = project_->Start({"experiment", "--description", "hangs"});
    if (Becomes(true, CommandLine(1)) && Becomes(true, CommandLine(2))) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "the experiment did not start";
  }
  int End(int signal) {
    ::kill(pawl_, signal);
    return project_->Await(pawl_).exit_code;
  }
  bool Gone() { return Becomes(false, CommandLine(1)) && Becomes(false, CommandLine(2)); }
  bool AnyLives() { return Lives(CommandLine(1)) || Lives(CommandLine(2)); }
  std::vector<std::string> Statuses() {
    std::vector<std::string> statuses;
    const Outcome summary = project_->Pawl({"summary"});
    for (const Json& row : *summary.json.Find("experiments")->AsArray()) {
      statuses.push_back(row.StringAt("status"));
    }
    return statuses;
  }
  bool WorkIsEmpty() {
    const os::Path work = project_->state() / "work";
    return !os::Exists(work) || std::filesystem::is_empty(work);
  }

 private:
  // No other test that runs at the same time sleeps for as long.
  static std::string Number(int which) { return Format("31{}.{}", ::getpid(), which); }
  static std::string CommandLine(int which) {
    return std::string("sleep\0", 6) + Number(which) + std::string(1, '\0');
  }

  std::optional<Project> project_;
  pid_t pawl_ = -1;
};

class Asked : public testing::TestWithParam<int> {};

TEST_P(Asked, IsRecordedAsInterruptedAndTheNextExperimentWorks) {
  Hanging hanging;
  if (!hanging.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  ASSERT_TRUE(hanging.Start());
  EXPECT_EQ(hanging.End(GetParam()), 130);
  EXPECT_TRUE(hanging.Gone());
  EXPECT_EQ(hanging.Statuses(), std::vector<std::string>{"interrupted"});
  EXPECT_TRUE(hanging.WorkIsEmpty());
  EXPECT_EQ(hanging.project().Try("ops=9\n").verdict(), "keep");
  EXPECT_EQ(hanging.project().Verify().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, Asked, testing::Values(SIGINT, SIGTERM), [](const auto& signal) {
  return std::string(signal.param == SIGINT ? "Int" : "Term");
});

TEST(NotAsked, NothingOfAKilledPawlOutlivesTheNextStart) {
  Hanging hanging;
  if (!hanging.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  ASSERT_TRUE(hanging.Start());
  ASSERT_EQ(hanging.End(SIGKILL), 128 + SIGKILL);
  EXPECT_FALSE(hanging.WorkIsEmpty());
  const Outcome next = hanging.project().Try("ops=9\n");
  EXPECT_EQ(next.verdict(), "keep") << next.Text();
  EXPECT_FALSE(hanging.AnyLives());
  EXPECT_TRUE(hanging.WorkIsEmpty());
  EXPECT_EQ(hanging.Statuses().size(), 2U);
  EXPECT_EQ(hanging.Statuses().front(), "interrupted");
  EXPECT_EQ(hanging.project().Verify().exit_code, 0);
}

// While one Pawl measures, another is told who it is, and neither harms the record.
TEST(Busy, TheSecondIsToldByWhom) {
  Hanging hanging;
  if (!hanging.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  ASSERT_TRUE(hanging.Start());
  const Outcome second = hanging.project().Experiment();
  EXPECT_EQ(second.exit_code, 2) << second.Text();
  ASSERT_NE(second.json.Find("error"), nullptr) << second.Text();
  EXPECT_EQ(second.json.Find("error")->StringAt("code"), "busy");
  EXPECT_NE(second.error().find("process "), std::string::npos) << second.error();
  EXPECT_EQ(hanging.project().Pawl({"status"}).exit_code, 0) << "reading needs no lock";
  EXPECT_EQ(hanging.project().Verify().exit_code, 0);
  EXPECT_EQ(hanging.End(SIGTERM), 130);
  EXPECT_EQ(hanging.Statuses().size(), 1U) << "the refused call left nothing";
  EXPECT_EQ(hanging.project().Try("ops=9\n").verdict(), "keep");
}

}  // namespace
}  // namespace pawl::fault
