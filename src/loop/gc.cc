#include <algorithm>
#include <set>

#include "loop/leftovers.h"
#include "loop/setup_result.h"
#include "loop/verbs.h"

namespace pawl::loop {

using os::Path;

namespace {

std::uint64_t SizeOf(const Path& path) {
  const auto entries = os::ListTree(path);
  std::uint64_t bytes = 0;
  if (!entries.ok()) return bytes;
  for (const os::TreeEntry& entry : *entries) bytes += entry.size_bytes;
  return bytes;
}

// Removes the folders of `parent` that `wanted` does not name.
Status Prune(const Path& parent, const std::set<Path>& wanted, GcReport& report) {
  if (!os::Exists(parent)) return OkStatus();
  std::error_code error;
  std::vector<Path> doomed;
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end;
       at.increment(error)) {
    if (!wanted.contains(at->path())) doomed.push_back(at->path());
  }
  if (error) return SystemError(parent.string(), error.value());
  for (const Path& path : doomed) {
    report.bytes_freed += SizeOf(path);
    PAWL_TRY(os::RemoveTree(path));
    ++report.folders_removed;
  }
  return OkStatus();
}

// Run folders are named by experiments and baselines; what no record names was left by a process
// that died before it could admit anything.
Result<std::set<Path>> NamedRunFolders(const Writer& writer) {
  std::set<Path> named;
  PAWL_ASSIGN(const auto experiments, writer.journal.Experiments({}));
  for (const campaign::ExperimentRow& row : experiments) named.insert(row.run_dir);
  PAWL_TRY(writer.journal.ledger().ForEach(
      {.kind = "baseline-recorded"}, [&](const store::Event& event) {
        named.insert(event.body.StringAt("run_dir"));
        if (const Json* incumbent = event.body.Find("incumbent")) {
          named.insert(incumbent->StringAt("run_dir"));
        }
        return OkStatus();
      }));
  return named;
}

Status PruneArtifacts(Writer& writer, GcReport& report) {
  PAWL_ASSIGN(const std::vector<Sha256> referenced, writer.journal.ReferencedArtifacts());
  PAWL_ASSIGN(const std::vector<Sha256> stored, writer.journal.artifacts().List());
  std::vector<Sha256> orphans;
  std::ranges::set_difference(stored, referenced, std::back_inserter(orphans));
  for (const Sha256& hash : orphans) {
    std::error_code error;
    const std::uintmax_t size =
        std::filesystem::file_size(writer.journal.artifacts().PathOf(hash), error);
    PAWL_TRY(writer.journal.artifacts().Remove(hash));
    if (!error) report.bytes_freed += size;
    ++report.artifacts_removed;
  }
  return OkStatus();
}

}  // namespace

Result<GcReport> Gc(Session& session, Writer& writer) {
  GcReport report;
  const StateFolder& state = session.state();
  std::set<Path> campaigns;
  std::set<Path> builds;
  std::set<Path> harnesses;
  bool any_open = false;
  PAWL_ASSIGN(const auto rows, writer.journal.Campaigns());
  for (const campaign::CampaignRow& row : rows) {
    if (row.state == "closed") continue;
    any_open = true;
    const Path build = state.IncumbentBuild(row.id, {row.incumbent_commit});
    campaigns.insert(build.parent_path());
    builds.insert(build);
    harnesses.insert(state.harness() / row.opened.StringAt("lock_sha256"));
  }
  PAWL_TRY(Prune(state.incumbents(), campaigns, report));
  for (const Path& folder : campaigns) PAWL_TRY(Prune(folder, builds, report));
  PAWL_TRY(Prune(state.harness(), harnesses, report));
  PAWL_TRY(Prune(state.work(), {}, report));
  // Setup results are dear and shared between lanes: they go when no lane is left to use them.
  if (!any_open) PAWL_TRY(Prune(state.setup(), {}, report));
  PAWL_ASSIGN(const std::set<Path> runs, NamedRunFolders(writer));
  PAWL_TRY(Prune(state.runs(), runs, report));
  PAWL_TRY(EndHalfStarted());
  PAWL_TRY(RemoveHalfWrittenRest(state));
  PAWL_TRY(PruneArtifacts(writer, report));
  return report;
}

}  // namespace pawl::loop
