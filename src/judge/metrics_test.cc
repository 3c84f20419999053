#include "judge/metrics.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace pawl::judge {
namespace {

struct FileRow {
  const char* what;
  std::string bytes;
  std::string problem;  // part of the only problem; empty: none
};

void Check(const FileRow& row, const std::vector<std::string>& problems) {
  if (row.problem.empty()) {
    EXPECT_TRUE(problems.empty()) << row.what << ": " << problems[0];
    return;
  }
  ASSERT_FALSE(problems.empty()) << row.what;
  EXPECT_NE(problems[0].find(row.problem), std::string::npos) << row.what << ": " << problems[0];
}

class PerfTable : public testing::TestWithParam<FileRow> {};
TEST_P(PerfTable, IsReadStrictly) {
  Check(GetParam(), ReadPerf(GetParam().bytes).problems);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PerfTable,
    testing::Values(
        FileRow{"plain", R"({"latency": {"median_s": 1.5, "p95_s": 2}, "peak_vram_mb": 0})", ""},
        FileRow{"empty", "", "perf.json is missing or empty"},
        FileRow{"blank", " \n", "perf.json is missing or empty"},
        FileRow{"list", "[1]", "perf.json must hold an object, found list"},
        FileRow{"number", "5", "perf.json must hold an object, found number"},
        FileRow{"torn", R"({"latency": {"med)", "perf.json:1:"},
        FileRow{"NaN", R"({"t": NaN})", "perf.json:1:"},
        FileRow{"infinity", R"({"t": Infinity})", "perf.json:1:"},
        FileRow{"overflow", R"({"t": 1e999})", "perf.json:1:"},
        FileRow{"doubled key", R"({"t": 9, "t": 1})", "perf.json:1:"},
        FileRow{"byte-order mark", "\xef\xbb\xbf{}", "perf.json"},
        FileRow{"not UTF-8", "{\"a\": \"\xff\"}", "perf.json"},
        FileRow{"trailing text", "{} {}", "perf.json:1:"},
        FileRow{"too deep", std::string(200, '[') + std::string(200, ']'), "perf.json"},
        FileRow{"too large", "{\"a\": \"" + std::string(kMaxMetricFileBytes, 'x') + "\"}",
                "perf.json"},
        FileRow{"zero latency", R"({"latency": {"median_s": 0}})",
                "latency.median_s must be a number above 0, found 0"},
        FileRow{"negative latency", R"({"latency": {"p95_s": -1}})",
                "latency.p95_s must be a number above 0, found -1"},
        FileRow{"latency as text", R"({"latency": {"median_s": "0.1"}})",
                "latency.median_s must be a number above 0, found text"},
        FileRow{"latency as boolean", R"({"latency": {"median_s": true}})",
                "latency.median_s must be a number above 0, found true/false"},
        FileRow{"absent latency as null", R"({"latency": {"median_s": 1, "p95_s": null}})", ""},
        FileRow{"negative size", R"({"peak_vram_mb": -5})", "peak_vram_mb must not be negative"},
        FileRow{"negative nested time", R"({"phases": {"vae_ms": -0.5}})",
                "phases.vae_ms must not be negative"},
        FileRow{"negative rate is no time", R"({"gain_per_s": -1})", ""},
        FileRow{"metadata is free", R"({"metadata": {"drift_s": -1, "note": "x"}})", ""},
        FileRow{"p95 below median", R"({"latency": {"median_s": 2, "p95_s": 1}})",
                "latency.median_s=2 is above latency.p95_s=1"},
        FileRow{"rounded p95", R"({"latency": {"median_s": 1.0004, "p95_s": 1}})", ""},
        FileRow{"percentiles elsewhere", R"({"decode": {"p50_ms": 3, "p99_ms": 2}})",
                "decode.p50_ms=3 is above decode.p99_ms=2"},
        FileRow{"samples", R"({"latency": {"median_s": 2, "p95_s": 3, "samples_s": [1, 2, 3]}})",
                ""},
        FileRow{"samples empty", R"({"latency": {"samples_s": []}})",
                "latency.samples_s must be a list of at least one number"},
        FileRow{"samples no list", R"({"latency": {"samples_s": 3}})",
                "latency.samples_s must be a list"},
        FileRow{"sample of zero", R"({"latency": {"samples_s": [1, 0]}})",
                "latency.samples_s must hold numbers above 0, found 0"},
        FileRow{"sample as text", R"({"latency": {"samples_s": ["1"]}})",
                "latency.samples_s must hold numbers above 0, found text"},
        FileRow{"median outside", R"({"latency": {"median_s": 0.5, "samples_s": [1, 2, 3]}})",
                "latency.median_s=0.5 does not fit its own samples"},
        FileRow{"median on one invented sample",
                R"({"latency": {"median_s": 0.01, "samples_s": [2, 2, 2, 2, 2, 2, 2, 0.01]}})",
                "latency.median_s=0.01 does not fit its own samples"},
        FileRow{"mean on one invented sample",
                R"({"latency": {"mean_s": 0.01, "samples_s": [2, 2, 2, 2, 0.01]}})",
                "latency.mean_s=0.01 does not fit its own samples"},
        FileRow{"mean with a long tail",
                R"({"latency": {"mean_s": 4, "samples_s": [1, 1, 1, 13]}})", ""},
        FileRow{"p95 above all samples", R"({"latency": {"p95_s": 9, "samples_s": [1, 2, 3]}})",
                "latency.p95_s=9 does not fit its own samples"}));

class QualityFileTable : public testing::TestWithParam<FileRow> {};
TEST_P(QualityFileTable, IsReadStrictly) {
  Check(GetParam(), ReadQuality(GetParam().bytes).problems);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, QualityFileTable,
    testing::Values(
        FileRow{"plain", R"({"metrics": {"a": 1}, "cases": {"c": {"passed": true}, "d": false}})",
                ""},
        FileRow{"metrics no object", R"({"metrics": [1]})", "`metrics` must be an object"},
        FileRow{"cases no object", R"({"metrics": {}, "cases": ["a"]})",
                "`cases` must be an object"},
        FileRow{"passed as text", R"({"cases": {"c": {"passed": "false"}}})",
                "case c.passed must be true or false, found text"},
        FileRow{"passed as number", R"({"cases": {"c": {"passed": 1}}})",
                "case c.passed must be true or false, found number"},
        FileRow{"no passed", R"({"cases": {"c": {"score": 1}}})",
                "case c.passed must be true or false, found nothing"},
        FileRow{"bare text", R"({"cases": {"c": "yes"}})",
                "case c must be true or false, found text"},
        FileRow{"bare null", R"({"cases": {"c": null}})", "found null"},
        FileRow{"NaN", R"({"metrics": {"a": NaN}})", "quality.json:1:"},
        FileRow{"doubled", R"({"metrics": {"a": 1, "a": 2}})", "quality.json:1:"}));

TEST(ReadPerf, CostsNoMoreThanTheLengthOfAHostileFile) {
  std::string bytes = "{\"" + std::string(std::size_t{1} << 20, 'k') + "\": {\"x_s\": -1";
  for (int i = 0; i < 150'000; ++i) bytes += Format(",\"a{}\": {{}}", i);
  bytes += "}}";
  ASSERT_LT(bytes.size(), kMaxMetricFileBytes);
  EXPECT_EQ(ReadPerf(bytes).problems.size(), 1U);
}

TEST(ReadPerf, NamesTwentyProblemsAndCountsTheRest) {
  std::string perf = "{";
  std::string quality = R"({"metrics": {}, "cases": {)";
  for (int i = 0; i < 1000; ++i) {
    perf += Format("{}\"a{}_s\": -1", i == 0 ? "" : ",", i);
    quality += Format("{}\"a{}\": 1", i == 0 ? "" : ",", i);
  }
  const std::vector<std::string> problems = ReadPerf(perf + "}").problems;
  ASSERT_EQ(problems.size(), 21U);
  EXPECT_EQ(problems.back(), "perf.json: and 980 more problems");
  EXPECT_EQ(ReadQuality(quality + "}}").problems.back(), "quality.json: and 980 more problems");
}

TEST(ReadQuality, FallsBackToTheTopLevel) {
  const QualityFile file = ReadQuality(R"({"b": 2, "a": 1, "cases": {"c": true}, "note": "x"})");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.metrics, (std::vector<std::pair<std::string, double>>{{"b", 2.0}, {"a", 1.0}}));
  EXPECT_EQ(file.Case("c"), true);
  EXPECT_EQ(file.Value("note"), std::nullopt);
  EXPECT_EQ(file.ill_formed.at("note"), "quality.json: metric note must be a number, found text");
}

TEST(ReadQuality, BooleansAndTextsAreNoNumbers) {
  const QualityFile file = ReadQuality(R"({"metrics": {"a": true, "b": "0.9", "c": 3}})");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.metrics, (std::vector<std::pair<std::string, double>>{{"c", 3.0}}));
  EXPECT_EQ(file.ill_formed.size(), 2U);
}

TEST(ExitQuality, ReadsBackAsCaseAndMetric) {
  for (const bool succeeded : {true, false}) {
    const QualityFile file = ReadQuality(ExitQuality(succeeded));
    EXPECT_TRUE(file.problems.empty());
    EXPECT_EQ(file.Case("exit"), succeeded);
    EXPECT_EQ(file.Value("exit"), succeeded ? 1.0 : 0.0);
  }
}

TEST(Metric, IsAFiniteNumberBehindObjectKeys) {
  const Json perf =
      ParseJson(R"({"a": {"b": 2, "l": [1], "t": "1", "f": false}, "a.c": 3})", "test").value();
  EXPECT_EQ(Metric(perf, "a.b"), 2.0);
  for (const char* absent : {"a", "a.b.c", "a.l.0", "a.t", "a.f", "a.c", "x", ""}) {
    EXPECT_EQ(Metric(perf, absent), std::nullopt) << absent;
  }
}

TEST(SecondsPerUnit, KnowsTimesFromRates) {
  EXPECT_EQ(SecondsPerUnit("latency.median_s"), 1.0);
  EXPECT_EQ(SecondsPerUnit("decode_us"), 1e-6);
  EXPECT_EQ(SecondsPerUnit("throughput_items_s"), std::nullopt);
  EXPECT_EQ(SecondsPerUnit("tokens_per_s"), std::nullopt);
  EXPECT_EQ(SecondsPerUnit("peak_vram_mb"), std::nullopt);
  EXPECT_TRUE(IsTimeOrSize("peak_vram_mb"));
  EXPECT_TRUE(IsTimeOrSize("peak_rss"));
  EXPECT_FALSE(IsTimeOrSize("accuracy"));
}

TEST(SamplesBeside, TakesAListOrACount) {
  const Json listed =
      ParseJson(R"({"latency": {"median_s": 2, "samples_ms": [1000, 3000]}})", "test").value();
  const auto samples = SamplesBeside(listed, "latency.median_s");
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->count, 2U);
  EXPECT_DOUBLE_EQ(samples->total_s, 4);
  EXPECT_TRUE(samples->listed);
  const Json counted = ParseJson(R"({"step_ms": 20, "iterations": 50})", "test").value();
  const auto count = SamplesBeside(counted, "step_ms");
  ASSERT_TRUE(count);
  EXPECT_DOUBLE_EQ(count->total_s, 1);
  EXPECT_FALSE(count->listed);
  EXPECT_EQ(SamplesBeside(ParseJson(R"({"step_ms": 20})", "test").value(), "step_ms"),
            std::nullopt);
}

RC_GTEST_PROP(ReadFiles, NeverCrashOnForeignBytes, (const std::string& bytes)) {
  const MetricFile perf = ReadPerf(bytes);
  RC_ASSERT(!perf.problems.empty() || perf.json.AsObject() != nullptr);
  const QualityFile quality = ReadQuality(bytes);
  RC_ASSERT(!quality.problems.empty() || quality.json.AsObject() != nullptr);
}

}  // namespace
}  // namespace pawl::judge
