// perf.json and quality.json that say what no measurement can have said. Each file is written by
// the candidate's own code in place of the harness's function, so nothing but its content is odd.
#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

struct BadFile {
  std::string_view name, text, verdict, reason;
};

std::string Instead(std::string_view function, std::string_view file, std::string_view text) {
  return Format("{}() {{ cat >\"$run_dir/{}\" <<'END'\n{}\nEND\n}}\n", function, file, text);
}

void ExpectRefusals(Project& project, std::string_view function, std::string_view file,
                    const std::vector<BadFile>& bad_files) {
  for (const BadFile& bad : bad_files) {
    SCOPED_TRACE(bad.name);
    const Outcome outcome = project.Try("ops=5\n" + Instead(function, file, bad.text));
    EXPECT_TRUE(Refused(project, outcome, bad.verdict, bad.reason));
    EXPECT_EQ(outcome.trust(), "shared");
  }
}

TEST(PerfValues, NumbersThatAreNoneAreInvalid) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  ExpectRefusals(
      project, "report", "perf.json",
      {{"nan", R"({"score": {"ops": NaN}, "peak_vram_mb": 1})", "discard-invalid", "perf.json"},
       {"minus infinity", R"({"score": {"ops": -Infinity}, "peak_vram_mb": 1})", "discard-invalid",
        "perf.json"},
       {"overflow", R"({"score": {"ops": -1e999}, "peak_vram_mb": 1})", "discard-invalid",
        "perf.json"},
       {"text", R"({"score": {"ops": "0.1"}, "peak_vram_mb": 1})", "discard-invalid", "score.ops"},
       {"bool", R"({"score": {"ops": false}, "peak_vram_mb": 1})", "discard-invalid", "score.ops"},
       {"list", R"({"score": {"ops": [1]}, "peak_vram_mb": 1})", "discard-invalid", "score.ops"},
       {"dotted key", R"({"score.ops": 1, "peak_vram_mb": 1})", "discard-invalid", "score.ops"},
       {"guardrail as text", R"({"score": {"ops": 1}, "peak_vram_mb": "1"})", "discard-performance",
        "peak_vram_mb"},
       {"guardrail missing", R"({"score": {"ops": 1}})", "discard-performance", "peak_vram_mb"},
       {"negative size", R"({"score": {"ops": 1}, "peak_vram_mb": -100})", "discard-invalid",
        "peak_vram_mb"},
       {"size of nothing", R"({"score": {"ops": 1}, "peak_vram_mb": 0})", "discard-invalid",
        "peak_vram_mb"}});
}

TEST(PerfValues, FilesThatAreNoStrictJsonAreInvalid) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const std::string deep = R"({"score": {"ops": 1}, "peak_vram_mb": 1, "x": )" +
                           std::string(200, '[') + std::string(200, ']') + "}";
  ExpectRefusals(
      project, "report", "perf.json",
      {{"doubled key", R"({"score": {"ops": 10, "ops": 1}, "peak_vram_mb": 1})", "discard-invalid",
        "ops"},
       {"deep", deep, "discard-invalid", "perf.json"},
       {"list", "[1]", "discard-invalid", "perf.json"},
       {"empty", "", "discard-invalid", "perf.json"},
       {"two documents", "{\"score\": {\"ops\": 1}, \"peak_vram_mb\": 1}\n{}", "discard-invalid",
        "perf.json"},
       {"cut off", R"({"score": {"ops": 1}, "peak_vram_mb": 1)", "discard-invalid", "perf.json"},
       {"byte-order mark", "\xef\xbb\xbf{\"score\": {\"ops\": 1}, \"peak_vram_mb\": 1}",
        "discard-invalid", "perf.json"},
       {"broken UTF-8", "{\"score\": {\"ops\": 1}, \"peak_vram_mb\": 1, \"x\": \"\xff\"}",
        "discard-invalid", "perf.json"}});
  const Outcome huge = project.Try(
      "report() { (printf '{\"score\": {\"ops\": 1}, \"peak_vram_mb\": 1}'; head -c 6000000 "
      "/dev/zero | tr '\\0' ' ') >\"$run_dir/perf.json\"; }\n");
  EXPECT_TRUE(Refused(project, huge, "discard-invalid", "perf.json"));
  const Outcome absent = project.Try("report() { true; }\n");
  EXPECT_TRUE(Refused(project, absent, "discard-invalid", "perf.json"));
  const Outcome exit_early = project.Try("test $stage = perf && exit 0\ntrue\n");
  EXPECT_TRUE(Refused(project, exit_early, "discard-invalid", "perf.json"));
}

// What the candidates of the next tests write stands in `latency`; see docs/metric-schema.md.
ProjectOptions LatencyProject() {
  ProjectOptions options;
  options.config = {{"objective.metric", "latency.median_s"}};
  options.files["src/program.sh"] =
      "ops=0.2 memory_mb=100\nwork() { echo $(( $1 * $2 )); }\n" +
      Instead("report", "perf.json",
              R"({"latency": {"median_s": 0.2, "p95_s": 0.3}, "peak_vram_mb": 100})");
  return options;
}

TEST(PerfValues, TimesThatNoClockShowsAreInvalid) {
  Project project(LatencyProject());
  PAWL_OPEN_OR_SKIP(project);
  ExpectRefusals(
      project, "report", "perf.json",
      {{"negative", R"({"latency": {"median_s": -1}, "peak_vram_mb": 100})", "discard-invalid",
        "median_s"},
       {"zero", R"({"latency": {"median_s": 0}, "peak_vram_mb": 100})", "discard-invalid",
        "median_s"},
       {"median above p95", R"({"latency": {"median_s": 0.1, "p95_s": 0.05}, "peak_vram_mb": 100})",
        "discard-invalid", "p95_s"},
       {"median below the least",
        R"({"latency": {"min_s": 0.15, "median_s": 0.1, "p95_s": 0.3}, "peak_vram_mb": 100})",
        "discard-invalid", "min_s"},
       {"not the median of its samples",
        R"({"latency": {"median_s": 0.1, "p95_s": 0.3, "samples_s": [0.3, 0.3, 0.3]},
            "peak_vram_mb": 100})",
        "discard-invalid", "samples"},
       {"negative sample",
        R"({"latency": {"median_s": 0.1, "p95_s": 0.3, "samples_s": [-0.1, 0.1, 0.3]},
            "peak_vram_mb": 100})",
        "discard-invalid", "samples"}});
}

TEST(QualityValues, OnlyNumbersAndTruthValuesCount) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  ExpectRefusals(
      project, "judge", "quality.json",
      {{"passed yes", R"({"metrics": {"accuracy": 1}, "cases": {"product": {"passed": "yes"}}})",
        "discard-invalid", "product"},
       {"passed false as text",
        R"({"metrics": {"accuracy": 1}, "cases": {"product": {"passed": "false"}}})",
        "discard-invalid", "product"},
       {"passed 1", R"({"metrics": {"accuracy": 1}, "cases": {"product": {"passed": 1}}})",
        "discard-invalid", "product"},
       {"case without passed",
        R"({"metrics": {"accuracy": 1}, "cases": {"product": {"ok": true}}})", "discard-invalid",
        "product"},
       {"case as text", R"({"metrics": {"accuracy": 1}, "cases": {"product": "ok"}})",
        "discard-invalid", "product"},
       {"metric as text", R"({"metrics": {"accuracy": "1.0"}, "cases": {"product": true}})",
        "discard-invalid", "accuracy"},
       {"metric as bool", R"({"metrics": {"accuracy": true}, "cases": {"product": true}})",
        "discard-invalid", "accuracy"},
       {"metric nan", R"({"metrics": {"accuracy": NaN}, "cases": {"product": true}})",
        "discard-invalid", "quality.json"},
       {"metric infinite", R"({"metrics": {"accuracy": Infinity}, "cases": {"product": true}})",
        "discard-invalid", "quality.json"},
       {"doubled case",
        R"({"metrics": {"accuracy": 1}, "cases": {"product": false, "product": true}})",
        "discard-invalid", "product"},
       {"metric missing", R"({"metrics": {"speed": 1}, "cases": {"product": true}})",
        "discard-quality", "accuracy"},
       {"case missing", R"({"metrics": {"accuracy": 1}, "cases": {"other": true}})",
        "discard-quality", "product"},
       {"case failed", R"({"metrics": {"accuracy": 1}, "cases": {"product": false}})",
        "discard-quality", "product"}});
  const Outcome absent = project.Try("ops=5\njudge() { true; }\n");
  EXPECT_TRUE(Refused(project, absent, "discard-invalid", "quality.json"));
}

}  // namespace
}  // namespace pawl::adversary
