// What must hold for every evidence, however odd: the judge answers, answers the same again, and
// loses nothing on the way through the ledger.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "judge/verdict_fixture.h"

namespace pawl::judge {
namespace {

template <class T>
T Pick(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

std::string Words() {
  return *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
}

double Number() {
  return *rc::gen::map(rc::gen::inRange(-500, 5000), [](int n) { return n / 64.0; });
}

// Sound, slightly bent or entirely foreign bytes.
std::string FileBytes(const std::string& sound) {
  std::string bytes = sound;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return sound;
    case 1:
      return *rc::gen::arbitrary<std::string>();
    case 2:
      bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
      return bytes;
    default: {
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[at] = *rc::gen::arbitrary<char>();
      return bytes;
    }
  }
}

StageEvidence Stage() {
  StageEvidence out;
  out.stage = Pick<std::string>({"check", "build", "smoke", "perf", "quality", "prepare", "odd"});
  out.end = Pick<std::string>({"exited", "exited", "exited", "signalled", "timeout", "cancelled"});
  out.exit_code = Pick<int>({0, 0, 0, 1, 127, -1});
  out.wall_s = Number();
  out.cpu_s = Number();
  out.peak_rss_mb = Number();
  out.description = Words();
  out.last_words = Words();
  return out;
}

Evidence AnyEvidence() {
  Evidence out = Pick<bool>({true, false}) ? FixtureEvidence() : WallEvidence();
  out.isolation = Pick<std::string>({"L0", "L1", "L2", "L3", "L3", ""});
  out.judge_apart = *rc::gen::arbitrary<bool>();
  out.own_uid = *rc::gen::arbitrary<bool>();
  out.trust_candidate = *rc::gen::arbitrary<bool>();
  out.intake = Pick<std::string>({"none", "none", "none", "scope", "harness", "invalid"});
  out.interrupted = Pick<bool>({true, false, false, false});
  if (Pick<bool>({true, false}))
    out.stages = *rc::gen::container<std::vector<StageEvidence>>(rc::gen::exec(Stage));
  if (Pick<bool>({true, false, false})) out.integrity = {Words()};
  out.perf = FileBytes(PerfBytes(Number(), Number()));
  out.quality = FileBytes(QualityBytes(Number(), *rc::gen::arbitrary<bool>()));
  if (Pick<bool>({true, false, false})) out.incumbent_perf = FileBytes(out.incumbent_perf);
  if (Pick<bool>({true, false, false})) out.baseline_quality = FileBytes(out.baseline_quality);
  out.candidate_outside_wall_s = Number();
  out.judged_class = Pick<std::string>({"exact", "numerical", "approximate", "quantization", "x"});
  return out;
}

RC_GTEST_PROP(Judge, AnswersEveryEvidenceAndAlwaysTheSame, ()) {
  const Evidence evidence = AnyEvidence();
  const Verdict verdict = Judge(evidence);
  RC_ASSERT(Judge(evidence).ToJson() == verdict.ToJson());
  RC_ASSERT(!verdict.reasons.empty() || evidence.intake != "none");
  if (verdict.kind != campaign::VerdictKind::kKeep) return;
  RC_ASSERT(verdict.quality->passed && verdict.performance->passed);
  RC_ASSERT(*verdict.candidate < *verdict.best);
  RC_ASSERT(evidence.intake == "none" && evidence.integrity.empty() && !evidence.interrupted);
}

RC_GTEST_PROP(Evidence, SurvivesTheLedger, ()) {
  const Evidence evidence = AnyEvidence();
  const Json json = evidence.ToJson();
  const Json stored = ParseJson(json.Canonical(), "ledger").value();
  const Evidence back = Evidence::FromJson(stored).value();
  RC_ASSERT(back.ToJson() == json);
  RC_ASSERT(back.perf == evidence.perf);
  RC_ASSERT(back.quality == evidence.quality);
  RC_ASSERT(Judge(back).ToJson() == Judge(evidence).ToJson());
}

RC_GTEST_PROP(Evidence, RefusesTornRecordsByKey, ()) {
  Json json = FixtureEvidence().ToJson();
  std::vector<std::string> keys;
  for (const auto& [key, value] : *json.AsObject()) keys.push_back(key);
  const std::string key = *rc::gen::elementOf(keys);
  if (key == "rules") return;  // Judge names what is missing there
  if (Pick<bool>({true, false})) {
    json.AsObject()->Erase(key);
  } else {
    (*json.AsObject())[key] = Json();
  }
  const Result<Evidence> back = Evidence::FromJson(json);
  RC_ASSERT(!back.ok());
  RC_ASSERT(back.error().code == Code::kCorrupt);
  RC_ASSERT(back.error().message.find(key) != std::string::npos);
}

TEST(Evidence, RefusesANewerVersion) {
  Json json = FixtureEvidence().ToJson();
  (*json.AsObject())["version"] = 2;
  EXPECT_EQ(Evidence::FromJson(json).error().code, Code::kUnsupported);
}

TEST(Rules, KeepTheOrderOfContractAndGuardrails) {
  campaign::Config config = FixtureConfig();
  config.guardrails.push_back({"a", campaign::Direction::kHigher, 1.5, std::nullopt, false});
  campaign::Contract contract = FixtureContract();
  contract.metrics.push_back({"a", campaign::Direction::kLower, 0.25, 0});
  const Json rules = RulesOf(config, contract);
  const Rules back = RulesFrom(ParseJson(rules.Canonical(), "ledger").value()).value();
  EXPECT_EQ(RulesOf(back.config, back.contract), rules);
  EXPECT_EQ(back.contract.metrics[0].name, "accuracy");
  EXPECT_EQ(back.config.guardrails[1].max_rel_regression, std::nullopt);
}

RC_GTEST_PROP(Judge, TighterAllowancesNeverTurnARefusalIntoAKeep, ()) {
  const auto amount = [] { return std::abs(Number()) / 100; };
  campaign::Config config = FixtureConfig();
  campaign::Contract contract = FixtureContract();
  contract.metrics[0].max_abs_regression = amount();
  config.guardrails[0].max_rel_regression = amount();
  Evidence evidence = FixtureEvidence();
  const double median = 1 + amount() / 10;
  evidence.perf = PerfBytes(median, median * (1 + amount() / 10));
  evidence.quality = QualityBytes(0.8 + amount() / 100);
  evidence.rules = RulesOf(config, contract);
  const auto loose = Judge(evidence).kind;
  contract.metrics[0].max_abs_regression *= 0.5;
  config.guardrails[0].max_rel_regression = *config.guardrails[0].max_rel_regression * 0.5;
  config.objective.min_improvement_fraction *= 2;
  evidence.rules = RulesOf(config, contract);
  const auto tight = Judge(evidence).kind;
  RC_ASSERT(loose == campaign::VerdictKind::kKeep || tight != campaign::VerdictKind::kKeep);
}

}  // namespace
}  // namespace pawl::judge
