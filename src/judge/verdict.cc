#include "judge/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "judge/outside_clock.h"

namespace pawl::judge {

using campaign::Trust;
using campaign::VerdictKind;

namespace {

// From here on a shell's exit code says that the command could not be run or was killed.
constexpr int kShellCouldNotRun = 126;

Json Optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json Optional(const std::optional<GateResult>& gate) {
  return gate ? gate->ToJson() : Json();
}

struct Finding {
  VerdictKind kind;
  std::vector<std::string> reasons;
};

std::string LastLine(std::string_view text) {
  text = Trim(text);
  const std::size_t line_break = text.rfind('\n');
  return PrintableLine(line_break == std::string_view::npos ? text : text.substr(line_break + 1));
}

std::string StageReason(const StageEvidence& stage) {
  const std::string words = LastLine(stage.last_words);
  const std::string how = stage.description.empty() ? stage.end : stage.description;
  return Format("{}: {}{}{}", PrintableLine(stage.stage), PrintableLine(how),
                words.empty() ? "" : ": ", words);
}

// Under `wall` the quality command runs apart from the candidate and sees only its outputs. Its
// exit code judges (a case named exit). When it dies on those outputs, no judgement was made: that
// is neither a crash of the candidate nor a reason for another free throw, so it is refused as
// invalid, with the evaluator's last words.
std::optional<Finding> JudgeEvaluator(const StageEvidence& stage) {
  if (stage.end == "exited" && stage.exit_code < kShellCouldNotRun) return std::nullopt;
  return Finding{VerdictKind::kDiscardInvalid,
                 {"the evaluator did not come to a judgement on this candidate's outputs: " +
                  StageReason(stage)}};
}

std::optional<Finding> JudgeStage(const StageEvidence& stage, bool wall) {
  if (stage.end == "exited" && stage.exit_code == 0) return std::nullopt;
  if (stage.end == "cancelled") return Finding{VerdictKind::kInterrupted, {StageReason(stage)}};
  // No candidate code runs in these two.
  if (stage.stage == "setup" || stage.stage == "prepare") {
    return Finding{VerdictKind::kInfraFail, {StageReason(stage)}};
  }
  constexpr std::array<std::string_view, 4> kEnds = {"exited", "signalled", "timeout",
                                                     "out-of-memory"};
  if (std::ranges::find(kEnds, stage.end) == kEnds.end()) {
    return Finding{VerdictKind::kInfraFail, {StageReason(stage)}};
  }
  if (wall && stage.stage == "quality") return JudgeEvaluator(stage);
  VerdictKind kind = VerdictKind::kCrash;
  if (stage.end == "timeout") kind = VerdictKind::kTimeout;
  if (stage.end == "out-of-memory") kind = VerdictKind::kOutOfMemory;
  return Finding{kind, {StageReason(stage)}};
}

std::optional<Finding> JudgeIntake(const Evidence& evidence) {
  constexpr std::array kKinds = {
      std::pair{std::string_view("scope"), VerdictKind::kDiscardScope},
      std::pair{std::string_view("harness"), VerdictKind::kDiscardHarness},
      std::pair{std::string_view("invalid"), VerdictKind::kDiscardInvalid}};
  if (evidence.intake == "none") return std::nullopt;
  for (const auto& [name, kind] : kKinds) {
    if (evidence.intake == name) return Finding{kind, evidence.intake_reasons};
  }
  return Finding{VerdictKind::kInfraFail,
                 {Format("unknown intake outcome {}", PrintableLine(evidence.intake))}};
}

std::vector<std::string> Prefixed(std::string_view prefix, const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) out.push_back(Format("{}: {}", prefix, line));
  return out;
}

// A separate judge needs walls between it and the candidate: all of L3's, or at L2 a uid of its own
// (same-uid processes of L2 share what `stat` and left-over processes can reach).
Trust TrustOf(const Evidence& evidence, os::IsolationLevel level) {
  const bool walls =
      level == os::IsolationLevel::kL3 || (level == os::IsolationLevel::kL2 && evidence.own_uid);
  const bool apart = evidence.judge_apart && evidence.protocol != "files";
  return apart && walls ? Trust::kSeparate : Trust::kShared;
}

// One evidence on its way to a verdict. Each step either ends it (returns a finding) or goes on.
class Case {
 public:
  explicit Case(const Evidence& evidence) : evidence_(evidence) {}

  Verdict Decide() {
    const Finding finding = Walk();
    verdict_.kind = finding.kind;
    verdict_.reasons = finding.reasons;
    return std::move(verdict_);
  }

 private:
  using Step = std::optional<Finding> (Case::*)();

  Finding Walk() {
    constexpr std::array<Step, 10> kSteps = {
        &Case::Stopped, &Case::Records, &Case::Intake,  &Case::Stages,      &Case::Integrity,
        &Case::Gates,   &Case::Values,  &Case::Refusal, &Case::OutsideTime, &Case::Isolation};
    for (const Step step : kSteps) {
      if (auto finding = (this->*step)()) return *std::move(finding);
    }
    if (verdict_.trust == Trust::kShared) {
      verdict_.warnings.emplace_back(
          "trust shared: the candidate's code ran where its own figures were made; SECURITY.md "
          "lists what that cannot stop");
    }
    return {VerdictKind::kKeep, {Improvement()}};
  }

  std::optional<Finding> Stopped() {
    if (evidence_.interrupted) {
      return Finding{VerdictKind::kInterrupted, {"stopped before a verdict was reached"}};
    }
    if (!evidence_.infra_error.empty()) {
      return Finding{VerdictKind::kInfraFail, {Printable(evidence_.infra_error)}};
    }
    if (!evidence_.environment_differences.empty()) {
      return Finding{VerdictKind::kInfraFail, Prefixed("environment differs from the baseline's",
                                                       evidence_.environment_differences)};
    }
    return std::nullopt;
  }

  // What Pawl wrote itself; if it cannot be read, the idea has nothing to do with it.
  std::optional<Finding> Records() {
    const auto level = os::ParseLevel(evidence_.isolation);
    const auto declared = ParseClass(evidence_.declared_class);
    const auto judged = ParseClass(evidence_.judged_class);
    Result<Rules> rules = RulesFrom(evidence_.rules);
    if (!rules.ok()) return Infra(rules.error().message);
    if (!level) return Infra("unknown isolation level " + PrintableLine(evidence_.isolation));
    if (!declared || !judged) return Infra("unknown change class in the record");
    if (evidence_.protocol != "files" && evidence_.protocol != "wall") {
      return Infra("unknown protocol " + PrintableLine(evidence_.protocol));
    }
    rules_ = *std::move(rules);
    level_ = *level;
    class_ = std::max(*declared, *judged);
    verdict_.trust = TrustOf(evidence_, level_);
    // L0 under the default minimum is the user's to allow (Isolation, below).
    const os::IsolationLevel floor = rules_.config.sandbox.min_level;
    const bool by_flag = level_ == os::IsolationLevel::kL0 && floor == os::IsolationLevel::kL1;
    if (level_ < floor && !by_flag) {
      return Infra(Format("ran at isolation level {}, sandbox.min_level is {}",
                          os::LevelName(level_), os::LevelName(floor)));
    }
    if (class_ != *declared) {
      verdict_.warnings.push_back(
          Format("declared {}, judged as {}: {}", ClassName(*declared), ClassName(class_),
                 evidence_.class_signs.empty() ? "no sign recorded"
                                               : Printable(evidence_.class_signs[0])));
    }
    return std::nullopt;
  }

  std::optional<Finding> Intake() { return JudgeIntake(evidence_); }

  std::optional<Finding> Stages() {
    for (const StageEvidence& stage : evidence_.stages) {
      if (auto finding = JudgeStage(stage, wall())) return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> Integrity() {
    if (evidence_.integrity.empty()) return std::nullopt;
    return Finding{VerdictKind::kDiscardInvalid, evidence_.integrity};
  }

  // Both gates are computed whatever comes first, so that a verdict shows all that is known.
  std::optional<Finding> Gates() {
    MetricFile baseline_perf = ReadPerf(evidence_.baseline_perf);
    MetricFile incumbent_perf = ReadPerf(evidence_.incumbent_perf);
    const QualityFile baseline_quality = ReadQuality(evidence_.baseline_quality);
    if (!baseline_perf.problems.empty()) return Infra("baseline: " + baseline_perf.problems[0]);
    if (!incumbent_perf.problems.empty()) return Infra("incumbent: " + incumbent_perf.problems[0]);
    if (!baseline_quality.problems.empty()) {
      return Infra("baseline: " + baseline_quality.problems[0]);
    }
    MetricFile perf = ReadPerf(evidence_.perf);
    const QualityFile quality = ReadQuality(QualityBytes());
    std::vector<std::string> problems = perf.problems;
    problems.insert(problems.end(), quality.problems.begin(), quality.problems.end());
    for (const campaign::QualityMetric& metric : rules_.contract.metrics) {
      const auto found = quality.ill_formed.find(metric.name);
      if (found != quality.ill_formed.end()) problems.push_back(found->second);
    }
    if (!problems.empty()) return Finding{VerdictKind::kDiscardInvalid, problems};

    input_ = {std::move(baseline_perf.json), std::move(incumbent_perf.json), std::move(perf.json)};
    verdict_.peak_vram_mb = Metric(input_.candidate, "peak_vram_mb");
    PerformanceResult performance = JudgePerformance(input_, rules_.config);
    verdict_.best = performance.best;
    verdict_.candidate = performance.candidate;
    verdict_.improvement_pct = performance.improvement_pct;
    verdict_.performance = std::move(performance.gate);
    verdict_.quality = QualityGate(baseline_quality, quality);
    return std::nullopt;
  }

  GateResult QualityGate(const QualityFile& baseline, const QualityFile& quality) const {
    const bool quantised = class_ == ChangeClass::kQuantization;
    GateResult gate = JudgeQuality(baseline, quality, rules_.contract, quantised);
    if (quantised && !rules_.config.quantization.enabled_for_research) {
      gate.reasons.insert(gate.reasons.begin(), "quantization research is disabled by config");
    }
    // The exit code counts beside quality.json, too, whatever the contract lists.
    const std::string exit_reason = "new critical case failure: exit";
    if (wall() && !EvaluatorAgreed() && baseline.Case("exit") != false &&
        std::ranges::find(gate.reasons, exit_reason) == gate.reasons.end()) {
      gate.reasons.push_back(exit_reason);
    }
    gate.passed = gate.reasons.empty();
    return gate;
  }

  // Values that no honest program can have, where the verdict depends on them.
  std::optional<Finding> Values() {
    if (!verdict_.best) return Infra("incumbent: " + verdict_.performance->reasons[0]);
    if (!verdict_.candidate) {
      return Finding{VerdictKind::kDiscardInvalid, {verdict_.performance->reasons[0]}};
    }
    std::vector<std::string> judged = {rules_.config.objective.metric};
    for (const auto& guardrail : rules_.config.guardrails) judged.push_back(guardrail.metric);
    std::vector<std::string> problems;
    for (const std::string& metric : judged) {
      const auto value = Metric(input_.candidate, metric);
      const auto original = Metric(input_.baseline, metric);
      if (!IsTimeOrSize(metric) || !value || *value > 0 || (original && *original <= 0)) continue;
      problems.push_back(Format("perf.json: {} must be above 0, found {}", PrintableLine(metric),
                                FormatG(*value)));
    }
    if (problems.empty()) return std::nullopt;
    return Finding{VerdictKind::kDiscardInvalid, std::move(problems)};
  }

  std::optional<Finding> Refusal() {
    if (!verdict_.quality->passed) {
      return Finding{VerdictKind::kDiscardQuality, verdict_.quality->reasons};
    }
    if (!verdict_.performance->passed) {
      return Finding{VerdictKind::kDiscardPerformance, verdict_.performance->reasons};
    }
    return std::nullopt;
  }

  std::optional<Finding> OutsideTime() {
    const campaign::OutsideClock mode = rules_.config.outside_clock;
    if (wall() || mode == campaign::OutsideClock::kOff) return std::nullopt;
    ClockFinding found =
        CheckOutsideClock(input_, rules_.config.objective,
                          {evidence_.incumbent_outside_wall_s, evidence_.candidate_outside_wall_s});
    for (std::string& note : found.notes) verdict_.warnings.push_back(std::move(note));
    if (found.contradictions.empty()) return std::nullopt;
    if (mode == campaign::OutsideClock::kRefuse) {
      return Finding{VerdictKind::kDiscardInvalid, std::move(found.contradictions)};
    }
    for (std::string& line : found.contradictions) verdict_.warnings.push_back(std::move(line));
    return std::nullopt;
  }

  std::optional<Finding> Isolation() {
    if (level_ != os::IsolationLevel::kL0 || evidence_.trust_candidate) return std::nullopt;
    return Finding{VerdictKind::kDiscardInvalid,
                   {"ran without isolation (L0), where a candidate can write any result: a keep "
                    "needs --trust-candidate"}};
  }

  static std::optional<Finding> Infra(std::string reason) {
    return Finding{VerdictKind::kInfraFail, {std::move(reason)}};
  }

  std::string Improvement() const {
    return Format("{}: best={} candidate={} improvement={:.3f}%",
                  PrintableLine(rules_.config.objective.metric), FormatG(*verdict_.best),
                  FormatG(*verdict_.candidate), verdict_.improvement_pct.value_or(0));
  }

  bool wall() const { return evidence_.protocol == "wall"; }

  bool EvaluatorAgreed() const {
    return std::ranges::all_of(evidence_.stages, [](const StageEvidence& stage) {
      return stage.stage != "quality" || stage.exit_code == 0;
    });
  }

  std::string QualityBytes() const {
    const bool judged = std::ranges::any_of(
        evidence_.stages, [](const StageEvidence& stage) { return stage.stage == "quality"; });
    if (wall() && judged && evidence_.quality.empty()) return ExitQuality(EvaluatorAgreed());
    return evidence_.quality;
  }

  const Evidence& evidence_;
  Verdict verdict_;
  Rules rules_;
  os::IsolationLevel level_ = os::IsolationLevel::kL0;
  ChangeClass class_ = ChangeClass::kQuantization;
  PerformanceInput input_;
};

}  // namespace

Json Verdict::ToJson() const {
  return JsonObject{
      {"verdict", campaign::VerdictName(kind)}, {"trust", campaign::TrustName(trust)},
      {"reasons", Json::Strings(reasons)},      {"quality", Optional(quality)},
      {"performance", Optional(performance)},   {"best", Optional(best)},
      {"candidate", Optional(candidate)},       {"improvement_pct", Optional(improvement_pct)},
      {"peak_vram_mb", Optional(peak_vram_mb)}, {"warnings", Json::Strings(warnings)}};
}

Verdict Judge(const Evidence& evidence) {
  return Case(evidence).Decide();
}

}  // namespace pawl::judge
