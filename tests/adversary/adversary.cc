#include "adversary/adversary.h"

#include "base/text.h"

namespace pawl::adversary {

namespace {

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

testing::AssertionResult Ended(Project& project, const Outcome& outcome, std::string_view verdict,
                               int exit_code) {
  if (outcome.verdict() != verdict || outcome.exit_code != exit_code) {
    return testing::AssertionFailure() << "expected " << verdict << ", got " << outcome.Text();
  }
  const Outcome record = project.Pawl({"show", Format("{}", outcome.id())});
  if (record.json.StringAt("status") != verdict) {
    return testing::AssertionFailure() << "not recorded as " << verdict << ": " << record.Text();
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult Refused(Project& project, const Outcome& outcome, std::string_view verdict,
                                 std::string_view reason) {
  testing::AssertionResult ended = Ended(project, outcome, verdict, 3);
  if (!ended || outcome.reasons().find(reason) != std::string::npos) return ended;
  return testing::AssertionFailure()
         << "no reason says \"" << reason << "\": " << outcome.reasons();
}

testing::AssertionResult Worthless(Project& project, const Outcome& outcome) {
  return Refused(project, outcome, "discard-performance", "did not improve");
}

testing::AssertionResult Kept(Project& project, const Outcome& outcome, std::string_view trust) {
  testing::AssertionResult ended = Ended(project, outcome, "keep", 0);
  if (!ended || outcome.trust() == trust) return ended;
  return testing::AssertionFailure() << "kept under trust " << outcome.trust();
}

std::string Attempts(const std::vector<std::vector<std::string>>& attempts) {
  std::string text = "if test $stage = perf; then\ntry() { src/attack \"$@\" && ops=1; true; }\n";
  for (const std::vector<std::string>& words : attempts) {
    text += "try";
    for (const std::string& word : words) text += " " + ShellQuote(word);
    text += "\n";
  }
  return text + "fi\n";
}

ProjectOptions WithAttack(ProjectOptions options) {
  options.programs["src/attack"] = "pawl-attack";
  return options;
}

testing::AssertionResult AllRefused(const std::string& log, std::size_t count) {
  if (Count(log, ": refused: ") == count && Count(log, ": reached") == 0) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "expected " << count << " refusals in:\n" << log;
}

}  // namespace pawl::adversary
