#include "judge/gates.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace pawl::judge {
namespace {

using campaign::Direction;

QualityFile Quality(std::vector<std::pair<std::string, double>> metrics,
                    std::vector<std::pair<std::string, bool>> cases = {}) {
  QualityFile out;
  out.metrics = std::move(metrics);
  out.cases = std::move(cases);
  return out;
}

campaign::Contract OneMetric(Direction direction, double max_abs, double max_rel) {
  campaign::Contract contract;
  contract.metrics = {{"m", direction, max_abs, max_rel}};
  return contract;
}

struct QualityRow {
  const char* what;
  Direction direction;
  double baseline, candidate, max_abs, max_rel;
  bool strict;
  std::vector<std::string> reasons;
};

class QualityTable : public testing::TestWithParam<QualityRow> {};

TEST_P(QualityTable, FollowsTheArithmetic) {
  const QualityRow& row = GetParam();
  const GateResult result =
      JudgeQuality(Quality({{"m", row.baseline}}), Quality({{"m", row.candidate}}),
                   OneMetric(row.direction, row.max_abs, row.max_rel), row.strict);
  EXPECT_EQ(result.reasons, row.reasons) << row.what;
  EXPECT_EQ(result.passed, row.reasons.empty()) << row.what;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, QualityTable,
    testing::Values(
        QualityRow{"equal", Direction::kHigher, 0.9, 0.9, 0, 0, false, {}},
        QualityRow{"better", Direction::kHigher, 0.9, 0.95, 0, 0, false, {}},
        QualityRow{"lower is better and lower", Direction::kLower, 5, 4, 0, 0, false, {}},
        QualityRow{"zero by default",
                   Direction::kHigher,
                   0.9,
                   0.89,
                   0,
                   0,
                   false,
                   {"quality regression m: baseline=0.9, candidate=0.89, abs_reg=0.01, "
                    "rel_reg=1.111111%"}},
        QualityRow{"lower is better and higher",
                   Direction::kLower,
                   4,
                   5,
                   0.5,
                   1,
                   false,
                   {"quality regression m: baseline=4, candidate=5, abs_reg=1, "
                    "rel_reg=25.000000%"}},
        QualityRow{"both limits must hold: relative fails",
                   Direction::kHigher,
                   0.5,
                   0.4,
                   0.2,
                   0.1,
                   false,
                   {"quality regression m: baseline=0.5, candidate=0.4, abs_reg=0.1, "
                    "rel_reg=20.000000%"}},
        QualityRow{"both limits hold", Direction::kHigher, 0.5, 0.4, 0.2, 0.3, false, {}},
        QualityRow{"strict forgets the limits",
                   Direction::kHigher,
                   0.5,
                   0.4,
                   0.2,
                   0.3,
                   true,
                   {"quality regression m: baseline=0.5, candidate=0.4, abs_reg=0.1, "
                    "rel_reg=20.000000%"}},
        // 1e-15 of room on both comparisons; the baseline of 1 makes both regressions equal.
        QualityRow{"within the tolerance", Direction::kLower, 1, 1 + 8.8e-16, 0, 0, false, {}},
        QualityRow{"beyond the tolerance",
                   Direction::kLower,
                   1,
                   1 + 1.2e-15,
                   0,
                   0,
                   false,
                   {"quality regression m: baseline=1, candidate=1, abs_reg=1.11022e-15, "
                    "rel_reg=0.000000%"}},
        // The reference counts as 1e-12 at least.
        QualityRow{"baseline zero",
                   Direction::kLower,
                   0,
                   1e-12,
                   1,
                   0.5,
                   false,
                   {"quality regression m: baseline=0, candidate=1e-12, abs_reg=1e-12, "
                    "rel_reg=100.000000%"}},
        QualityRow{"overflowing regression",
                   Direction::kHigher,
                   1.7e308,
                   -1.7e308,
                   1e300,
                   1e300,
                   false,
                   {"quality regression m: baseline=1.7e+308, candidate=-1.7e+308, abs_reg=inf, "
                    "rel_reg=inf%"}}));

TEST(JudgeQuality, NamesMissingMetricsInContractOrder) {
  campaign::Contract contract;
  contract.metrics = {{"b"}, {"a"}, {"c"}};
  const GateResult result =
      JudgeQuality(Quality({{"a", 1}, {"b", 1}}), Quality({{"b", 1}}), contract, false);
  EXPECT_EQ(result.reasons, (std::vector<std::string>{"candidate quality metric missing: a",
                                                      "baseline quality metric missing: c"}));
}

TEST(JudgeQuality, CasesCountOnlyWhereTheBaselinePasses) {
  const QualityFile baseline =
      Quality({{"m", 1}}, {{"gone", true}, {"broken", true}, {"never", false}, {"held", true}});
  const QualityFile candidate =
      Quality({{"m", 1}}, {{"broken", false}, {"never", false}, {"held", true}, {"new", false}});
  campaign::Contract contract = OneMetric(Direction::kHigher, 0, 0);
  const GateResult result = JudgeQuality(baseline, candidate, contract, false);
  EXPECT_EQ(result.reasons,
            (std::vector<std::string>{"candidate missing required quality case: gone",
                                      "new critical case failure: broken"}));
  EXPECT_EQ(result.details.Find("cases")->Compact(),
            R"({"gone":{"pass":false,"reason":"missing"},)"
            R"("broken":{"baseline_pass":true,"candidate_pass":false,"pass":false},)"
            R"("held":{"baseline_pass":true,"candidate_pass":true,"pass":true}})");
  contract.require_case_passes = false;
  EXPECT_TRUE(JudgeQuality(baseline, candidate, contract, false).passed);
}

TEST(JudgeQuality, AnEmptyContractFailsUnlessACaseHolds) {
  const campaign::Contract contract;
  EXPECT_EQ(JudgeQuality(Quality({}), Quality({}), contract, false).reasons,
            std::vector<std::string>{"quality contract contains no metrics"});
  EXPECT_EQ(
      JudgeQuality(Quality({}, {{"exit", false}}), Quality({}, {{"exit", true}}), contract, false)
          .reasons,
      std::vector<std::string>{"quality contract contains no metrics"});
  const QualityFile passes = Quality({}, {{"exit", true}});
  EXPECT_TRUE(JudgeQuality(passes, passes, contract, false).passed);
  EXPECT_FALSE(JudgeQuality(passes, Quality({}, {{"exit", false}}), contract, false).passed);
}

TEST(JudgeQuality, TheContractsOwnStrictnessCounts) {
  campaign::Contract contract = OneMetric(Direction::kHigher, 1, 1);
  EXPECT_TRUE(JudgeQuality(Quality({{"m", 1}}), Quality({{"m", 0.9}}), contract, false).passed);
  contract.strict_zero_regression = true;
  EXPECT_FALSE(JudgeQuality(Quality({{"m", 1}}), Quality({{"m", 0.9}}), contract, false).passed);
}

TEST(JudgeQuality, DetailsHaveDitArsKeys) {
  const GateResult result = JudgeQuality(Quality({{"m", 1}}), Quality({{"m", 0.75}}),
                                         OneMetric(Direction::kHigher, 0.5, 0.5), false);
  EXPECT_EQ(result.ToJson().Compact(),
            R"({"passed":true,"reasons":[],"details":{"metrics":{"m":{"baseline":1.0,)"
            R"("candidate":0.75,"direction":"higher","abs_regression":0.25,"rel_regression":0.25,)"
            R"("max_abs_regression":0.5,"max_rel_regression":0.5,"pass":true}},"cases":{}}})");
}

Json Parse(std::string_view text) {
  return ParseJson(text, "test").value();
}

campaign::Config Objective(Direction direction, double min_abs, double min_fraction) {
  campaign::Config config;
  config.objective = {"t", direction, min_fraction, min_abs};
  return config;
}

struct ObjectiveRow {
  const char* what;
  Direction direction;
  double best, candidate, min_abs, min_fraction;
  std::vector<std::string> reasons;
};

class ObjectiveTable : public testing::TestWithParam<ObjectiveRow> {};

TEST_P(ObjectiveTable, FollowsTheArithmetic) {
  const ObjectiveRow& row = GetParam();
  const Json best = JsonObject{{"t", row.best}};
  const PerformanceResult result =
      JudgePerformance({best, best, JsonObject{{"t", row.candidate}}},
                       Objective(row.direction, row.min_abs, row.min_fraction));
  EXPECT_EQ(result.gate.reasons, row.reasons) << row.what;
  EXPECT_EQ(result.gate.passed, row.reasons.empty()) << row.what;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ObjectiveTable,
    testing::Values(
        ObjectiveRow{"any gain", Direction::kLower, 10, 9.999, 0, 0, {}},
        ObjectiveRow{"higher is better", Direction::kHigher, 10, 11, 0, 0.1, {}},
        ObjectiveRow{"no gain",
                     Direction::kLower,
                     10,
                     10,
                     0,
                     0,
                     {"primary objective did not improve enough: t best=10, candidate=10, "
                      "improvement=0.0000%"}},
        ObjectiveRow{"worse",
                     Direction::kLower,
                     8,
                     9,
                     0,
                     0,
                     {"primary objective did not improve enough: t best=8, candidate=9, "
                      "improvement=-12.5000%"}},
        ObjectiveRow{"below the fraction",
                     Direction::kLower,
                     10,
                     9.96,
                     0,
                     0.005,
                     {"primary objective did not improve enough: t best=10, candidate=9.96, "
                      "improvement=0.4000%"}},
        ObjectiveRow{"exactly the fraction", Direction::kLower, 8, 7, 0, 0.125, {}},
        ObjectiveRow{"below the absolute minimum",
                     Direction::kLower,
                     10,
                     9.5,
                     0.6,
                     0,
                     {"primary objective did not improve enough: t best=10, candidate=9.5, "
                      "improvement=5.0000%"}},
        // 1 - 0.1 is 0.9 and 1 - 0.9 is 0.09999999999999998: short of 0.1 by 3e-17, within 1e-15.
        ObjectiveRow{"short by less than the tolerance", Direction::kLower, 1, 0.9, 0.1, 0.1, {}},
        ObjectiveRow{"short by more than the tolerance",
                     Direction::kLower,
                     1,
                     0.9 + 4e-15,
                     0.1,
                     0,
                     {"primary objective did not improve enough: t best=1, candidate=0.9, "
                      "improvement=10.0000%"}},
        // A gain smaller than the tolerance is still a gain, as in dit-ar.
        ObjectiveRow{"tiny gain", Direction::kLower, 1, 1 - 2e-16, 0, 0, {}},
        ObjectiveRow{"overflowing gain",
                     Direction::kHigher,
                     -1.7e308,
                     1.7e308,
                     0,
                     0,
                     {"primary objective did not improve enough: t best=-1.7e+308, "
                      "candidate=1.7e+308, improvement=inf%"}}));

TEST(JudgePerformance, GivesTheImprovementInPercent) {
  const Json best = JsonObject{{"t", 8.0}};
  const PerformanceResult result =
      JudgePerformance({best, best, JsonObject{{"t", 6.0}}}, Objective(Direction::kLower, 0, 0));
  EXPECT_EQ(result.best, 8.0);
  EXPECT_EQ(result.candidate, 6.0);
  EXPECT_EQ(result.improvement_pct, 25.0);
  EXPECT_EQ(result.gate.details.Find("objective")->Compact(),
            R"({"metric":"t","direction":"lower","best":8.0,"candidate":6.0,)"
            R"("abs_improvement":2.0,"rel_improvement":0.25,"min_improvement_abs":0.0,)"
            R"("min_improvement_fraction":0.0,"pass":true})");
}

TEST(JudgePerformance, AMissingObjectiveEndsTheGate) {
  const Json best = JsonObject{{"t", 8.0}};
  const campaign::Config config = Objective(Direction::kLower, 0, 0);
  EXPECT_EQ(JudgePerformance({best, best, Parse("{}")}, config).gate.reasons,
            std::vector<std::string>{"primary performance metric invalid or missing: 't'"});
  EXPECT_EQ(JudgePerformance({best, best, Parse(R"({"t": true})")}, config).gate.reasons,
            std::vector<std::string>{"primary performance metric invalid or missing: Metric 't' "
                                     "must be numeric; got true/false"});
}

struct GuardrailRow {
  const char* what;
  campaign::Guardrail guardrail;
  const char *baseline, *incumbent, *candidate;
  std::vector<std::string> reasons;
};

campaign::Guardrail Rail(std::optional<double> max_abs, std::optional<double> max_rel,
                         bool required = true, Direction direction = Direction::kLower) {
  return {"g", direction, max_abs, max_rel, required};
}

class GuardrailTable : public testing::TestWithParam<GuardrailRow> {};

TEST_P(GuardrailTable, FollowsTheArithmetic) {
  const GuardrailRow& row = GetParam();
  campaign::Config config = Objective(Direction::kLower, 0, 0);
  config.guardrails = {row.guardrail};
  const PerformanceResult result =
      JudgePerformance({Parse(row.baseline), Parse(row.incumbent), Parse(row.candidate)}, config);
  EXPECT_EQ(result.gate.reasons, row.reasons) << row.what;
}

constexpr const char* kBest100 = R"({"t": 2, "g": 100})";

INSTANTIATE_TEST_SUITE_P(
    Rows, GuardrailTable,
    testing::Values(
        GuardrailRow{"no limit given: both zero",
                     Rail({}, {}),
                     kBest100,
                     kBest100,
                     R"({"t": 1, "g": 100.5})",
                     {"performance guardrail failed g: best=100, candidate=100.5, "
                      "rel_reg=0.5000%"}},
        GuardrailRow{"only relative given: absolute is infinite",
                     Rail({}, 0.05),
                     kBest100,
                     kBest100,
                     R"({"t": 1, "g": 105})",
                     {}},
        GuardrailRow{"only absolute given: relative is infinite",
                     Rail(60, {}),
                     kBest100,
                     kBest100,
                     R"({"t": 1, "g": 150})",
                     {}},
        GuardrailRow{"relative broken",
                     Rail({}, 0.05),
                     kBest100,
                     kBest100,
                     R"({"t": 1, "g": 106})",
                     {"performance guardrail failed g: best=100, candidate=106, "
                      "rel_reg=6.0000%"}},
        GuardrailRow{"higher is better",
                     Rail({}, {}, true, Direction::kHigher),
                     kBest100,
                     kBest100,
                     R"({"t": 1, "g": 120})",
                     {}},
        GuardrailRow{"required and missing in the candidate",
                     Rail({}, 0.05),
                     kBest100,
                     kBest100,
                     R"({"t": 1})",
                     {"guardrail metric invalid or missing g: 'g'"}},
        GuardrailRow{"required and missing in the incumbent",
                     Rail({}, 0.05),
                     R"({"t": 2})",
                     R"({"t": 2})",
                     R"({"t": 1, "g": 5})",
                     {"guardrail metric invalid or missing g: 'g'"}},
        GuardrailRow{"optional and known nowhere",
                     Rail({}, 0.05, false),
                     R"({"t": 2})",
                     R"({"t": 2})",
                     R"({"t": 1})",
                     {}},
        GuardrailRow{"optional and new",
                     Rail({}, 0.05, false),
                     R"({"t": 2})",
                     R"({"t": 2})",
                     R"({"t": 1, "g": 5})",
                     {}},
        // Stricter than dit-ar from here on.
        GuardrailRow{"optional, but the incumbent has it",
                     Rail({}, 0.05, false),
                     R"({"t": 2})",
                     kBest100,
                     R"({"t": 1, "g": "low"})",
                     {"guardrail metric invalid or missing g: Metric 'g' must be numeric; got "
                      "text"}},
        GuardrailRow{"small steps add up against the baseline",
                     Rail({}, 0.05),
                     kBest100,
                     R"({"t": 2, "g": 104})",
                     R"({"t": 1, "g": 108})",
                     {"performance guardrail failed g against the baseline: baseline=100, "
                      "candidate=108, rel_reg=8.0000%"}},
        GuardrailRow{"broken against both",
                     Rail({}, 0.05),
                     R"({"t": 2, "g": 90})",
                     kBest100,
                     R"({"t": 1, "g": 120})",
                     {"performance guardrail failed g: best=100, candidate=120, rel_reg=20.0000%",
                      "performance guardrail failed g against the baseline: baseline=90, "
                      "candidate=120, rel_reg=33.3333%"}}));

TEST(JudgePerformance, AnInfiniteLimitIsNullInDetails) {
  campaign::Config config = Objective(Direction::kLower, 0, 0);
  config.guardrails = {Rail({}, 0.5)};
  const PerformanceResult result =
      JudgePerformance({Parse(kBest100), Parse(kBest100), Parse(R"({"t": 1, "g": 125})")}, config);
  const Json* entry = result.gate.details.FindPath("guardrails.g");
  ASSERT_NE(entry, nullptr);
  EXPECT_TRUE(entry->Find("max_abs_regression")->is_null());
  EXPECT_EQ(entry->DoubleAt("max_rel_regression"), 0.5);
  EXPECT_EQ(entry->DoubleAt("abs_regression"), 25);
  EXPECT_EQ(Metric(*entry, "against_baseline.baseline"), 100.0);
}

double Amount() {
  return *rc::gen::map(rc::gen::inRange(0, 1000), [](int n) { return n / 100.0; });
}

RC_GTEST_PROP(JudgeQuality, TighterAllowancesNeverTurnARefusalIntoAPass, ()) {
  const auto direction = *rc::gen::element(Direction::kLower, Direction::kHigher);
  const QualityFile baseline = Quality({{"m", Amount()}});
  const QualityFile candidate = Quality({{"m", Amount()}});
  const double max_abs = Amount();
  const double max_rel = Amount();
  const bool loose =
      JudgeQuality(baseline, candidate, OneMetric(direction, max_abs, max_rel), false).passed;
  const auto tight_contract = OneMetric(direction, max_abs * *rc::gen::element(0.0, 0.5, 1.0),
                                        max_rel * *rc::gen::element(0.0, 0.5, 1.0));
  const bool tight =
      JudgeQuality(baseline, candidate, tight_contract, *rc::gen::arbitrary<bool>()).passed;
  RC_ASSERT(loose || !tight);
}

RC_GTEST_PROP(JudgePerformance, TighterGuardrailsNeverTurnARefusalIntoAPass, ()) {
  const auto perf = [] { return Json(JsonObject{{"t", Amount()}, {"g", Amount()}}); };
  const PerformanceInput input{perf(), perf(), perf()};
  campaign::Config config = Objective(Direction::kLower, 0, 0);
  // An absent limit is infinite only beside a present one: keep both present.
  config.guardrails = {Rail(Amount(), Amount())};
  const bool loose = JudgePerformance(input, config).gate.passed;
  config.guardrails[0].max_abs_regression =
      *config.guardrails[0].max_abs_regression * *rc::gen::element(0.0, 0.5, 1.0);
  config.objective.min_improvement_abs = Amount();
  RC_ASSERT(loose || !JudgePerformance(input, config).gate.passed);
}

}  // namespace
}  // namespace pawl::judge
