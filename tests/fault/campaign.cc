#include "fault/campaign.h"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "os/process.h"

namespace pawl::fault {

namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

// The branch stays clean of the candidates that were not kept.
constexpr std::string_view kNotKept = "ops=20\n";

test::ProjectOptions SmallOptions() {
  test::ProjectOptions options;
  options.level = "L3";
  return options;
}

os::ScratchFolder Scratch() {
  auto made = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-fault");
  if (!made.ok()) throw std::runtime_error(made.error().Text());
  return *std::move(made);
}

void CopyTree(const os::Path& from, const os::Path& to) {
  std::error_code failed;
  std::filesystem::remove_all(to, failed);
  os::ToolCall call;
  call.argv = {"cp", "-a", "--reflink=auto", from.string(), to.string()};
  call.env = os::BasicEnvironment();
  const auto copied = os::RunToolOrError(call);
  if (!copied.ok()) throw std::runtime_error(copied.error().Text());
}

std::string PatchText(std::string_view subject, std::string_view added) {
  return Format(
      "{}\nClass: exact\n\ndiff --git a/src/program.sh b/src/program.sh\n--- a/src/program.sh\n"
      "+++ b/src/program.sh\n@@ -1,3 +1,4 @@\n ops=9\n+{}\n memory_mb=100\n"
      " work() {{ echo $(( $1 * $2 )); }}\n",
      subject, added);
}

std::vector<std::string> Words(Step step, const os::Path& queue) {
  switch (step) {
    case Step::kInit:
      return {"init"};
    case Step::kBaseline:
      return {"baseline"};
    case Step::kKeep:
      return {"experiment", "--description", "nine"};
    case Step::kDiscard:
      return {"experiment", "--description", "twenty"};
    case Step::kQueue:
      return {"queue", queue.string()};
  }
  return {};
}

// Idea and outcome of every verdict that a call printed.
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

bool OnTheIdea(std::string_view status) {
  return status != "interrupted" && status != "infra-fail";
}

std::string Number(const Json& document, std::string_view key) {
  const Json* value = document.Find(key);
  return value == nullptr ? std::string("none") : value->Canonical();
}

}  // namespace

const char* StepName(Step step) {
  constexpr const char* kNames[] = {"init", "baseline", "keep", "discard", "queue"};
  return kNames[static_cast<std::size_t>(step)];
}

std::string Standing::Text() const {
  return Format("{}\n{}\nincumbent tree {}\nbranch tree {}\n", lane, Join(judged, "\n"),
                incumbent_tree, branch_tree);
}

Campaign::Campaign()
    : project_(SmallOptions()), copies_(Scratch()), strace_(copies_.path() / "trace") {
  project_.Write(project_.home() / "queue/1.patch", PatchText("eight", "ops=8"));
  project_.Write(project_.home() / "queue/2.patch", PatchText("thirty", "ops=30"));
  for (int number = 0; number < kSteps; ++number) {
    const Step step{static_cast<std::uint8_t>(number)};
    Prepare(step);
    CopyTree(project_.root(), Copy(step));
    const Outcome outcome = Call(step, strace_.Watching());
    if (step == Step::kBaseline && outcome.error().find("min_level") != std::string::npos) return;
    const int expected = step == Step::kDiscard ? 3 : 0;
    if (outcome.exit_code != expected) {
      throw std::runtime_error(Format("{}: {}", StepName(step), outcome.Text()));
    }
    expected_.push_back(Now());
    counts_.push_back(strace_.Counts());
  }
  ok_ = true;
}

os::Path Campaign::Copy(Step step) const {
  return copies_.path() / StepName(step);
}

void Campaign::SetBack(Step step) {
  CopyTree(Copy(step), project_.root());
}

void Campaign::Prepare(Step step) {
  if (step == Step::kInit || step == Step::kBaseline) return;
  const Outcome status = project_.Pawl({"status"});
  const Json* lanes = status.json.Find("lanes");
  if (lanes == nullptr || lanes->AsArray() == nullptr || lanes->AsArray()->empty()) {
    throw std::runtime_error("status: " + status.Text());
  }
  project_.Git({"reset", "--quiet", "--hard", (*lanes->AsArray())[0].StringAt("incumbent_commit")});
  if (step == Step::kQueue) return;
  const std::string program = project_.Read("src/program.sh");
  if (step == Step::kKeep) {
    project_.Write("src/program.sh", "ops=9\n" + program.substr(program.find('\n') + 1));
  } else {
    project_.Write("src/program.sh", program + std::string(kNotKept));
  }
  project_.Commit();
}

Outcome Campaign::Call(Step step, const std::vector<std::string>& wrapper) {
  return project_.PawlUnder(wrapper, Words(step, project_.home() / "queue"));
}

Standing Campaign::Now() {
  Standing standing;
  const Outcome status = project_.Pawl({"status"});
  const Outcome summary = project_.Pawl({"summary"});
  const Json* lanes = status.json.Find("lanes");
  if (lanes == nullptr || lanes->AsArray() == nullptr || lanes->AsArray()->size() != 1) {
    standing.lane = "no campaign: " + status.error();
    return standing;
  }
  const Json& lane = (*lanes->AsArray())[0];
  standing.lane =
      Format("{} from {} to {}, {} keeps", lane.StringAt("state"), Number(lane, "baseline_value"),
             Number(lane, "incumbent_value"), Number(lane, "keeps"));
  const std::string incumbent = lane.StringAt("incumbent_commit");
  // An incumbent that came from a queue is in Pawl's own repository at first.
  const std::string vault = (project_.state() / "vault.git").string();
  if (!incumbent.empty()) {
    standing.incumbent_tree =
        project_.Git({"--git-dir", vault, "rev-parse", incumbent + "^{tree}"});
  }
  standing.branch_tree = project_.Git({"rev-parse", "refs/heads/autoresearch/test^{tree}"});
  const Json* rows = summary.json.Find("experiments");
  if (rows == nullptr || rows->AsArray() == nullptr) return standing;
  for (const Json& row : *rows->AsArray()) {
    const std::string status_text = row.StringAt("status");
    if (OnTheIdea(status_text) && status_text != "open") {
      standing.judged.push_back(
          Format("{} {} {}", row.StringAt("description"), status_text, Number(row, "candidate")));
    } else {
      standing.extra.push_back(Format("{} {}", row.IntAt("experiment"), status_text));
    }
  }
  return standing;
}

std::vector<Point> Campaign::Points(Step step, const std::vector<std::string>& calls) const {
  std::vector<Point> points;
  for (const auto& [call, count] : counts_[static_cast<std::size_t>(step)]) {
    if (std::find(calls.begin(), calls.end(), call) == calls.end()) continue;
    for (int at = 1; at <= count; ++at) points.push_back({call, at});
  }
  return points;
}

AssertionResult Campaign::Acknowledged(Step step, const Outcome& faulted, const Standing& now) {
  if ((step == Step::kInit || step == Step::kBaseline) && faulted.exit_code == 0 &&
      now.lane != Expected(step).lane) {
    return AssertionFailure() << "was acknowledged, but is not on record: " << now.lane;
  }
  const Outcome summary = project_.Pawl({"summary"});
  std::string recorded;
  if (const Json* rows = summary.json.Find("experiments"); rows != nullptr && rows->AsArray()) {
    for (const Json& row : *rows->AsArray()) {
      AppendFormat(recorded, "{} {}\n", row.IntAt("experiment"), row.StringAt("status"));
    }
  }
  for (const std::string& printed : PrintedVerdicts(faulted)) {
    if (recorded.find(printed + "\n") == std::string::npos) {
      return AssertionFailure() << "was acknowledged: " << printed << "\non record: " << recorded;
    }
  }
  return AssertionSuccess();
}

// The next start. What was decided before the fault need not be tried again, and is not: the
// experiment that was judged would only be judged once more.
AssertionResult Campaign::GoesOn(Step step, const Standing& now) {
  const bool experiment = step == Step::kKeep || step == Step::kDiscard;
  if (experiment && now.judged.size() == Expected(step).judged.size()) {
    const Outcome next = project_.Pawl({"gc"});
    if (next.exit_code == 0) return AssertionSuccess();
    return AssertionFailure() << "gc: " << next.Text();
  }
  const Outcome again = Call(step);
  const bool already =
      again.exit_code == 2 && (again.error().find("baseline already exists") != std::string::npos ||
                               again.error().find("is open on branch") != std::string::npos);
  const int expected = step == Step::kDiscard ? 3 : 0;
  if (again.exit_code == expected || already) return AssertionSuccess();
  return AssertionFailure() << "called again: " << again.Text();
}

AssertionResult Campaign::Survives(Step step, const Outcome& faulted, bool to_the_end) {
  const Standing found = Now();
  if (const AssertionResult held = Acknowledged(step, faulted, found); !held) return held;
  if (step != Step::kInit) {
    const Outcome sound = project_.Verify();
    if (sound.exit_code != 0) return AssertionFailure() << "verify at once: " << sound.Text();
  }
  if (const AssertionResult on = GoesOn(step, found); !on) return on;

  for (int number = static_cast<int>(step);; ++number) {
    const Step at{static_cast<std::uint8_t>(number)};
    const Standing now = Now();
    if (now.Text() != Expected(at).Text()) {
      return AssertionFailure() << "after " << StepName(at) << ":\n"
                                << now.Text() << "instead of:\n"
                                << Expected(at).Text();
    }
    for (const std::string& extra : now.extra) {
      if (extra.ends_with("open")) return AssertionFailure() << "still open: " << extra;
    }
    if (now.extra.size() > 1) {
      return AssertionFailure() << "one fault, but: " << Join(now.extra, ", ");
    }
    if (!to_the_end || number + 1 == kSteps) break;
    const Step next{static_cast<std::uint8_t>(number + 1)};
    Prepare(next);
    const Outcome outcome = Call(next);
    if (outcome.exit_code != (next == Step::kDiscard ? 3 : 0)) {
      return AssertionFailure() << StepName(next) << ": " << outcome.Text();
    }
  }
  const Outcome sound = project_.Verify();
  if (sound.exit_code != 0) return AssertionFailure() << "verify at the end: " << sound.Text();
  if (os::Exists(project_.state() / "work") &&
      !std::filesystem::is_empty(project_.state() / "work")) {
    return AssertionFailure() << "something was left in the work folder";
  }
  return AssertionSuccess();
}

Campaign& SharedCampaign() {
  static Campaign campaign;
  return campaign;
}

std::vector<Point> Sample(const std::vector<Point>& points, std::size_t count, unsigned seed) {
  const char* all = std::getenv("PAWL_TEST_ALL");
  if ((all != nullptr && std::string_view(all) == "1") || points.size() <= count) return points;
  std::mt19937 random(seed);
  const std::size_t stride = points.size() / count;
  std::vector<Point> sample;
  for (std::size_t at = random() % stride; at < points.size(); at += stride) {
    sample.push_back(points[at]);
  }
  return sample;
}

}  // namespace pawl::fault
