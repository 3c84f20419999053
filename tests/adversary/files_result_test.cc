// Result files that are no files, are written by somebody else, or at another time.
#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

constexpr std::string_view kForged = R"({"score": {"ops": 1}, "peak_vram_mb": 1})";

TEST(ResultFiles, AnythingButAFileIsInvalid) {
  Project project(WithAttack());
  PAWL_OPEN_OR_SKIP(project);
  const std::vector<std::pair<std::string_view, std::string_view>> kinds = {
      {"link beside it", R"(echo "$forged" >"$run_dir/x"; ln -s x "$run_dir/perf.json")"},
      {"link into the tree", R"(ln -s "$PWD/src/forged.json" "$run_dir/perf.json")"},
      {"link to a device", R"(ln -s /dev/zero "$run_dir/perf.json")"},
      {"dangling link", R"(ln -s /nowhere "$run_dir/perf.json")"},
      {"queue", R"(mkfifo "$run_dir/perf.json")"},
      {"folder", R"(mkdir "$run_dir/perf.json"; echo "$forged" >"$run_dir/perf.json/perf.json")"},
      {"socket", R"(src/attack make-socket "$run_dir/perf.json")"},
      {"device", R"(src/attack make-device "$run_dir/perf.json" || true)"},
      {"second name of a file in the tree",
       R"(ln "$PWD/src/forged.json" "$run_dir/perf.json" || true)"}};
  for (const auto& [name, how] : kinds) {
    SCOPED_TRACE(name);
    project.Reset();
    project.Write("src/forged.json", kForged);
    project.Write("src/program.sh", project.Read("src/program.sh") +
                                        Format("forged='{}'\nreport() {{ {}; }}\n", kForged, how));
    project.Commit();
    EXPECT_TRUE(Refused(project, project.Experiment(), "discard-invalid", "perf.json"));
  }
}

TEST(ResultFiles, WrittenByAnotherStageAreInvalid) {
  ProjectOptions options;
  options.config = {{"commands.check", "sh src/gate.sh check {run_dir}"},
                    {"commands.build", "sh src/gate.sh build {run_dir}"}};
  options.files["src/gate.sh"] = "true\n";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  for (const std::string_view stage : {"check", "build"}) {
    SCOPED_TRACE(stage);
    project.Reset();
    project.Write("src/gate.sh",
                  Format("test $1 = {} && echo '{}' >\"$2/perf.json\"; true\n", stage, kForged));
    project.Commit();
    EXPECT_TRUE(Refused(project, project.Experiment(), "discard-invalid",
                        Format("perf.json was written by the {} command", stage)));
  }
  const std::string plant = Format("echo '{}' >\"$run_dir/perf.json\"", kForged);
  EXPECT_TRUE(Refused(project,
                      project.Try(Format("test $stage = smoke && {}\n"
                                         "test $stage = perf && exit 0\ntrue\n",
                                         plant)),
                      "discard-invalid", "perf.json was written by the smoke command"));
  EXPECT_TRUE(Refused(project, project.Try(Format("test $stage = quality && {}\ntrue\n", plant)),
                      "discard-invalid", "perf.json was written by the quality command"));
  EXPECT_TRUE(Refused(project, project.Try(R"(ops=5
if test $stage = perf; then
  echo '{"metrics": {"accuracy": 1}, "cases": {"product": true}}' >"$run_dir/quality.json"
fi
test $stage = quality && exit 0
true
)"),
                      "discard-invalid", "quality.json was written by the perf command"));
}

// Each daemon goes on writing every 20 ms for seconds: had it outlived its stage, it would hit one
// of the later ones.
class Daemons : public testing::TestWithParam<const char*> {};

TEST_P(Daemons, DieWithTheirStage) {
  ProjectOptions options;
  options.level = GetParam();
  Project project(WithAttack(options));
  PAWL_OPEN_OR_SKIP(project);
  const std::string mark = project.root().string();
  const auto daemon = [&](std::string_view stage, std::string_view file, std::string_view text) {
    return Format("test $stage = {} && src/attack daemon 20 \"$run_dir/{}\" '{}' {}\ntrue\n", stage,
                  file, text, mark);
  };
  const Outcome perf = project.Try(daemon("perf", "perf.json", kForged));
  EXPECT_TRUE(Worthless(project, perf));
  EXPECT_FALSE(Lives(mark + '\0'));
  const Outcome smoke = project.Try(daemon("smoke", "perf.json", kForged));
  EXPECT_TRUE(Worthless(project, smoke));
  const Outcome quality =
      project.Try("ops=5\nwork() { echo 0; }\ntest $stage = smoke && exit 0\ntrue\n" +
                  daemon("perf", "quality.json",
                         R"({"metrics": {"accuracy": 1}, "cases": {"product": true}})"));
  EXPECT_TRUE(Refused(project, quality, "discard-quality", "product"));
  EXPECT_FALSE(Lives(mark + '\0'));
}

INSTANTIATE_TEST_SUITE_P(Levels, Daemons, testing::Values("L3", "L2"),
                         [](const auto& level) { return std::string(level.param); });

}  // namespace
}  // namespace pawl::adversary
