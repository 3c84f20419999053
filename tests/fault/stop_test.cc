// Pawl ended in the middle of a run: asked to (SIGINT, SIGTERM) and not (SIGKILL).
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/text.h"
#include "fault/campaign.h"

namespace pawl::fault {
namespace {

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
    project_->Write("src/program.sh", project_->Read("src/program.sh") +
                                          "if test $stage = perf; then\n"
                                          "  setsid sleep 31415.1 & sleep 31415.2\nfi\n");
    project_->Commit();
    pawl_ = project_->Start({"experiment", "--description", "hangs"});
    if (!Within([] { return Lives(First()) && Lives(Second()); })) {
      return testing::AssertionFailure() << "the experiment did not start";
    }
    return testing::AssertionSuccess();
  }
  int End(int signal) {
    ::kill(pawl_, signal);
    int status = 0;
    ::waitpid(pawl_, &status, 0);
    return status;
  }
  static bool Gone() {
    return Within([] { return !Lives(First()) && !Lives(Second()); });
  }
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
  static std::string First() { return std::string("sleep\0", 6) + "31415.1"; }
  static std::string Second() { return std::string("sleep\0", 6) + "31415.2"; }
  template <class Condition>
  static bool Within(Condition holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  std::optional<Project> project_;
  pid_t pawl_ = -1;
};

class Asked : public testing::TestWithParam<int> {};

TEST_P(Asked, IsRecordedAsInterruptedAndTheNextExperimentWorks) {
  Hanging hanging;
  if (!hanging.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  ASSERT_TRUE(hanging.Start());
  const int status = hanging.End(GetParam());
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(Hanging::Gone());
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
  const int status = hanging.End(SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(hanging.WorkIsEmpty());
  const Outcome next = hanging.project().Try("ops=9\n");
  EXPECT_EQ(next.verdict(), "keep") << next.Text();
  EXPECT_FALSE(Lives(std::string("sleep\0", 6) + "31415.1"));
  EXPECT_FALSE(Lives(std::string("sleep\0", 6) + "31415.2"));
  EXPECT_TRUE(hanging.WorkIsEmpty());
  EXPECT_EQ(hanging.Statuses().size(), 2U);
  EXPECT_EQ(hanging.Statuses().front(), "interrupted");
  EXPECT_EQ(hanging.project().Verify().exit_code, 0);
}

// While one Pawl measures, another is told who it is, and neither harms the record.
TEST(Rivals, TheSecondIsToldWhoIsBusy) {
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
  EXPECT_EQ(WEXITSTATUS(hanging.End(SIGTERM)), 130);
  EXPECT_EQ(hanging.Statuses().size(), 1U) << "the refused call left nothing";
  EXPECT_EQ(hanging.project().Try("ops=9\n").verdict(), "keep");
}

}  // namespace
}  // namespace pawl::fault
