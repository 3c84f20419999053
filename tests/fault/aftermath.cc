#include "fault/aftermath.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"

namespace pawl::fault {

namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

// Number and outcome of every verdict that a call printed.
std::vector<std::string> PrintedVerdicts(const Outcome& outcome) {
  std::vector<std::string> printed;
  const auto add = [&](const Json& document) {
    const Json* verdict = document.Find("verdict");
    if (verdict == nullptr) return;
    printed.push_back(Format("{} {}", document.IntAt("experiment"), verdict->StringAt("verdict")));
  };
  add(outcome.json);
  if (const Json* items = outcome.json.Find("items"); items != nullptr && items->AsArray()) {
    for (const Json& item : *items->AsArray()) add(item);
  }
  return printed;
}

AssertionResult Acknowledged(Campaign& campaign, Step step, const Outcome& faulted,
                             const Standing& now) {
  const bool says_done = faulted.exit_code == 0 &&
                         (step == Step::kInit || step == Step::kBaseline || step == Step::kUndo);
  if (says_done && now.lane != campaign.Expected(step).lane) {
    return AssertionFailure() << "was acknowledged, but is not on record: " << now.lane;
  }
  for (const std::string& printed : PrintedVerdicts(faulted)) {
    if (std::ranges::find(now.recorded, printed) == now.recorded.end()) {
      return AssertionFailure() << "was acknowledged: " << printed
                                << "\non record: " << Join(now.recorded, ", ");
    }
  }
  return AssertionSuccess();
}

AssertionResult Sound(Campaign& campaign, const char* when) {
  const Outcome verified = campaign.project().Verify();
  if (verified.exit_code == 0) return AssertionSuccess();
  return AssertionFailure() << "verify " << when << ": " << verified.Text();
}

AssertionResult CollectsGarbage(Project& project) {
  const Outcome outcome = project.Pawl({"gc"});
  if (outcome.exit_code == 0) return AssertionSuccess();
  return AssertionFailure() << "gc: " << outcome.Text();
}

// The next start. What was decided before the fault need not be tried again, and is not: the
// experiment that was judged would only be judged once more, and the undo be one step more.
AssertionResult GoesOn(Campaign& campaign, Step step, const Standing& found) {
  const bool experiment = step == Step::kKeep || step == Step::kDiscard;
  const Standing& expected = campaign.Expected(step);
  const bool done = (experiment && found.judged.size() == expected.judged.size()) ||
                    (step == Step::kUndo && found.lane == expected.lane);
  if (done) return CollectsGarbage(campaign.project());
  const Outcome again = campaign.Call(step);
  const bool already =
      again.exit_code == 2 && (again.error().find("baseline already exists") != std::string::npos ||
                               again.error().find("is open on branch") != std::string::npos);
  if (again.exit_code == Campaign::ExitCode(step) || already) return AssertionSuccess();
  return AssertionFailure() << "called again: " << again.Text();
}

AssertionResult NamesWhatWasOpen(Step step, const Standing& found, const Standing& now) {
  if (!now.open.empty()) {
    return AssertionFailure() << "still open: " << Join(now.recorded, ", ");
  }
  for (const std::int64_t id : found.open) {
    if (std::ranges::find(now.extra, Format("{} interrupted", id)) == now.extra.end()) {
      return AssertionFailure() << id
                                << " was open and is not interrupted: " << Join(now.recorded, ", ");
    }
  }
  // A disk that stays full meets both patches of the queue.
  if (now.extra.size() > (step == Step::kQueue ? 2U : 1U)) {
    return AssertionFailure() << "one fault, but: " << Join(now.extra, ", ");
  }
  return AssertionSuccess();
}

AssertionResult StandsAsExpected(Campaign& campaign, Step step) {
  const Standing now = campaign.Now();
  if (now.Text() == campaign.Expected(step).Text()) return AssertionSuccess();
  return AssertionFailure() << "after " << StepName(step) << ":\n"
                            << now.Text() << "instead of:\n"
                            << campaign.Expected(step).Text();
}

AssertionResult WorkIsDone(Campaign& campaign) {
  const os::Path work = campaign.project().state() / "work";
  if (!os::Exists(work) || std::filesystem::is_empty(work)) return AssertionSuccess();
  return AssertionFailure() << "something was left in the work folder";
}

// Half-written files, and packs that had not come in whole, after `gc`.
AssertionResult NothingIsLeft(Campaign& campaign) {
  const auto entries = os::ListTree(campaign.project().state());
  if (!entries.ok()) return AssertionFailure() << entries.error().Text();
  for (const os::TreeEntry& entry : *entries) {
    const std::string name = os::Path(entry.relative).filename().string();
    if (name.starts_with(".put-") || name.starts_with("incoming-") || name.starts_with("tmp_") ||
        name.ends_with(".tmp") || name.ends_with(".lock")) {
      if (entry.relative == "pawl.lock") continue;
      return AssertionFailure() << "left behind: " << entry.relative;
    }
  }
  return AssertionSuccess();
}

constexpr const char* kExports[] = {
    "results.tsv",           "session.json",       "best.json",
    "fixed_hashes.json",     "baseline/perf.json", "baseline/quality.json",
    "baseline/commands.json"};

std::string ExportsText(Project& project) {
  std::string text;
  for (const char* name : kExports) {
    const auto bytes = os::ReadFile(project.state() / name);
    AppendFormat(text, "{}: {}\n", name, bytes.ok() ? *bytes : bytes.error().message);
  }
  return text;
}

AssertionResult ExportsComeBack(Campaign& campaign) {
  Project& project = campaign.project();
  if (AssertionResult done = CollectsGarbage(project); !done) return done;
  const std::string table = project.Read(project.state() / "results.tsv");
  const auto rows = std::ranges::count(table, '\n') - 1;
  const auto recorded = static_cast<std::ptrdiff_t>(campaign.Now().recorded.size());
  if (rows != recorded) {
    return AssertionFailure() << "results.tsv has " << rows << " rows for " << recorded
                              << " experiments";
  }
  const std::string before = ExportsText(project);
  for (const char* name : kExports) std::filesystem::remove(project.state() / name);
  if (AssertionResult done = CollectsGarbage(project); !done) return done;
  const std::string after = ExportsText(project);
  if (after == before) return AssertionSuccess();
  return AssertionFailure() << "exports came back as:\n" << after << "instead of:\n" << before;
}

AssertionResult LaterSteps(Campaign& campaign, Step step) {
  for (const Step next : kSteps) {
    if (next <= step) continue;
    campaign.Prepare(next);
    const Outcome outcome = campaign.Call(next);
    if (outcome.exit_code != Campaign::ExitCode(next)) {
      return AssertionFailure() << StepName(next) << ": " << outcome.Text();
    }
    if (const AssertionResult stands = StandsAsExpected(campaign, next); !stands) return stands;
  }
  return AssertionSuccess();
}

bool Holds(std::string_view text, std::initializer_list<const char*> words) {
  return std::ranges::any_of(
      words, [&](const char* word) { return text.find(word) != std::string_view::npos; });
}

// Whether code and words are those of the injected error.
bool Fits(int error, std::string_view code, std::string_view words) {
  // SQLite tries to open in other ways before it gives up, and the first reason is lost.
  if (Holds(words, {"unable to open database file", "readonly database"})) return true;
  // Git does not always say why.
  if (Holds(words, {"unable to write new index file"})) return true;
  switch (error) {
    case 0:  // something that pawl needs was killed
      return (code.empty() || code == "io") &&
             Holds(words, {"killed by signal 9", "ended before it had answered"});
    case ENOSPC:
      return (code.empty() || code == "resource-exhausted") &&
             Holds(words, {"No space left", "Out of diskspace", "database or disk is full"});
    case EINTR:
      return (code.empty() || code == "io") && Holds(words, {"Interrupted", "disk I/O"});
    default:
      return (code.empty() || code == "io") && Holds(words, {"Input/output", "disk I/O"});
  }
}

}  // namespace

AssertionResult Survives(Campaign& campaign, Step step, const Outcome& faulted, bool to_the_end) {
  const Standing found = campaign.Now();
  if (AssertionResult held = Acknowledged(campaign, step, faulted, found); !held) return held;
  if (step != Step::kInit) {
    if (AssertionResult sound = Sound(campaign, "at once"); !sound) return sound;
  }
  if (AssertionResult on = GoesOn(campaign, step, found); !on) return on;
  if (AssertionResult stands = StandsAsExpected(campaign, step); !stands) return stands;
  if (AssertionResult named = NamesWhatWasOpen(step, found, campaign.Now()); !named) return named;
  if (AssertionResult done = WorkIsDone(campaign); !done) return done;
  if (to_the_end) {
    if (AssertionResult later = LaterSteps(campaign, step); !later) return later;
  }
  if (AssertionResult back = ExportsComeBack(campaign); !back) return back;
  if (AssertionResult none = NothingIsLeft(campaign); !none) return none;
  return Sound(campaign, "at the end");
}

AssertionResult SaysWhatFailed(Step step, const Outcome& faulted, int error) {
  const int well = Campaign::ExitCode(step);
  const std::string& verdict = faulted.verdict();
  if (faulted.exit_code == well) {
    if (step != Step::kDiscard) return AssertionSuccess();
    if (verdict == "discard-performance") return AssertionSuccess();
  }
  if (faulted.exit_code == 3 && verdict == "infra-fail") {
    if (Fits(error, "", faulted.reasons())) return AssertionSuccess();
  } else if (faulted.exit_code == 2) {
    const Json* said = faulted.json.Find("error");
    // Where standard output itself failed there is nobody to tell but the exit code.
    if (said == nullptr && faulted.out.empty()) return AssertionSuccess();
    if (said != nullptr && Fits(error, said->StringAt("code"), faulted.error())) {
      return AssertionSuccess();
    }
  }
  return AssertionFailure() << "is not said for what it is: " << faulted.Text();
}

}  // namespace pawl::fault
