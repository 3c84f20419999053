#include "loop/workplace.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "loop/setup_result.h"

namespace pawl::loop {

using campaign::CommitId;
using os::Path;

namespace {

Result<std::vector<os::Mount>> Overlay(const Session& session, const Writer& writer,
                                       const LiveCampaign& live, const Path& tree_root) {
  PAWL_TRY(os::MakeFolders(tree_root));
  PAWL_ASSIGN(
      std::vector<os::Mount> mounts,
      campaign::OverlayHarness(live.lock, session.config(), writer.journal.artifacts(), tree_root));
  for (os::Mount& mount : mounts) mount.inside = mount.inside.lexically_relative(tree_root);
  return mounts;
}

// Where nothing can be mounted, links stand for the large files.
Status LinkInPlace(const std::vector<os::Mount>& in_place, const Path& tree_root) {
  for (const os::Mount& data : in_place) {
    const Path link = tree_root / data.inside;
    PAWL_TRY(os::RemoveTree(link));
    PAWL_TRY(os::MakeFolders(link.parent_path()));
    if (::symlink(data.host.c_str(), link.c_str()) != 0) return SystemError(link.string(), errno);
  }
  return OkStatus();
}

// At L3 one tree serves all candidates, since it is only ever shown read-only.
Result<Path> SharedHarnessTree(const Session& session, const Writer& writer,
                               const LiveCampaign& live) {
  const Path tree = session.state().harness() / live.lock_sha256;
  if (os::Exists(tree)) return tree;
  PAWL_TRY(os::MakeFolders(session.state().harness()));
  PAWL_ASSIGN(os::ScratchFolder aside, os::ScratchFolder::Make(session.state().work(), "harness-"));
  const Path made = aside.path() / "tree";
  PAWL_TRY(Overlay(session, writer, live, made / writer.worktree.prefix));
  std::error_code error;
  std::filesystem::rename(made, tree, error);
  if (error) return SystemError(tree.string(), error.value());
  return tree;
}

Status CopyBuild(const Session& session, const LiveCampaign& live, const CommitId& build_from,
                 const Path& build_dir) {
  const Path kept = session.state().IncumbentBuild(live.row.id, build_from);
  if (!os::Exists(kept) || os::Exists(build_dir)) return OkStatus();
  PAWL_TRY(os::MakeFolders(build_dir.parent_path()));
  return os::CopyTree(kept, build_dir);
}

// Whether what a candidate's build left can be copied for the next one: no pipes or sockets, no
// folders nested beyond reason.
Status CheckCopyable(const Path& folder) {
  PAWL_ASSIGN(const std::vector<os::TreeEntry> entries, os::ListTree(folder));
  for (const os::TreeEntry& entry : entries) {
    if (entry.kind != os::FileKind::kOther) continue;
    return MakeError(Code::kInvalidArgument,
                     Format("{} is neither file, folder nor link", PrintableLine(entry.relative)));
  }
  return OkStatus();
}

}  // namespace

Result<PreparedWorkplace> PrepareWorkplace(Session& session, const Writer& writer,
                                           const LiveCampaign& live, const CommitId& commit,
                                           const std::optional<CommitId>& build_from) {
  const campaign::Config& config = session.config();
  const bool mounts = session.probe().level == os::IsolationLevel::kL3;
  PAWL_TRY(os::MakeFolders(session.state().work()));
  PAWL_ASSIGN(os::ScratchFolder folder,
              os::ScratchFolder::Make(session.state().work(), commit.brief() + "-"));
  // Where nothing is mounted, another user goes through this folder on the way to the tree.
  if (!mounts && session.probe().own_uid && ::chmod(folder.path().c_str(), 0711) != 0) {
    return SystemError(folder.path().string(), errno);
  }
  run::Workplace place;
  place.prefix = writer.worktree.prefix;
  place.tree = folder.path() / "tree";
  place.run_dir = folder.path() / "run";
  place.private_dir = folder.path() / "private";
  PAWL_TRY(os::MakeFolders(place.run_dir));
  PAWL_TRY(os::MakeFolders(place.private_dir));

  const bool incremental = mounts && build_from && config.Command(campaign::Stage::kBuild);
  PAWL_TRY(writer.vault.Materialise(commit, place.tree, incremental ? &*build_from : nullptr));
  const Path root = place.tree / place.prefix;
  PAWL_ASSIGN(place.in_place, Overlay(session, writer, live, root));
  const Path build_dir = root / config.build_dir;
  if (incremental) {
    const Status copied = CopyBuild(session, live, *build_from, build_dir);
    if (!copied.ok()) {
      // Only saves time; this candidate is not to blame for what an earlier one left.
      session.observer().OnNote("built from nothing: " + copied.error().Text());
      PAWL_TRY(os::RemoveTree(build_dir));
    }
  }
  if (mounts) {
    PAWL_ASSIGN(place.harness_tree, SharedHarnessTree(session, writer, live));
  } else {
    place.harness_tree = folder.path() / "harness";
    const Path harness_root = place.harness_tree / place.prefix;
    PAWL_TRY(Overlay(session, writer, live, harness_root));
    PAWL_TRY(LinkInPlace(place.in_place, root));
    PAWL_TRY(LinkInPlace(place.in_place, harness_root));
  }
  PAWL_ASSIGN(place.setup_dir, EnsureSetup(session, writer, live));
  return PreparedWorkplace{std::move(folder), std::move(place), build_dir};
}

Status TakeTree(const os::SandboxProbe& probe, const Path& path) {
  if (!probe.own_uid) return OkStatus();
  return os::GiveTree(path, ::geteuid(), {probe.first_user, probe.user_count});
}

Status KeepBuild(Session& session, const LiveCampaign& live, const PreparedWorkplace& prepared,
                 const CommitId& commit) {
  const bool mounts = session.probe().level == os::IsolationLevel::kL3;
  if (!mounts || session.config().Command(campaign::Stage::kBuild) == nullptr) return OkStatus();
  const Path kept = session.state().IncumbentBuild(live.row.id, commit);
  if (os::Exists(kept)) return OkStatus();
  // Nothing of the candidate lives any more, so that what is seen here stays.
  const Path aside = prepared.folder.path() / "kept";
  const Status moved = os::MoveFolderOut(
      prepared.place.tree, prepared.build_dir.lexically_relative(prepared.place.tree), aside);
  if (!moved.ok()) return moved.error().code == Code::kNotFound ? OkStatus() : moved;
  PAWL_TRY(TakeTree(session.probe(), aside));
  PAWL_TRY(CheckCopyable(aside));
  PAWL_TRY(os::MakeFolders(kept.parent_path()));
  std::error_code error;
  std::filesystem::rename(aside, kept, error);
  if (error) return SystemError(kept.string(), error.value());
  return OkStatus();
}

Status KeepRunFolder(Session& session, const PreparedWorkplace& prepared, const Path& run_dir) {
  // Timed runs' inputs and outputs are large and can be made again; they go with the workplace.
  if (session.config().protocol == campaign::Protocol::kWall) return OkStatus();
  PAWL_TRY(TakeTree(session.probe(), prepared.place.run_dir));
  std::error_code error;
  std::filesystem::rename(prepared.place.run_dir, run_dir, error);  // over the empty one
  if (error) return SystemError(run_dir.string(), error.value());
  return OkStatus();
}

Result<Path> MakeRunFolder(const StateFolder& state, const CommitId& commit) {
  PAWL_TRY(os::MakeFolders(state.runs()));
  const std::string name = Format("{}_{}", CompactLocal(UnixMicros()), commit.brief());
  std::error_code error;
  for (int attempt = 1; attempt < 1000; ++attempt) {
    const Path folder = state.runs() / (attempt == 1 ? name : Format("{}-{}", name, attempt));
    if (std::filesystem::create_directory(folder, error)) return folder;
    if (error) return SystemError(folder.string(), error.value());
  }
  return MakeError(Code::kAlreadyExists, (state.runs() / name).string() + " is there already");
}

}  // namespace pawl::loop
