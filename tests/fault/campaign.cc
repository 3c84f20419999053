#include "fault/campaign.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/text.h"
#include "campaign/journal.h"
#include "os/process.h"

namespace pawl::fault {

namespace {

// The branch stays clean of the candidates that were not kept.
constexpr std::string_view kNotKept = "ops=20\n";

test::ProjectOptions SmallOptions() {
  test::ProjectOptions options;
  options.level = "L3";
  return options;
}

template <class T>
T Require(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().Text());
  return *std::move(result);
}

void CopyTree(const os::Path& from, const os::Path& to) {
  const Status removed = os::RemoveTree(to);
  if (!removed.ok()) throw std::runtime_error(removed.error().Text());
  os::ToolCall call;
  call.argv = {"cp", "-a", "--reflink=auto", from.string(), to.string()};
  call.env = os::BasicEnvironment();
  Require(os::RunToolOrError(call));
}

// Each goes on the incumbent with or without the other.
constexpr std::string_view kEight =
    "eight\nClass: exact\n\ndiff --git a/src/program.sh b/src/program.sh\n--- a/src/program.sh\n"
    "+++ b/src/program.sh\n@@ -1,2 +1,3 @@\n ops=9\n+ops=8\n memory_mb=100\n";
constexpr std::string_view kThirty =
    "thirty\nClass: exact\n\ndiff --git a/src/program.sh b/src/program.sh\n--- a/src/program.sh\n"
    "+++ b/src/program.sh\n@@ -2,2 +2,3 @@\n memory_mb=100\n"
    " work() { echo $(( $1 * $2 )); }\n+ops=30\n";

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
    case Step::kUndo:
      return {"undo"};
  }
  return {};
}

bool OnTheIdea(std::string_view status) {
  return status != "interrupted" && status != "infra-fail" && status != "open";
}

}  // namespace

const char* StepName(Step step) {
  constexpr const char* kNames[] = {"init", "baseline", "keep", "discard", "queue", "undo"};
  return kNames[static_cast<std::size_t>(step)];
}

std::string Standing::Text() const {
  return Format("{}\n{}\nincumbent tree {}\nbranch tree {}\n", lane, Join(judged, "\n"),
                incumbent_tree, branch_tree);
}

Campaign::Campaign(Step last)
    : project_(SmallOptions()),
      copies_(
          Require(os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-fault"))),
      injector_(copies_.path() / "report") {
  project_.Write(project_.home() / "queue/1.patch", kEight);
  project_.Write(project_.home() / "queue/2.patch", kThirty);
  for (const Step step : kSteps) {
    if (step > last) break;
    Prepare(step);
    CopyTree(project_.root(), Copy(step));
    const Outcome outcome = Call(step, injector_.Watching());
    if (step == Step::kBaseline && outcome.error().find("min_level") != std::string::npos) return;
    if (outcome.exit_code != ExitCode(step)) {
      throw std::runtime_error(Format("{}: {}", StepName(step), outcome.Text()));
    }
    expected_.push_back(Now());
    points_.push_back(injector_.Last().points);
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
  if (step != Step::kKeep && step != Step::kDiscard) return;
  const auto journal = Require(campaign::Journal::OpenReader(project_.state()));
  const auto campaigns = Require(journal.Campaigns());
  project_.Git({"reset", "--quiet", "--hard", campaigns.at(0).incumbent_commit});
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
  standing.branch_tree = project_.Git({"rev-parse", "refs/heads/autoresearch/test^{tree}"});
  const auto journal = campaign::Journal::OpenReader(project_.state());
  if (!journal.ok()) {
    standing.lane = "no campaign: " + journal.error().message;
    return standing;
  }
  const auto campaigns = Require(journal->Campaigns());
  if (campaigns.size() != 1) {
    standing.lane = Format("{} campaigns", campaigns.size());
    return standing;
  }
  const campaign::CampaignRow& lane = campaigns[0];
  standing.lane = Format("{} from {} to {}, {} keeps", lane.state, lane.baseline_value,
                         lane.incumbent_value, lane.keeps);
  // An incumbent that came from a queue is in Pawl's own repository at first.
  const std::string vault = (project_.state() / "vault.git").string();
  if (!lane.incumbent_commit.empty()) {
    standing.incumbent_tree =
        project_.Git({"--git-dir", vault, "rev-parse", lane.incumbent_commit + "^{tree}"});
  }
  for (const campaign::ExperimentRow& row : Require(journal->Experiments({}))) {
    standing.recorded.push_back(Format("{} {}", row.id, row.status));
    if (OnTheIdea(row.status)) {
      standing.judged.push_back(
          Format("{} {} {}", row.description, row.status, row.candidate.value_or(0)));
    } else {
      standing.extra.push_back(standing.recorded.back());
    }
    if (row.status == "open") standing.open.push_back(row.id);
  }
  // A patch that the machine failed gets its turn after the others.
  std::ranges::sort(standing.judged);
  return standing;
}

}  // namespace pawl::fault
