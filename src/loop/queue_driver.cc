#include "loop/queue_driver.h"

#include <map>

#include "base/text.h"
#include "os/process.h"

namespace pawl::loop {

using campaign::VerdictKind;

namespace {

std::string ProposerOf(const propose::PatchFile& patch) {
  return "queue:" + patch.sha256.substr(0, 16);
}

// Judged for good; what was interrupted or failed through no fault of the idea gets its turn.
bool IsFinal(std::string_view status) {
  const auto kind = campaign::ParseVerdict(status);
  return kind && *kind != VerdictKind::kInterrupted && *kind != VerdictKind::kInfraFail;
}

Result<std::map<std::string, std::int64_t>> JudgedBefore(Engine& engine) {
  PAWL_ASSIGN(const auto rows, engine.Experiments());
  std::map<std::string, std::int64_t> judged;
  for (const campaign::ExperimentRow& row : rows) {
    if (IsFinal(row.status)) judged[row.proposer] = row.id;
  }
  return judged;
}

ExperimentRequest RequestFor(const propose::PatchFile& patch) {
  ExperimentRequest request;
  request.patch = patch.diff;
  request.description = patch.hypothesis;
  request.classification = patch.classification;
  request.source = patch.source;
  request.expects = patch.expects;
  request.track = patch.track;
  request.proposer = ProposerOf(patch);
  return request;
}

}  // namespace

Result<QueueReport> DriveQueue(Engine& engine, const os::Path& folder) {
  PAWL_ASSIGN(std::vector<propose::PatchFile> patches, propose::ReadQueue(folder));
  PAWL_ASSIGN(const auto judged, JudgedBefore(engine));
  QueueReport report;
  for (propose::PatchFile& patch : patches) {
    if (os::StopRequested()) {
      report.stopped = true;
      return report;
    }
    QueueItem item;
    const auto before = judged.find(ProposerOf(patch));
    if (before != judged.end()) {
      item.skipped = true;
      item.experiment = before->second;
      PAWL_ASSIGN(item.verdict, engine.VerdictOf(item.experiment));
    } else {
      PAWL_ASSIGN(ExperimentReport done, engine.Experiment(RequestFor(patch)));
      item.experiment = done.id;
      item.verdict = std::move(done.verdict);
      report.stopped = item.verdict.kind == VerdictKind::kInterrupted;
    }
    item.patch = std::move(patch);
    report.items.push_back(std::move(item));
    if (report.stopped) return report;
  }
  return report;
}

}  // namespace pawl::loop
