// Gains that are none by the rules: claimed times that no clock saw, quantisation by another name,
// small steps, dropped figures.
#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

// A harness that times `work` with the machine's clock and lists its samples.
ProjectOptions TimedProject(const char* seconds) {
  ProjectOptions options;
  options.config = {{"objective.metric", "latency.median_s"}};
  options.files["src/program.sh"] =
      Format("memory_mb=100 claim=\nwork() {{ sleep {}; echo $(( $1 * $2 )); }}\n", seconds);
  options.files["harness/perf.sh"] = R"sh(set -e
run_dir=$1 stage=perf
. src/program.sh
samples=
for run in 1 2 3; do
  from=$(date +%s%N); work 6 7 >/dev/null; to=$(date +%s%N)
  samples="$samples $(( to - from ))"
done
echo $samples | tr ' ' '\n' | sort -n | awk -v memory="$memory_mb" -v claim="$claim" '
  { all[NR] = $1 / 1e9; list = list (NR > 1 ? ", " : "") $1 / 1e9 }
  END {
    median = claim != "" ? claim : all[2]
    if (claim != "") list = claim ", " claim ", " claim
    printf "{\"latency\": {\"median_s\": %s, \"samples_s\": [%s]}, \"peak_vram_mb\": %s}\n",
      median, list, memory
  }' >"$run_dir/perf.json"
)sh";
  return options;
}

TEST(OutsideClock, AGainThatNobodySawFromOutsideIsInvalid) {
  Project project(TimedProject("0.3"));
  PAWL_OPEN_OR_SKIP(project);
  const Outcome slower = project.Try("claim=0.2\nwork() { sleep 0.7; echo $(( $1 * $2 )); }\n");
  EXPECT_TRUE(Refused(project, slower, "discard-invalid", "outside clock"));
  // Samples that add up to more than the whole command took.
  const Outcome more = project.Try("claim=0.29\nwork() { echo $(( $1 * $2 )); }\n");
  EXPECT_TRUE(Refused(project, more, "discard-invalid", "outside clock"));
  const Outcome honest = project.Try("work() { sleep 0.02; echo $(( $1 * $2 )); }\n");
  EXPECT_TRUE(Kept(project, honest, "shared"));
}

TEST(Guardrails, SmallStepsDoNotAddUp) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  ASSERT_TRUE(Kept(project, project.Try("ops=9 memory_mb=108\n"), "shared"));
  // Within 10 % of the incumbent, beyond 10 % of the original.
  const Outcome second = project.Try("ops=8 memory_mb=116\n");
  EXPECT_TRUE(Refused(project, second, "discard-performance", "peak_vram_mb"));
  // A second step that stays within both is let through.
  EXPECT_TRUE(Kept(project, project.Try("ops=8 memory_mb=109\n"), "shared"));
}

TEST(Guardrails, WhatTheIncumbentShowedTheCandidateMustShow) {
  ProjectOptions options;
  options.config = {
      {"performance_guardrails",
       JsonObject{{"peak_vram_mb", JsonObject{{"max_rel_regression", 0.1}, {"required", false}}}}}};
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const Outcome dropped =
      project.Try("report() { echo '{\"score\": {\"ops\": 1}}' >\"$run_dir/perf.json\"; }\n");
  EXPECT_TRUE(Refused(project, dropped, "discard-performance", "peak_vram_mb"));
}

TEST(Quality, SmallStepsAreHeldAgainstTheOriginal) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  ASSERT_TRUE(Kept(project, project.Try("ops=9 accuracy=0.995\n"), "shared"));
  EXPECT_TRUE(
      Refused(project, project.Try("ops=8 accuracy=0.985\n"), "discard-quality", "accuracy"));
}

// The allowance of the contract is for exact changes that move the last digits, not for fewer bits.
TEST(ChangeClass, QuantisationByAnotherNameGetsNoAllowance) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/model.py", "import torch\nweights = weights.to(torch.int8)\n");
  project.Write("src/program.sh", project.Read("src/program.sh") + "ops=5 accuracy=0.995\n");
  project.Commit();
  const Outcome hidden = project.Experiment({"--classification", "exact"});
  EXPECT_TRUE(Refused(project, hidden, "discard-quality", "accuracy"));
  EXPECT_NE(hidden.warnings().find("judged as quantization"), std::string::npos) << hidden.Text();
  // Said openly it is no better.
  const Outcome open = project.Experiment({"--classification", "quantization"});
  EXPECT_TRUE(Refused(project, open, "discard-quality", "accuracy"));
}

TEST(ChangeClass, TheConfigCannotLoosenQuantisation) {
  ProjectOptions options;
  options.config = {{"quantization.strict_no_regression", false}};
  Project project(options);
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try("ops=5 accuracy=0.995\n", Project::Place::kAppended,
                                      {"--classification", "quantization"});
  EXPECT_TRUE(Refused(project, outcome, "discard-quality", "accuracy"));
}

}  // namespace
}  // namespace pawl::adversary
