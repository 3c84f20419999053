// Protocol `wall`: clock, inputs and judge are out of the candidate's reach, at L3 and, under
// another uid, at L2. Nothing but doing the work in less time is kept.
#include <unistd.h>

#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

using Place = Project::Place;

constexpr std::string_view kWork = "cksum <\"$1/number\" >\"$2/answer\"\n";

class Wall : public testing::TestWithParam<const char*> {
 protected:
  static ProjectOptions Options() {
    ProjectOptions options;
    options.protocol = ProjectOptions::Protocol::kWall;
    options.level = GetParam();
    return WithAttack(options);
  }
  static bool Separate() { return std::string_view(GetParam()) == "L3" || ::geteuid() == 0; }
};

TEST_P(Wall, AnHonestGainIsKeptApart) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  EXPECT_TRUE(
      Kept(project, project.Try(kWork, Place::kInstead), Separate() ? "separate" : "shared"));
}

TEST_P(Wall, NobodyWritesResultFiles) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  const Outcome perf = project.Try(
      "echo '{\"wall\": 0.001}' >\"$(dirname \"$2\")/perf.json\"\n" + std::string(kWork),
      Place::kInstead);
  EXPECT_TRUE(Refused(project, perf, "discard-invalid", "perf.json"));
  const Outcome quality = project.Try(
      "echo '{\"metrics\": {\"exit\": 1}, \"cases\": {\"exit\": true}}' "
      ">\"$(dirname \"$2\")/quality.json\"\n",
      Place::kInstead);
  EXPECT_TRUE(Refused(project, quality, "discard-invalid", "quality.json"));
}

TEST_P(Wall, WorkThatIsNotDoneIsSeen) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  // Nothing, an old answer, or an answer after the end.
  EXPECT_TRUE(Refused(project, project.Try("true\n", Place::kInstead), "discard-quality", "exit"));
  EXPECT_TRUE(Refused(project, project.Try("echo '3515105045 2' >\"$2/answer\"\n", Place::kInstead),
                      "discard-quality", "exit"));
  EXPECT_TRUE(Refused(
      project,
      project.Try(Format("src/attack daemon 100 \"$2/answer\" \"$(cksum <\"$1/number\")\" {}\n",
                         project.root().string()),
                  Place::kInstead),
      "discard-quality", "exit"));
  EXPECT_FALSE(Lives(project.root().string() + '\0'));
}

TEST_P(Wall, InputsAndJudgeCannotBeChanged) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  for (const std::string_view how :
       {R"(echo 1 >"$1/number")", R"(rm -f "$1/number"; echo 1 >"$1/number")",
        R"(mv "$1" "$1.old"; mkdir "$1"; echo 1 >"$1/number")", R"(echo true >harness/check.sh)",
        R"(rm -rf harness; mkdir harness; echo true >harness/check.sh)"}) {
    SCOPED_TRACE(how);
    const Outcome outcome = project.Try(
        Format("({}) 2>/dev/null\necho '3515105045 2' >\"$2/answer\"\n", how), Place::kInstead);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.Text();
    EXPECT_TRUE(outcome.verdict() == "discard-quality" || outcome.verdict() == "discard-invalid")
        << outcome.Text();
  }
}

TEST_P(Wall, OutputsThatLeadElsewhereAreInvalid) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  const std::vector<std::pair<std::string_view, std::string_view>> outputs = {
      {"link to what only the judge sees", R"(ln -s "$1/number" "$2/answer")"},
      {"link to the harness", R"(ln -s "$PWD/harness/check.sh" "$2/answer")"},
      {"queue", R"(mkfifo "$2/answer")"},
      {"socket", R"(src/attack make-socket "$2/answer")"}};
  for (const auto& [name, how] : outputs) {
    SCOPED_TRACE(name);
    const Outcome outcome = project.Try(Format("{}\n", how), Place::kInstead);
    // Below L3 no socket can be made in the first place.
    const bool prevented = name == "socket" && std::string_view(GetParam()) != "L3";
    EXPECT_TRUE(prevented ? Refused(project, outcome, "crash", "make-socket: refused")
                          : Refused(project, outcome, "discard-invalid", "outputs"));
  }
  // The folder itself in the judge's way.
  const Outcome swapped =
      project.Try("(rm -rf \"$2\"; ln -s \"$1\" \"$2\") 2>/dev/null\ntrue\n", Place::kInstead);
  EXPECT_EQ(swapped.exit_code, 3) << swapped.Text();
  EXPECT_TRUE(swapped.verdict() == "discard-quality" || swapped.verdict() == "discard-invalid")
      << swapped.Text();
  const Outcome folder = project.Try("mkdir -p \"$2/answer\"\n", Place::kInstead);
  EXPECT_TRUE(Refused(project, folder, "discard-quality", "exit"));
}

// What one timed run leaves is not there for the next.
TEST_P(Wall, RunsOfOneCandidateDoNotHelpEachOther) {
  ProjectOptions options = Options();
  options.config = {{"measure.runs", 3}};
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      R"(run=$(dirname "$2")
for place in /tmp /var/tmp /dev/shm "$HOME" "$run" "$1" "$2" . src build; do
  if test -e "$place/planted"; then echo "found $place"; cksum <"$1/number" >"$2/answer"; exit 0; fi
done
for place in /tmp /var/tmp /dev/shm "$HOME" "$run" "$1" "$2" . src build; do
  mkdir -p "$place"; echo x >"$place/planted"
done 2>/dev/null
sleep 0.25
cksum <"$1/number" >"$2/answer"
)",
      Place::kInstead);
  EXPECT_TRUE(Worthless(project, outcome));
  EXPECT_EQ(project.Log(outcome, "perf").find("found"), std::string::npos)
      << project.Log(outcome, "perf");
}

// The seed is drawn after the build, and no stage that holds candidate code gets to know it.
TEST_P(Wall, TheSeedIsNotToldToTheCandidate) {
  ProjectOptions options = Options();
  options.config = {
      {"commands.perf", "sh src/program.sh {run_dir}/inputs {run_dir}/outputs '{seed}'"}};
  Project project(options);
  const Outcome init = project.Pawl({"init"});
  if (init.exit_code != 0) {
    EXPECT_NE(init.error().find("seed"), std::string::npos) << init.Text();
    return;
  }
  if (project.Baseline().exit_code != 0) GTEST_SKIP() << "isolation level not offered";
  const Outcome outcome =
      project.Try("test -n \"$3\" && echo \"seed is $3\"\n" + std::string(kWork), Place::kInstead);
  EXPECT_EQ(project.Log(outcome, "perf").find("seed is"), std::string::npos);
}

// CPU time is what the whole tree used up, whoever waited for it.
TEST_P(Wall, WorkHandedToAnOrphanCounts) {
  ProjectOptions options = Options();
  options.config = {{"objective.metric", "cpu"}};
  options.files["src/program.sh"] = "src/attack burn 200\n" + std::string(kWork);
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome =
      project.Try("src/attack burn-by-orphan 200\n" + std::string(kWork), Place::kInstead);
  EXPECT_TRUE(Worthless(project, outcome));
  EXPECT_TRUE(Kept(project,
                   project.Try("src/attack burn 20\n" + std::string(kWork), Place::kInstead),
                   Separate() ? "separate" : "shared"));
}

// An evaluator that dies of what it is given has not judged.
TEST_P(Wall, KillingTheEvaluatorIsNoPass) {
  ProjectOptions options = Options();
  options.config = {{"timeouts_seconds.quality", 1}};
  options.files["harness/check.sh"] =
      "test ! -s \"$1/outputs/trap\" || sleep 20\n"
      "test \"$(cksum <\"$1/inputs/number\")\" = \"$(cat \"$1/outputs/answer\")\"\n";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome =
      project.Try("echo x >\"$2/trap\"\n" + std::string(kWork), Place::kInstead);
  EXPECT_TRUE(Refused(project, outcome, "discard-invalid", "did not come to a judgement"));
}

INSTANTIATE_TEST_SUITE_P(Levels, Wall, testing::Values("L3", "L2"),
                         [](const auto& level) { return std::string(level.param); });

}  // namespace
}  // namespace pawl::adversary
