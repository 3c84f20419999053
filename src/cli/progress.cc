#include "cli/progress.h"

#include "base/text.h"
#include "cli/verdict_text.h"

namespace pawl::cli {

void Progress::OnExperiment(std::int64_t id, std::string_view commit,
                            std::string_view description) {
  headline_ = Format("#{} {} {}", id, commit.substr(0, 7), PrintableLine(description, 60));
  spent_s_.clear();
  context_.err.Live(headline_ + " ...");
}

void Progress::OnStageStart(std::string_view stage, int index, int count) {
  const std::string which =
      count > 1 ? Format("{} {}/{}", stage, index + 1, count) : std::string(stage);
  context_.err.Live(Format("{}  {}", headline_, context_.err.Paint(Tone::kDim, which)));
}

void Progress::OnStageEnd(std::string_view stage, std::string_view /*how*/, double wall_s) {
  spent_s_[std::string(stage)] += wall_s;
}

void Progress::OnVerdict(std::int64_t /*id*/, const judge::Verdict& verdict) {
  context_.err.ClearLive();
  std::string times;
  for (const auto& [stage, seconds] : spent_s_) {
    AppendFormat(times, "{}{} {}", times.empty() ? "" : ", ", stage, FormatSeconds(seconds));
  }
  if (context_.json) return;
  const bool keep = verdict.kind == campaign::VerdictKind::kKeep;
  context_.err.Line(Format(
      "{}  {}  {}",
      context_.err.Paint(keep ? Tone::kGood : Tone::kWarn, campaign::VerdictName(verdict.kind)),
      headline_, context_.err.Paint(Tone::kDim, times)));
}

void Progress::OnNote(std::string_view text) {
  if (!context_.json) context_.err.Line("note: " + PrintableLine(text, 600));
}

}  // namespace pawl::cli
