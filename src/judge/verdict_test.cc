#include "judge/verdict.h"

#include <gtest/gtest.h>

#include "judge/verdict_fixture.h"

namespace pawl::judge {
namespace {

using campaign::Trust;
using campaign::VerdictKind;

void ExpectVerdict(const Evidence& evidence, VerdictKind kind, std::string_view reason) {
  const Verdict verdict = Judge(evidence);
  const std::string first = verdict.reasons.empty() ? "" : verdict.reasons[0];
  EXPECT_EQ(campaign::VerdictName(verdict.kind), campaign::VerdictName(kind)) << first;
  EXPECT_NE(first.find(reason), std::string::npos) << first;
}

TEST(Judge, KeepsARealGainAndLabelsSharedTrust) {
  const Verdict verdict = Judge(FixtureEvidence());
  EXPECT_EQ(verdict.kind, VerdictKind::kKeep);
  EXPECT_EQ(verdict.trust, Trust::kShared);
  EXPECT_EQ(verdict.best, 2.0);
  EXPECT_EQ(verdict.candidate, 1.5);
  EXPECT_EQ(verdict.improvement_pct, 25.0);
  EXPECT_EQ(verdict.peak_vram_mb, 9.0);
  ASSERT_EQ(verdict.warnings.size(), 1U);
  EXPECT_NE(verdict.warnings[0].find("trust shared"), std::string::npos);
  EXPECT_EQ(verdict.reasons[0], "latency.median_s: best=2 candidate=1.5 improvement=25.000%");
}

TEST(Judge, TrustNeedsASeparateJudgeAndWalls) {
  Evidence evidence = WallEvidence();
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  EXPECT_EQ(Judge(evidence).trust, Trust::kSeparate);
  EXPECT_TRUE(Judge(evidence).warnings.empty());
  evidence.isolation = "L2";
  EXPECT_EQ(Judge(evidence).trust, Trust::kShared);
  evidence.own_uid = true;
  EXPECT_EQ(Judge(evidence).trust, Trust::kSeparate);
  evidence.isolation = "L1";
  EXPECT_EQ(Judge(evidence).trust, Trust::kShared);
  evidence.isolation = "L3";
  evidence.judge_apart = false;
  EXPECT_EQ(Judge(evidence).trust, Trust::kShared);
  Evidence files = FixtureEvidence();
  files.judge_apart = true;  // no claim of the caller makes `files` separate
  EXPECT_EQ(Judge(files).trust, Trust::kShared);
}

TEST(Judge, ReachesVerdictsInOrder) {
  // Each line adds one more cause in front of the ones before.
  Evidence evidence = FixtureEvidence();
  evidence.isolation = "L0";
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "--trust-candidate");
  evidence.candidate_outside_wall_s = 20;
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "outside clock");
  evidence.perf = PerfBytes(1.999, 2.0);
  ExpectVerdict(evidence, VerdictKind::kDiscardPerformance,
                "primary objective did not improve enough: latency.median_s best=2, "
                "candidate=1.999, improvement=0.0500%");
  evidence.quality = QualityBytes(0.5);
  ExpectVerdict(evidence, VerdictKind::kDiscardQuality, "quality regression accuracy");
  evidence.perf = "{";
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "perf.json:1:");
  evidence.integrity = {"perf.json changed after the command had ended"};
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "perf.json changed");
  evidence.stages[2] = Failed("perf", "exited", 3, "exit 3");
  ExpectVerdict(evidence, VerdictKind::kCrash, "perf: exit 3: last line");
  evidence.intake = "scope";
  evidence.intake_reasons = {"candidate changed out-of-scope paths: a"};
  ExpectVerdict(evidence, VerdictKind::kDiscardScope, "out-of-scope");
  evidence.environment_differences = {"driver: 1 -> 2"};
  ExpectVerdict(evidence, VerdictKind::kInfraFail, "driver: 1 -> 2");
  evidence.infra_error = "no space left";
  ExpectVerdict(evidence, VerdictKind::kInfraFail, "no space left");
  evidence.interrupted = true;
  ExpectVerdict(evidence, VerdictKind::kInterrupted, "stopped");
}

TEST(Judge, ShowsBothGatesWhateverComesFirst) {
  Evidence evidence = FixtureEvidence();
  evidence.quality = QualityBytes(0.5);
  evidence.perf = PerfBytes(3, 4);
  const Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.kind, VerdictKind::kDiscardQuality);
  ASSERT_TRUE(verdict.quality && verdict.performance);
  EXPECT_FALSE(verdict.quality->passed);
  EXPECT_EQ(verdict.performance->reasons.size(), 2U);
}

TEST(Judge, NamesIntakeRefusals) {
  Evidence evidence = FixtureEvidence();
  evidence.intake_reasons = {"why"};
  for (const auto& [name, kind] : {std::pair{"scope", VerdictKind::kDiscardScope},
                                   {"harness", VerdictKind::kDiscardHarness},
                                   {"invalid", VerdictKind::kDiscardInvalid}}) {
    evidence.intake = name;
    ExpectVerdict(evidence, kind, "why");
  }
  evidence.intake = "odd";
  ExpectVerdict(evidence, VerdictKind::kInfraFail, "unknown intake outcome");
}

struct StageRow {
  const char *protocol, *stage, *end;
  int exit_code;
  VerdictKind kind;
};

class StageTable : public testing::TestWithParam<StageRow> {};

TEST_P(StageTable, EndsAsItShould) {
  const StageRow& row = GetParam();
  Evidence evidence = row.protocol == std::string_view("wall") ? WallEvidence() : FixtureEvidence();
  evidence.stages.push_back(Failed(row.stage, row.end, row.exit_code, "how it ended"));
  const Verdict verdict = Judge(evidence);
  EXPECT_EQ(campaign::VerdictName(verdict.kind), campaign::VerdictName(row.kind))
      << row.protocol << ' ' << row.stage << ' ' << row.end;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, StageTable,
    testing::Values(StageRow{"files", "check", "exited", 1, VerdictKind::kCrash},
                    StageRow{"files", "build", "exited", 2, VerdictKind::kCrash},
                    StageRow{"files", "smoke", "signalled", 0, VerdictKind::kCrash},
                    StageRow{"files", "perf", "exited", 1, VerdictKind::kCrash},
                    StageRow{"files", "perf", "timeout", 0, VerdictKind::kTimeout},
                    StageRow{"files", "perf", "out-of-memory", 0, VerdictKind::kOutOfMemory},
                    StageRow{"files", "quality", "exited", 1, VerdictKind::kCrash},
                    StageRow{"files", "quality", "timeout", 0, VerdictKind::kTimeout},
                    StageRow{"files", "perf", "cancelled", 0, VerdictKind::kInterrupted},
                    StageRow{"files", "setup", "exited", 1, VerdictKind::kInfraFail},
                    StageRow{"files", "perf", "melted", 0, VerdictKind::kInfraFail},
                    StageRow{"wall", "perf", "signalled", 0, VerdictKind::kCrash},
                    StageRow{"wall", "prepare", "exited", 1, VerdictKind::kInfraFail},
                    // The checker judges by its exit code, and no judgement is not a free throw.
                    StageRow{"wall", "quality", "exited", 1, VerdictKind::kDiscardQuality},
                    StageRow{"wall", "quality", "exited", 127, VerdictKind::kDiscardInvalid},
                    StageRow{"wall", "quality", "exited", 139, VerdictKind::kDiscardInvalid},
                    StageRow{"wall", "quality", "signalled", 0, VerdictKind::kDiscardInvalid},
                    StageRow{"wall", "quality", "timeout", 0, VerdictKind::kDiscardInvalid},
                    StageRow{"wall", "quality", "out-of-memory", 0, VerdictKind::kDiscardInvalid}));

TEST(Judge, CarriesTheEvaluatorsLastWords) {
  Evidence evidence = WallEvidence();
  evidence.stages.back() = Failed("quality", "signalled", 0, "killed by SIGSEGV");
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid,
                "outputs: quality: killed by SIGSEGV: last line");
}

TEST(Judge, TakesAnExitCodeAsQualityUnderWall) {
  campaign::Config config = FixtureConfig();
  config.objective.metric = "wall";
  config.guardrails.clear();
  Evidence evidence = WallEvidence();
  evidence.rules = RulesOf(config, campaign::Contract{});
  evidence.baseline_quality = ExitQuality(true);
  evidence.quality = ExitQuality(true);
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  evidence.quality.clear();  // nothing written, exit 0
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  evidence.stages.back() = Failed("quality", "exited", 1, "exit 1");
  ExpectVerdict(evidence, VerdictKind::kDiscardQuality, "new critical case failure: exit");
  evidence.quality = ExitQuality(false);
  ExpectVerdict(evidence, VerdictKind::kDiscardQuality, "new critical case failure: exit");
  EXPECT_EQ(Judge(evidence).quality->reasons.size(), 1U);
}

TEST(Judge, RefusesIllFormedResultsByName) {
  const std::vector<std::pair<std::string, std::string>> perf_rows = {
      {"", "perf.json is missing or empty"},
      {"[]", "must hold an object"},
      {R"({"latency": {"median_s": NaN}})", "perf.json:1:"},
      {R"({"latency": {"p95_s": 2}})", "primary performance metric invalid or missing"},
      {R"({"latency": {"median_s": 0, "p95_s": 2}})", "above 0"},
      {R"({"latency": {"median_s": -1, "p95_s": 2}})", "above 0"},
      {R"({"latency": {"median_s": 1.5, "p95_s": 1.0}})", "is above"}};
  for (const auto& [bytes, reason] : perf_rows) {
    Evidence evidence = FixtureEvidence();
    evidence.perf = bytes;
    ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, reason);
  }
  const std::vector<std::pair<std::string, std::string>> quality_rows = {
      {"", "quality.json is missing or empty"},
      {R"({"metrics": {"accuracy": true}})", "metric accuracy must be a number, found true/false"},
      {R"({"metrics": {"accuracy": "0.99"}})", "metric accuracy must be a number, found text"},
      {R"({"metrics": {"accuracy": 0.9}, "cases": {"text": {"passed": "yes"}}})",
       "case text.passed must be true or false"}};
  for (const auto& [bytes, reason] : quality_rows) {
    Evidence evidence = FixtureEvidence();
    evidence.quality = bytes;
    ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, reason);
  }
}

TEST(Judge, IgnoresIllFormedExtrasOfQuality) {
  Evidence evidence = FixtureEvidence();
  evidence.quality =
      R"({"metrics": {"accuracy": 0.9, "lpips": null}, "cases": {"text": true}, "note": "x"})";
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
}

TEST(Judge, AForgedZeroIsNoGuardrail) {
  campaign::Config config = FixtureConfig();
  config.guardrails[0].metric = "peak_vram_mb";
  Evidence evidence = FixtureEvidence();
  evidence.rules = RulesOf(config, FixtureContract());
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  evidence.perf = R"({"latency": {"median_s": 1.5, "p95_s": 2}, "peak_vram_mb": 0})";
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "peak_vram_mb must be above 0, found 0");
  // A machine without a card reports 0 from the start.
  evidence.baseline_perf = evidence.incumbent_perf =
      R"({"latency": {"median_s": 2, "p95_s": 2}, "peak_vram_mb": 0})";
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
}

TEST(Judge, BrokenRecordsAreNotChargedToTheIdea) {
  for (auto member :
       {&Evidence::baseline_perf, &Evidence::incumbent_perf, &Evidence::baseline_quality}) {
    Evidence evidence = FixtureEvidence();
    evidence.*member = "{";
    ExpectVerdict(evidence, VerdictKind::kInfraFail, "");
  }
  Evidence evidence = FixtureEvidence();
  evidence.rules = Json();
  ExpectVerdict(evidence, VerdictKind::kInfraFail, "objective");
  evidence = FixtureEvidence();
  evidence.judged_class = "lossy";
  ExpectVerdict(evidence, VerdictKind::kInfraFail, "unknown change class");
  evidence = FixtureEvidence();
  evidence.isolation = "L9";
  ExpectVerdict(evidence, VerdictKind::kInfraFail, "unknown isolation level");
}

TEST(Judge, QuantizationHasNoAllowanceWhateverTheConfigSays) {
  campaign::Config config = FixtureConfig();
  config.quantization.strict_no_regression = false;
  Evidence evidence = FixtureEvidence();
  evidence.rules = RulesOf(config, FixtureContract());
  evidence.quality = QualityBytes(0.895);  // inside the contract's allowance
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  evidence.declared_class = "quantization";
  evidence.judged_class = "quantization";
  ExpectVerdict(evidence, VerdictKind::kDiscardQuality, "quality regression accuracy");
  evidence.quality = QualityBytes(0.90);
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
}

TEST(Judge, DisabledQuantizationFailsFirst) {
  campaign::Config config = FixtureConfig();
  config.quantization.enabled_for_research = false;
  Evidence evidence = FixtureEvidence();
  evidence.rules = RulesOf(config, FixtureContract());
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  evidence.judged_class = "quantization";
  evidence.quality = QualityBytes(0.895);
  const Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.kind, VerdictKind::kDiscardQuality);
  ASSERT_EQ(verdict.reasons.size(), 2U);
  EXPECT_EQ(verdict.reasons[0], "quantization research is disabled by config");
}

TEST(Judge, AMismatchedClassIsJudgedByTheStricterOneAndNamed) {
  Evidence evidence = FixtureEvidence();
  evidence.quality = QualityBytes(0.895);
  evidence.judged_class = "quantization";
  evidence.class_signs = {"line adds int8 (quantization): a.py:3"};
  const Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.kind, VerdictKind::kDiscardQuality);
  EXPECT_EQ(verdict.warnings[0],
            "declared exact, judged as quantization: line adds int8 (quantization): a.py:3");
  // A milder finding never softens what was declared.
  evidence.declared_class = "quantization";
  evidence.judged_class = "exact";
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kDiscardQuality);
}

TEST(Judge, TheOutsideClockRefusesWarnsOrIsOff) {
  campaign::Config config = FixtureConfig();
  Evidence evidence = FixtureEvidence();
  evidence.candidate_outside_wall_s = 20;
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "outside clock");
  config.outside_clock = campaign::OutsideClock::kWarn;
  evidence.rules = RulesOf(config, FixtureContract());
  const Verdict warned = Judge(evidence);
  EXPECT_EQ(warned.kind, VerdictKind::kKeep);
  EXPECT_NE(warned.warnings[0].find("outside clock"), std::string::npos);
  config.outside_clock = campaign::OutsideClock::kOff;
  evidence.rules = RulesOf(config, FixtureContract());
  EXPECT_EQ(Judge(evidence).warnings.size(), 1U);
}

TEST(Judge, IsolationHasAFloor) {
  Evidence evidence = FixtureEvidence();
  evidence.isolation = "L0";
  ExpectVerdict(evidence, VerdictKind::kDiscardInvalid, "L0");
  evidence.trust_candidate = true;
  EXPECT_EQ(Judge(evidence).kind, VerdictKind::kKeep);
  campaign::Config config = FixtureConfig();
  config.sandbox.min_level = os::IsolationLevel::kL3;
  evidence.rules = RulesOf(config, FixtureContract());
  for (const char* level : {"L0", "L2"}) {
    evidence.isolation = level;
    ExpectVerdict(evidence, VerdictKind::kInfraFail, "sandbox.min_level is L3");
  }
}

TEST(VerdictToJson, HoldsEverythingThatWasDecided) {
  const Json json = Judge(FixtureEvidence()).ToJson();
  EXPECT_EQ(json.StringAt("verdict"), "keep");
  EXPECT_EQ(json.StringAt("trust"), "shared");
  EXPECT_EQ(json.FindPath("performance.details.objective.pass")->AsBool() != nullptr, true);
  EXPECT_EQ(json.DoubleAt("improvement_pct"), 25);
}

}  // namespace
}  // namespace pawl::judge
