#include "cli/verdict_text.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

using campaign::VerdictKind;

judge::Verdict Make(VerdictKind kind, std::vector<std::string> reasons = {}) {
  judge::Verdict verdict;
  verdict.kind = kind;
  verdict.reasons = std::move(reasons);
  return verdict;
}

TEST(VerdictText, FirstWordsAreThoseOfDitAr) {
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kKeep)), "KEEP");
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kDiscardQuality, {"x"})), "DISCARD-QUALITY");
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kDiscardPerformance, {"x"})), "DISCARD-PERFORMANCE");
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kDiscardScope, {"a", "b"})),
            "DISCARD: candidate changed out-of-scope paths: a; b");
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kDiscardHarness, {"eval/x.py"})),
            "DISCARD: fixed evaluation/benchmark harness was modified: eval/x.py");
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kCrash, {"perf: exit 3"})), "CRASH: perf: exit 3");
  EXPECT_EQ(VerdictHeadline(Make(VerdictKind::kOutOfMemory, {"perf"})), "OUT-OF-MEMORY: perf");
}

TEST(VerdictText, ForeignBytesInReasonsAreMadeVisible) {
  const std::string line = VerdictHeadline(Make(VerdictKind::kCrash, {"a\x1b]0;owned\x07\nb"}));
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(VerdictText, OneLineReasonsNameTheNumbers) {
  judge::Verdict verdict = Make(VerdictKind::kKeep);
  verdict.best = 10;
  verdict.candidate = 9;
  verdict.improvement_pct = 10;
  EXPECT_EQ(VerdictReason(verdict, "cpu"), "cpu 10 -> 9 (-10.0 %)");
  verdict.kind = VerdictKind::kDiscardPerformance;
  verdict.candidate = 9.9;
  verdict.improvement_pct = 1;
  const std::string little = "primary objective did not improve enough: cpu best=10, candidate=9.9";
  verdict.reasons = {little};
  verdict.performance.emplace().reasons = {little};
  verdict.performance->details = JsonObject{{"objective", JsonObject{{"pass", false}}}};
  EXPECT_EQ(VerdictReason(verdict, "cpu"), "cpu 10 -> 9.9 (-1.0 %: too little)");
  verdict.performance->reasons = {"guardrail p95"};
  verdict.performance->details = JsonObject{{"objective", JsonObject{{"pass", true}}}};
  verdict.reasons = {"guardrail p95"};
  EXPECT_EQ(VerdictReason(verdict, "cpu"), "guardrail p95");
}

TEST(VerdictText, ObjectiveLineHasDitArsForm) {
  judge::Verdict verdict = Make(VerdictKind::kKeep);
  verdict.best = 10;
  verdict.candidate = 9;
  verdict.improvement_pct = 10;
  const auto lines = VerdictLines(verdict, "latency.median_s");
  EXPECT_EQ(lines[1], "objective: latency.median_s: best=10 candidate=9 improvement=10.000%");
}

}  // namespace
}  // namespace pawl::cli
