#include "cli/verdict_text.h"

#include "base/text.h"

namespace pawl::cli {

using campaign::VerdictKind;

namespace {

std::string UpperName(VerdictKind kind) {
  std::string name(campaign::VerdictName(kind));
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

void AppendGate(std::vector<std::string>& lines, std::string_view name,
                const std::optional<judge::GateResult>& gate) {
  if (!gate) return;
  lines.push_back(Format("{}: {}", name, gate->passed ? "PASS" : "FAIL"));
  for (const std::string& reason : gate->reasons)
    lines.push_back("  - " + PrintableLine(reason, 600));
}

}  // namespace

std::string VerdictHeadline(const judge::Verdict& verdict) {
  const std::string reasons = PrintableLine(Join(verdict.reasons, "; "), 1000);
  switch (verdict.kind) {
    case VerdictKind::kKeep:
    case VerdictKind::kDiscardPerformance:
    case VerdictKind::kDiscardQuality:
      return UpperName(verdict.kind);
    case VerdictKind::kDiscardScope:
      return "DISCARD: candidate changed out-of-scope paths: " + reasons;
    case VerdictKind::kDiscardHarness:
      return "DISCARD: fixed evaluation/benchmark harness was modified: " + reasons;
    case VerdictKind::kDiscardInvalid:
    case VerdictKind::kCrash:
    case VerdictKind::kTimeout:
    case VerdictKind::kOutOfMemory:
    case VerdictKind::kInterrupted:
    case VerdictKind::kInfraFail:
      break;
  }
  return Format("{}: {}", UpperName(verdict.kind), reasons);
}

std::vector<std::string> VerdictLines(const judge::Verdict& verdict, const std::string& metric) {
  std::vector<std::string> lines = {VerdictHeadline(verdict)};
  AppendGate(lines, "quality", verdict.quality);
  AppendGate(lines, "performance", verdict.performance);
  if (verdict.best && verdict.candidate) {
    lines.push_back(Format("objective: {}: best={} candidate={} improvement={:.3f}%", metric,
                           FormatG(*verdict.best), FormatG(*verdict.candidate),
                           verdict.improvement_pct.value_or(0)));
  }
  lines.push_back(Format("trust: {}", campaign::TrustName(verdict.trust)));
  for (const std::string& warning : verdict.warnings) {
    lines.push_back("warning: " + PrintableLine(warning, 600));
  }
  return lines;
}

std::string VerdictReason(const judge::Verdict& verdict, const std::string& metric) {
  const auto objective = [&](std::string_view words) {
    return Format("{} {} -> {} ({:+.1f} %{})", metric, FormatG(*verdict.best),
                  FormatG(*verdict.candidate), -verdict.improvement_pct.value_or(0), words);
  };
  const bool compared = verdict.best && verdict.candidate;
  if (compared && verdict.kind == VerdictKind::kKeep) return objective("");
  if (compared && verdict.kind == VerdictKind::kDiscardPerformance && verdict.performance) {
    const Json* gate = verdict.performance->details.Find("objective");
    if (gate != nullptr && !gate->BoolAt("pass", true)) return objective(": too little");
  }
  return verdict.reasons.empty() ? std::string() : PrintableLine(verdict.reasons.front(), 300);
}

}  // namespace pawl::cli
