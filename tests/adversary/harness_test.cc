// Candidates that change what judges them: in their commit, while they run, and behind git's back.
#include <unistd.h>

#include <functional>

#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

// Wrong and apparently fast: kept only if the judge was changed.
constexpr std::string_view kWrong = "ops=1\nwork() { echo 6; }\n";
constexpr std::string_view kBlindJudge = R"(set -e
echo '{"metrics": {"accuracy": 1}, "cases": {"product": {"passed": true}}}' >"$1/quality.json"
)";

struct Change {
  std::string_view name;
  std::function<void(Project&)> make;
  std::string_view verdict, reason;
};

// A mount cannot be renamed, but a folder above it can.
TEST(Harness, AFolderAboveItThatTheBuildReplacesIsSeen) {
  ProjectOptions options;
  options.config = {{"commands.build", "stage=build; . src/program.sh"}};
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const std::string swap =
      "if test $stage = build; then\n  mv config mine; mkdir config; cp mine/* config\n"
      "  echo '{\"metrics\": {}}' >config/quality_contract.json\nfi\n";
  EXPECT_TRUE(Refused(project, project.Try(std::string(kWrong) + swap), "discard-invalid",
                      "the build command changed the harness: config/quality_contract.json"));
}

TEST(Harness, EveryChangeInTheCommitIsRefusedByName) {
  ProjectOptions options;
  options.files["harness/data/case.txt"] = "6 7\n";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const std::vector<Change> changes = {
      {"evaluator", [](Project& p) { p.Write("harness/quality.sh", kBlindJudge); },
       "discard-harness", "harness/quality.sh"},
      {"evaluator removed", [](Project& p) { p.Remove("harness/quality.sh"); }, "discard-harness",
       "harness/quality.sh"},
      {"all of it removed", [](Project& p) { p.Remove("harness"); }, "discard-harness",
       "harness/perf.sh"},
      {"file added", [](Project& p) { p.Write("harness/extra.sh", "true\n"); }, "discard-harness",
       "harness/extra.sh"},
      {"made executable",
       [](Project& p) { p.Write("harness/perf.sh", p.Read("harness/perf.sh"), 0755); },
       "discard-harness", "harness/perf.sh"},
      {"case changed", [](Project& p) { p.Write("harness/data/case.txt", "1 1\n"); },
       "discard-harness", "harness/data/case.txt"},
      {"contract",
       [](Project& p) { p.Write("config/quality_contract.json", R"({"metrics": {"speed": {}}})"); },
       "discard-harness", "config/quality_contract.json"},
      {"folder replaced by a link",
       [](Project& p) {
         p.Remove("harness");
         if (::symlink("src", (p.root() / "harness").c_str()) != 0) FAIL();
       },
       "discard-harness", "harness"},
      {"folder replaced by a file",
       [](Project& p) {
         p.Remove("harness");
         p.Write("harness", "x");
       },
       "discard-harness", "harness"},
      {"a second name in other case",
       [](Project& p) { p.Write("Harness/quality.sh", kBlindJudge); }, "discard-scope",
       "Harness/quality.sh"}};
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    project.Reset();
    project.Write("src/program.sh", project.Read("src/program.sh") + "ops=5\n");
    change.make(project);
    project.Commit();
    EXPECT_TRUE(Refused(project, project.Experiment(), change.verdict, change.reason));
  }
  EXPECT_EQ(project.Verify().exit_code, 0);
}

// The configuration says who judges; a commit that changes it is refused before it is believed.
TEST(Harness, TheConfigurationOfTheCommitIsNotTheCampaigns) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  std::string config = project.Read("config/autoresearch.json");
  config.replace(config.find("harness/quality.sh"), 18, "src/judge.sh");
  project.Write("config/autoresearch.json", config);
  project.Write("src/judge.sh", kBlindJudge);
  project.Write("src/program.sh", project.Read("src/program.sh") + std::string(kWrong));
  project.Commit();
  EXPECT_TRUE(Refused(project, project.Experiment(), "discard-harness", "autoresearch.json"));
}

class HarnessAtRunTime : public testing::TestWithParam<const char*> {};

// With a writable tree (the default without commands.build) candidate code stands beside the files
// that judge it.
TEST_P(HarnessAtRunTime, ChangesHaveNoEffect) {
  ProjectOptions options;
  options.level = GetParam();
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const std::string blind = Format("blind='{}'\n", "exit 0");
  for (const std::string_view how :
       {R"(echo 'exit 0' >harness/quality.sh)", R"(rm -f harness/quality.sh)",
        R"(rm -rf harness; mkdir harness; echo 'exit 0' >harness/quality.sh)",
        R"(mv harness gone; mkdir harness; cp src/judge.sh harness/quality.sh)",
        R"(mv harness gone; ln -s src harness)",
        R"(cp src/judge.sh harness/new; mv harness/new harness/quality.sh)",
        R"(ln -sf ../src/judge.sh harness/quality.sh)",
        R"(chmod 666 harness/quality.sh; cp src/judge.sh harness/quality.sh)"}) {
    SCOPED_TRACE(how);
    project.Reset();
    project.Write("src/judge.sh", kBlindJudge);
    project.Write("src/quality.sh", kBlindJudge);
    project.Write("src/program.sh", project.Read("src/program.sh") + std::string(kWrong) +
                                        Format("if test $stage = perf; then\n"
                                               "({}) 2>/dev/null || true\nfi\n"
                                               "test $stage = smoke && exit 0\ntrue\n",
                                               how));
    project.Commit();
    const Outcome outcome = project.Experiment();
    EXPECT_EQ(outcome.exit_code, 3) << outcome.Text();
    // Either it had no effect and the original judge spoke, or it was seen.
    if (outcome.verdict() == "discard-invalid") {
      EXPECT_TRUE(Refused(project, outcome, "discard-invalid", "changed the harness"));
    } else {
      EXPECT_TRUE(Refused(project, outcome, "discard-quality", "product"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, HarnessAtRunTime, testing::Values("L3", "L2"),
                         [](const auto& level) { return std::string(level.param); });

// dit-ar reads the files of the work tree, whatever the commit says.
TEST(Harness, TheWorkTreesHarnessDoesNotJudge) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/program.sh", project.Read("src/program.sh") + std::string(kWrong) +
                                      "test $stage = smoke && exit 0\ntrue\n");
  project.Commit();
  project.Git({"update-index", "--assume-unchanged", "harness/quality.sh"});
  project.Write("harness/quality.sh", kBlindJudge);
  const Outcome outcome = project.Experiment();
  EXPECT_EQ(outcome.exit_code, 3) << outcome.Text();
  EXPECT_NE(outcome.verdict(), "") << outcome.Text();
  if (outcome.verdict() == "discard-harness") {
    EXPECT_TRUE(Refused(project, outcome, "discard-harness", "harness/quality.sh"));
  } else {
    EXPECT_TRUE(Refused(project, outcome, "discard-quality", "product"));
  }
}

}  // namespace
}  // namespace pawl::adversary
