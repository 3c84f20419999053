#include "loop/setup_result.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "loop/workplace.h"
#include "run/runner.h"

namespace pawl::loop {

using campaign::Stage;
using os::Path;

namespace {

// Lock files are read at the root commit: a candidate's own have no say in what is fetched.
Result<std::string> SetupKey(const Session& session, const Writer& writer,
                             const LiveCampaign& live) {
  const campaign::Config& config = session.config();
  JsonObject parts{{"command", *config.Command(Stage::kSetup)}};
  JsonObject set;
  for (const auto& [name, value] : config.sandbox.set) set[name] = value;
  parts["set"] = std::move(set);
  if (config.setup_lock_files.empty()) {
    parts["harness"] = live.lock.CompatHashes();
  } else {
    PAWL_ASSIGN(const std::vector<campaign::TreeFile> tree, writer.vault.ReadTree(live.root()));
    JsonObject files;
    for (const std::string& file : config.setup_lock_files) {
      const std::string path = (Path(writer.worktree.prefix) / file).lexically_normal().string();
      const auto found = std::ranges::find(tree, path, &campaign::TreeFile::path);
      if (found == tree.end()) {
        return MakeError(Code::kNotFound,
                         Format("setup.lock_files: {} is not in the root commit {}",
                                PrintableLine(file), live.root().brief()),
                         "commit the file, or take it off the list");
      }
      files[file] = found->blob;
    }
    parts["lock_files"] = std::move(files);
  }
  return HashBytes(Json(std::move(parts)).Canonical()).hex();
}

Status MakeReadOnly(const Path& folder) {
  PAWL_ASSIGN(const std::vector<os::TreeEntry> entries, os::ListTree(folder));
  for (const os::TreeEntry& entry : entries) {
    if (entry.kind == os::FileKind::kLink) continue;
    const Path path = folder / entry.relative;
    // Readable for every user that a later command may run under.
    const mode_t readable = entry.kind == os::FileKind::kFolder || (entry.mode & 0111) != 0
                                ? mode_t{0555}
                                : mode_t{0444};
    if (::chmod(path.c_str(), readable) != 0) return SystemError(path.string(), errno);
  }
  return OkStatus();
}

// A result that is found later must be whole, after power loss too.
Status SyncFileSystem(const Path& folder) {
  const os::Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::syncfs(fd.get()) != 0) return SystemError(folder.string(), errno);
  return OkStatus();
}

Status RunSetup(Session& session, const run::Workplace& place) {
  const run::Runner runner(session.config(), session.probe());
  session.observer().OnStageStart("setup", 0, 1);
  PAWL_ASSIGN(const run::StageResult result, runner.Run(place, {.stage = Stage::kSetup}));
  session.observer().OnStageEnd("setup", result.outcome.Describe(), result.outcome.wall_s);
  if (result.outcome.end == os::RunEnd::kCancelled) {
    return MakeError(Code::kCancelled, "stopped during setup");
  }
  if (!result.outcome.succeeded()) {
    return MakeError(Code::kConflict,
                     Format("setup: {}\n{}", result.outcome.Describe(), result.last_words),
                     "setup runs on the baseline with network; mend the command or the machine");
  }
  return OkStatus();
}

}  // namespace

Result<Path> EnsureSetup(Session& session, const Writer& writer, const LiveCampaign& live) {
  if (session.config().Command(Stage::kSetup) == nullptr) return Path();
  PAWL_ASSIGN(const std::string key, SetupKey(session, writer, live));
  const Path result = session.state().setup() / key;
  if (os::Exists(result)) return result;

  PAWL_TRY(os::MakeFolders(session.state().setup()));
  PAWL_TRY(os::MakeFolders(session.state().work()));
  PAWL_ASSIGN(os::ScratchFolder folder, os::ScratchFolder::Make(session.state().work(), "setup-"));
  run::Workplace place;
  place.prefix = writer.worktree.prefix;
  place.tree = folder.path() / "tree";
  place.run_dir = folder.path() / "run";
  place.private_dir = folder.path() / "private";
  place.setup_dir = folder.path() / "setup";
  for (const Path& made : {place.run_dir, place.private_dir, place.setup_dir}) {
    PAWL_TRY(os::MakeFolders(made));
  }
  PAWL_TRY(writer.vault.Materialise(live.root(), place.tree));
  const Path root = place.tree / place.prefix;
  PAWL_ASSIGN(place.in_place, campaign::OverlayHarness(live.lock, session.config(),
                                                       writer.journal.artifacts(), root));
  for (os::Mount& mount : place.in_place) mount.inside = mount.inside.lexically_relative(root);
  place.harness_tree = place.tree;

  PAWL_TRY(RunSetup(session, place));
  PAWL_TRY(TakeTree(session.probe(), place.setup_dir));
  PAWL_TRY(MakeReadOnly(place.setup_dir));
  PAWL_TRY(SyncFileSystem(place.setup_dir));
  std::error_code error;
  std::filesystem::rename(place.setup_dir, result, error);
  if (error) return SystemError(result.string(), error.value());
  if (::chmod(result.c_str(), 0555) != 0) return SystemError(result.string(), errno);
  return result;
}

}  // namespace pawl::loop
