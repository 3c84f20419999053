// perf.json and quality.json as untrusted code may write them, alone and in front of the judge: an
// ill-formed file never ends in a keep, and a keep is a real gain in finite numbers.
#include <cmath>

#include "input.h"
#include "judge/metrics.h"
#include "judge/verdict.h"
#include "judge/verdict_fixture.h"

namespace {

namespace judge = pawl::judge;
using pawl::Json;

void CheckFinite(const Json& value) {
  if (const auto number = value.AsDouble()) PAWL_CHECK(std::isfinite(*number));
  if (const pawl::JsonArray* list = value.AsArray()) {
    for (const Json& item : *list) CheckFinite(item);
  }
  if (const pawl::JsonObject* object = value.AsObject()) {
    for (const auto& [key, item] : *object) CheckFinite(item);
  }
}

void CheckProblems(const std::vector<std::string>& problems, std::string_view file) {
  for (const std::string& problem : problems) {
    PAWL_CHECK(problem.starts_with(file) && pawl::fuzz::IsPrintableLine(problem));
  }
}

void CheckPerf(const judge::MetricFile& perf) {
  CheckProblems(perf.problems, "perf.json");
  if (!perf.problems.empty()) return;
  PAWL_CHECK(perf.json.AsObject() != nullptr);
  CheckFinite(perf.json);
  for (const char* metric : {"latency.median_s", "latency.p95_s", "wall"}) {
    const auto value = judge::Metric(perf.json, metric);
    PAWL_CHECK(!value || *value >= 0);
    if (const auto samples = judge::SamplesBeside(perf.json, metric)) {
      PAWL_CHECK(samples->count > 0 && samples->total_s >= 0);
    }
  }
}

void CheckQuality(const judge::QualityFile& quality) {
  CheckProblems(quality.problems, "quality.json");
  for (const auto& [name, sentence] : quality.ill_formed) {
    PAWL_CHECK(pawl::fuzz::IsPrintableLine(sentence));
    PAWL_CHECK(!quality.Value(name));
  }
  for (const auto& [name, value] : quality.metrics) PAWL_CHECK(std::isfinite(value));
}

void CheckVerdict(const judge::Evidence& evidence, bool ill_formed) {
  const judge::Verdict verdict = judge::Judge(evidence);
  PAWL_CHECK(!verdict.reasons.empty());
  for (const auto* lines : {&verdict.reasons, &verdict.warnings}) {
    for (const std::string& line : *lines) PAWL_CHECK(pawl::fuzz::IsPrintable(line));
  }
  const auto stored = pawl::ParseJson(evidence.ToJson().Canonical(), "record");
  PAWL_CHECK(stored.ok());
  const auto again = judge::Evidence::FromJson(*stored);
  PAWL_CHECK(again.ok() && judge::Judge(*again).ToJson() == verdict.ToJson());
  if (verdict.kind != pawl::campaign::VerdictKind::kKeep) return;
  PAWL_CHECK(!ill_formed);
  PAWL_CHECK(verdict.quality->passed && verdict.performance->passed);
  PAWL_CHECK(*verdict.candidate > 0 && *verdict.candidate < *verdict.best);
  PAWL_CHECK(std::isfinite(*verdict.improvement_pct) && *verdict.improvement_pct > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(pawl::fuzz::TextOf(data, size));
  const judge::MetricFile perf = judge::ReadPerf(bytes);
  CheckPerf(perf);
  const judge::QualityFile quality = judge::ReadQuality(bytes);
  CheckQuality(quality);

  judge::Evidence evidence = judge::FixtureEvidence();
  evidence.perf = bytes;
  CheckVerdict(evidence, !perf.problems.empty());
  evidence = judge::FixtureEvidence();
  evidence.quality = bytes;
  CheckVerdict(evidence, !quality.problems.empty() || quality.ill_formed.contains("accuracy"));
  // The same file for both: a keep needs all of it to be sound.
  evidence.perf = bytes;
  CheckVerdict(evidence, !quality.problems.empty() || !perf.problems.empty());
  evidence = judge::WallEvidence();
  evidence.quality = bytes;
  CheckVerdict(evidence, !bytes.empty() && !quality.problems.empty());
  return 0;
}
