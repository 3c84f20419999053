#include "run/stage_view.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "os/process.h"

namespace pawl::run {

using campaign::Config;
using campaign::Protocol;
using campaign::Stage;
using os::Access;
using os::IsolationLevel;
using os::Mount;

namespace {

bool IsBelow(const Path& path, const Path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// The search path of every stage: made from the configuration and the machine alone, so that the
// shell that somebody starts Pawl from makes no difference between two measurements.
std::string SearchPath(const std::vector<Path>& read_folders) {
  std::string path;
  for (const Path& folder : read_folders) {
    if (folder.filename() == "bin") path += folder.string() + ":";
    for (const char* programs : {"shims", "bin"}) {
      if (os::Exists(folder / programs)) path += (folder / programs).string() + ":";
    }
  }
  return path.append(os::kSystemSearchPath);
}

// Collects mounts; below L3 a path is shown where it is.
class Layout {
 public:
  explicit Layout(bool neutral) : neutral_(neutral) {}

  // Returns the path that the command sees.
  Path Show(const Path& host, std::string_view inside, Access access) {
    const Path shown = neutral_ ? Path(inside) : host;
    mounts_.push_back({host, shown, access});
    return shown;
  }
  void ShowInPlace(const Path& host, Access access) { mounts_.push_back({host, host, access}); }
  bool neutral() const { return neutral_; }
  std::vector<Mount> Take() { return std::move(mounts_); }
  void Append(std::vector<Mount> mounts) {
    std::move(mounts.begin(), mounts.end(), std::back_inserter(mounts_));
  }

 private:
  bool neutral_;
  std::vector<Mount> mounts_;
};

Access WritableIf(bool writable) {
  return writable ? Access::kWritable : Access::kReadOnly;
}

// The tree, with the harness read-only over it where the tree can be written.
Path ShowTree(const Config& config, const Workplace& place, const StageRights& rights,
              Layout& layout) {
  const Path& host_tree = rights.judge_side ? place.harness_tree : place.tree;
  const Path tree = layout.Show(host_tree, kInsideTree, WritableIf(rights.tree_writable));
  const Path root = place.prefix.empty() ? tree : tree / place.prefix;
  if (!layout.neutral()) {
    // Links in the tree lead to them.
    for (const Mount& data : place.in_place) layout.ShowInPlace(data.host, Access::kReadOnly);
    return root;
  }
  if (rights.tree_writable) {
    const Path harness_root = place.harness_tree / place.prefix;
    for (const std::string& path : OverlaidPaths(config)) {
      layout.Show(harness_root / path, (root / path).string(), Access::kReadOnly);
    }
  }
  for (const Mount& data : place.in_place) {
    layout.Show(data.host, (root / data.inside).string(), Access::kReadOnly);
  }
  return root;
}

// Inputs or outputs of the present timed run, inside the stage's run folder. Without mounts a link
// leads there: the sandbox looks at where it leads.
Status ShowPart(const Path& host, const Path& host_run_dir, const Path& run, Access access,
                Layout& layout) {
  PAWL_TRY(os::MakeFolders(host));
  const Path place = host_run_dir / host.filename();
  if (!layout.neutral() && place != host && ::symlink(host.c_str(), place.c_str()) != 0) {
    return SystemError(place.string(), errno);
  }
  layout.Show(host, (run / host.filename()).string(), access);
  return OkStatus();
}

Status ShowRunFolder(const Workplace& place, const Path& stage_dir, Layout& layout,
                     StageView& view) {
  const StageRights& rights = view.rights;
  view.host_run_dir = rights.own_run_dir ? stage_dir / "run" : place.run_dir;
  PAWL_TRY(os::MakeFolders(view.host_run_dir));
  const Path run = layout.Show(view.host_run_dir, kInsideRun, Access::kWritable);
  view.shown.run_dir = run.string();
  if (rights.sees_inputs) {
    PAWL_TRY(ShowPart(place.run_dir / "inputs", view.host_run_dir, run,
                      WritableIf(rights.writes_inputs), layout));
  }
  const Path outputs = place.run_dir / "outputs";
  if (rights.sees_outputs && (rights.own_run_dir || os::Exists(outputs))) {
    PAWL_TRY(ShowPart(outputs, view.host_run_dir, run, WritableIf(rights.writes_outputs), layout));
  }
  if (rights.writes_outputs) view.host_outputs = outputs;
  return OkStatus();
}

}  // namespace

StageRights RightsOf(const Config& config, Stage stage) {
  StageRights rights;
  const bool wall = config.protocol == Protocol::kWall;
  rights.tree_writable = config.sandbox.tree_writable || stage == Stage::kBuild;
  rights.knows_seed = !wall;
  rights.own_run_dir = wall;
  switch (stage) {
    case Stage::kSetup:
      rights.tree_writable = false;
      rights.setup_writable = true;
      rights.network = true;
      rights.own_run_dir = true;
      break;
    case Stage::kPrepare:
      rights.sees_inputs = rights.writes_inputs = true;
      break;
    case Stage::kPerf:
      rights.sees_inputs = wall;
      rights.writes_outputs = true;
      rights.sees_outputs = wall;
      break;
    case Stage::kQuality:
      rights.sees_inputs = wall;
      rights.sees_outputs = true;
      break;
    case Stage::kCheck:
    case Stage::kBuild:
    case Stage::kSmoke:
    case Stage::kProfile:
      break;
  }
  if (wall && (stage == Stage::kPrepare || stage == Stage::kQuality)) {
    rights.judge_side = true;
    rights.tree_writable = false;
    rights.knows_seed = true;
  }
  return rights;
}

std::vector<std::string> OverlaidPaths(const Config& config) {
  std::vector<std::string> outermost;
  for (std::string& path : campaign::HarnessPaths(config)) {  // sorted: folders before content
    if (Path(path).is_absolute()) continue;
    const bool covered = std::any_of(outermost.begin(), outermost.end(),
                                     [&](const auto& folder) { return IsBelow(path, folder); });
    if (!covered) outermost.push_back(std::move(path));
  }
  return outermost;
}

std::vector<std::string> StageEnvironment(const campaign::SandboxConfig& sandbox) {
  std::map<std::string, std::string> values = {
      {"PATH", SearchPath(sandbox.read)},
      {"HOME", std::string(os::kSandboxHome)},
      {"LANG", "C.UTF-8"},
      {"TZ", "UTC"},
      {"USER", "pawl"},
      {"SHELL", "/bin/sh"},
  };
  for (const std::string& name : sandbox.env) {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value != nullptr) values[name] = value;
  }
  for (const auto& [name, value] : sandbox.set) values[name] = value;
  std::vector<std::string> environment;
  environment.reserve(values.size());
  for (const auto& [name, value] : values) environment.push_back(Format("{}={}", name, value));
  return environment;
}

Result<StageView> MakeStageView(const Config& config, const Workplace& place,
                                const StageRequest& request, const os::SandboxProbe& probe) {
  StageView view;
  view.rights = RightsOf(config, request.stage);
  Layout layout(probe.level == IsolationLevel::kL3);
  layout.Append(os::SystemMounts());

  const Path stage_dir =
      place.private_dir / Format("{}-{}", campaign::StageName(request.stage), request.index);
  for (const Path& path : config.sandbox.read) layout.ShowInPlace(path, Access::kReadOnly);
  for (const Path& path : config.sandbox.write) layout.ShowInPlace(path, Access::kWritable);
  for (const std::string& path : campaign::HarnessPaths(config)) {
    if (Path(path).is_absolute()) layout.ShowInPlace(path, Access::kReadOnly);
  }

  view.cwd = ShowTree(config, place, view.rights, layout);
  view.shown.root = view.cwd.string();
  PAWL_TRY(ShowRunFolder(place, stage_dir, layout, view));
  if (!place.setup_dir.empty()) {
    view.shown.setup_dir =
        layout.Show(place.setup_dir, kInsideSetup, WritableIf(view.rights.setup_writable)).string();
  }
  if (view.rights.knows_seed) view.shown.seed = request.seed;
  view.mounts = layout.Take();
  return view;
}

}  // namespace pawl::run
