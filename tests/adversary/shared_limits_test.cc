// What trust `shared` cannot stop (SECURITY.md): each test expects the miss, and the label that
// says that it may have happened. A test that fails here because the candidate is refused is good
// news for SECURITY.md.
#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

testing::AssertionResult Missed(Project& project, const Outcome& outcome) {
  testing::AssertionResult kept = Kept(project, outcome, "shared");
  if (!kept) return kept;
  if (outcome.warnings().find("trust shared") == std::string::npos) {
    return testing::AssertionFailure() << "kept without the warning: " << outcome.Text();
  }
  for (const char* verb : {"status", "summary"}) {
    if (project.Pawl({verb}).out.find("shared") == std::string::npos) {
      return testing::AssertionFailure() << verb << " does not show the label";
    }
  }
  return testing::AssertionSuccess();
}

TEST(SharedCannotStop, RewritingTheScriptsOwnResults) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  EXPECT_TRUE(Missed(project, project.Try("report() { command printf '{\"score\": {\"ops\": 1}, "
                                          "\"peak_vram_mb\": 1}' >\"$run_dir/perf.json\"; }\n")));
}

TEST(SharedCannotStop, ABetterFileAfterTheScriptsOwn) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  EXPECT_TRUE(Missed(
      project, project.Try("if test $stage = perf; then\n"
                           "trap 'echo \"{\\\"score\\\": {\\\"ops\\\": 1}, \\\"peak_vram_mb\\\": "
                           "1}\" >\"$run_dir/perf.json\"' EXIT\nfi\n")));
}

TEST(SharedCannotStop, ReplacingTheComparison) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      "ops=1\nif test $stage != smoke; then work() { echo 0; }; fi\n"
      "judge() { echo '{\"metrics\": {\"accuracy\": 1}, \"cases\": {\"product\": true}}' "
      ">\"$run_dir/quality.json\"; }\n");
  EXPECT_TRUE(Missed(project, outcome));
}

// A harness that measures the same inputs again and again.
ProjectOptions Repeating() {
  ProjectOptions options;
  options.files["src/program.sh"] =
      "memory_mb=100 done_work=0\n"
      "work() { done_work=$(( done_work + 1 )); result=$(( $1 * $2 )); echo $result; }\n";
  options.files["harness/perf.sh"] = R"(set -e
run_dir=$1 stage=perf
. src/program.sh
for run in 1 2 3 4 5; do work 6 7 >/dev/null; done
printf '{"score": {"ops": %s}, "peak_vram_mb": %s}\n' "$done_work" "$memory_mb" >"$run_dir/perf.json"
)";
  return options;
}

TEST(SharedCannotStop, CachingAcrossCallsWithTheSameInputs) {
  Project project(Repeating());
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      "work() {\n  if test \"$known\" != \"$1 $2\"; then known=\"$1 $2\"; "
      "done_work=$(( done_work + 1 )); result=$(( $1 * $2 )); fi\n  echo $result\n}\n");
  EXPECT_TRUE(Missed(project, outcome));
}

// One program for the clock and another for the judge. A harness stops it by leaving outputs.
constexpr std::string_view kTwoFaces =
    "ops=1\nif test $stage = perf; then work() { echo 0; }; fi\n";

TEST(SharedCannotStop, OneProgramForTheClockAndAnotherForTheJudge) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  EXPECT_TRUE(Missed(project, project.Try(kTwoFaces)));
}

TEST(SharedStops, TwoFacesWhenTheOutputsOfTheTimedRunAreJudged) {
  ProjectOptions options;
  options.files["harness/perf.sh"] = R"(set -e
run_dir=$1 stage=perf
. src/program.sh
mkdir -p "$run_dir/outputs"
work 6 7 >"$run_dir/outputs/answer"
printf '{"score": {"ops": %s}, "peak_vram_mb": %s}\n' "$ops" "$memory_mb" >"$run_dir/perf.json"
)";
  options.files["harness/quality.sh"] = R"sh(set -e
passed=false
test "$(cat "$1/outputs/answer")" = 42 && passed=true
printf '{"metrics": {"accuracy": 1}, "cases": {"product": {"passed": %s}}}\n' $passed >"$1/quality.json"
)sh";
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  EXPECT_TRUE(Refused(project, project.Try(kTwoFaces), "discard-quality", "product"));
  EXPECT_TRUE(Kept(project, project.Try("ops=9\n"), "shared"));
}

}  // namespace
}  // namespace pawl::adversary
