// Leaving something behind for later: caches, build folders, other experiments, the record itself,
// and throwing the dice again.
#include <signal.h>
#include <sys/wait.h>

#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

// Looks for what an earlier run left, then leaves it again, wherever anything can be written. A
// stage may run the program more than once: only what bears another stage's mark was left before.
constexpr std::string_view kPlant = R"(
mark="$stage-$time"
places="/tmp /var/tmp /dev/shm /run $HOME $HOME/.cache ${XDG_CACHE_HOME:-/tmp} ${TMPDIR:-/tmp}"
for place in $places $outlasting; do
  if test -e "$place/planted" && ! grep -q "$mark" "$place/planted"; then
    echo "found $place"
    ops=1
  fi
  (mkdir -p "$place" && echo "$mark" >"$place/planted") 2>/dev/null || true
done
for rc in .bashrc .profile .shrc .config/sitecustomize.py; do
  if test -e "$HOME/$rc" && ! grep -q "$mark" "$HOME/$rc"; then echo "found $rc"; ops=1; fi
  (mkdir -p "$HOME/.config" && echo "ops=1 # $mark" >"$HOME/$rc") 2>/dev/null || true
done
true
)";

class Planted : public testing::TestWithParam<const char*> {};

TEST_P(Planted, NothingIsFoundByTheNextExperiment) {
  ProjectOptions options;
  options.level = GetParam();
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  // The tree and the run folder belong to the experiment; within it, stages may see them.
  const std::string plant =
      "outlasting=\nif test $stage = smoke; then outlasting=\"$run_dir $PWD/src $PWD\"; fi\n" +
      std::string(kPlant);
  for (int time = 0; time < 2; ++time) {
    const Outcome outcome = project.Try(Format("time={}\n", time) + plant);
    EXPECT_TRUE(Worthless(project, outcome));
    for (const char* stage : {"smoke", "perf", "quality"}) {
      EXPECT_EQ(project.Log(outcome, stage).find("found"), std::string::npos)
          << project.Log(outcome, stage);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Planted, testing::Values("L3", "L2"),
                         [](const auto& level) { return std::string(level.param); });

// The next candidate starts from the incumbent's build folder, not from a refused one's.
TEST(Build, ARefusedCandidateDoesNotPoisonTheBuildFolder) {
  ProjectOptions options;
  options.config = {{"commands.build", "sh src/build.sh"}};
  options.files["src/build.sh"] = "mkdir -p build\necho built >build/object\n";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/build.sh",
                "mkdir -p build\necho evil >build/object\ntouch -d 2100-01-01 build/object\n"
                "echo 'ops=1' >build/poison\n");
  project.Commit();
  EXPECT_TRUE(Worthless(project, project.Experiment()));
  project.Reset();
  project.Write("src/build.sh",
                "test -f build/object && test ! -f build/poison && grep -q built build/object\n");
  project.Write("src/program.sh",
                project.Read("src/program.sh") + "test -f build/poison && . build/poison\ntrue\n");
  project.Commit();
  EXPECT_TRUE(Worthless(project, project.Experiment()));
}

// With a build step the tree is read-only afterwards: what is measured is what was built.
TEST(Build, ABuiltTreeCannotBeChangedByWhatRunsInIt) {
  ProjectOptions options;
  options.config = {{"commands.build", "mkdir -p build && cp src/program.sh build/"}};
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      "ops=5\nif test $stage = perf; then work() { echo 0; }; fi\n"
      "test $stage = smoke && echo 'ops=1' >>src/program.sh\n");
  EXPECT_TRUE(Refused(project, outcome, "crash", "smoke"));
}

// The same commit may be tried again. Each try is on record and none hides another.
TEST(Dice, EveryThrowIsOnRecord) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/program.sh", project.Read("src/program.sh") + "true\n");
  const std::string commit = project.Commit();
  const Outcome first = project.Experiment();
  const Outcome second = project.Experiment();
  EXPECT_TRUE(Worthless(project, first));
  EXPECT_TRUE(Worthless(project, second));
  EXPECT_NE(first.id(), second.id());
  const Outcome summary = project.Pawl({"summary"});
  ASSERT_NE(summary.json.Find("experiments"), nullptr);
  EXPECT_EQ(summary.json.Find("experiments")->AsArray()->size(), 2U);
}

// SIGKILL to Pawl while a candidate is measured: nothing of the candidate lives on, the try is
// named `interrupted`, and doing it again and again stops being possible.
TEST(Dice, KillingPawlIsNoFreeThrow) {
  Project project(WithAttack());
  PAWL_OPEN_OR_SKIP(project);
  // Of this test alone: Pawl and its git name the project folder too.
  const std::string mark = (project.root() / "under-way").string();
  project.Write("src/program.sh",
                project.Read("src/program.sh") +
                    Format("test $stage = perf && src/attack daemon 3000 /tmp/x x {} && sleep 20\n"
                           "true\n",
                           mark));
  project.Commit();
  for (int time = 0; time < 4; ++time) {
    const pid_t pawl = project.Start({"experiment", "--description", "again"});
    ASSERT_TRUE(Becomes(true, mark + '\0'));
    ASSERT_EQ(::kill(pawl, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(pawl, &status, 0), pawl);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(Becomes(false, mark + '\0'));
  }
  const Outcome refused = project.Experiment();
  EXPECT_TRUE(Refused(project, refused, "infra-fail", "cut off 4 times"));
  const Outcome summary = project.Pawl({"summary"});
  std::size_t interrupted = 0;
  for (const Json& row : *summary.json.Find("experiments")->AsArray()) {
    if (row.StringAt("status") == "interrupted") ++interrupted;
  }
  EXPECT_EQ(interrupted, 4U);
  EXPECT_TRUE(Kept(project, project.Try("ops=9\n"), "shared"));
  EXPECT_EQ(project.Verify().exit_code, 0);
}

}  // namespace
}  // namespace pawl::adversary
