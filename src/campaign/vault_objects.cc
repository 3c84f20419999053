#include "campaign/vault_objects.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"

namespace pawl::campaign {
namespace {

namespace fs = std::filesystem;

// How far back along first parents a commit that both sides have is looked for.
constexpr int kMaxSearch = 4096;
constexpr std::string_view kQuarantinePrefix = "incoming-";

// Git separates the folders with colons and reads a quoted one in C's way.
std::string AlternateVariable(const Path& objects) {
  std::string quoted = "\"";
  for (const char c : objects.string()) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted + "\"";
}

GitRun VaultRun(const Path& vault, std::vector<std::string> arguments) {
  GitRun run;
  run.git_dir = vault;
  run.arguments = std::move(arguments);
  return run;
}

// The newest first-parent ancestor of `commit` that `receiver` has; what it has is whole.
// `giver` runs see the commit, `receiver` runs see only the other side.
Result<std::optional<CommitId>> NewestShared(const std::string& chain, GitRun receiver) {
  receiver.arguments = {"cat-file", "--batch-check=%(objectname) %(objecttype)"};
  receiver.input = chain;
  PAWL_ASSIGN(const std::string known, RunGitOrError(receiver));
  for (const std::string_view line : Split(known, '\n')) {
    if (line.ends_with(" commit"))
      return std::optional<CommitId>(CommitId{std::string(line.substr(0, line.find(' ')))});
  }
  return std::optional<CommitId>();
}

Error WhyUnreadable(const Path& vault, const GitFolders& user, const CommitId& commit) {
  const std::string name = (user.top.empty() ? user.git_dir : user.top).string();
  GitRun run = VaultRun(vault, {"cat-file", "-t", commit.hex});
  run.env = {AlternateVariable(user.common_dir / "objects")};
  const auto type = RunGit(run);
  if (!type.ok()) return type.error();
  const std::string_view word = Trim(type->out);
  if (type->exit_code != 0) {
    const bool broken = type->err.find("corrupt") != std::string::npos ||
                        type->err.find("inflate") != std::string::npos ||
                        type->err.find("unable to unpack") != std::string::npos;
    return broken
               ? MakeError(Code::kCorrupt, Format("commit {} is damaged in {}", commit.hex, name))
               : MakeError(Code::kNotFound, Format("{} has no commit {}", name, commit.hex));
  }
  if (word != "commit")
    return MakeError(Code::kInvalidArgument, Format("{} is a {}, not a commit", commit.hex, word));
  const bool shallow = os::Exists(user.common_dir / "shallow");
  return MakeError(Code::kCorrupt,
                   Format("the history of {} is incomplete in {}", commit.hex, name),
                   shallow ? "the repository is a shallow clone; run `git fetch --unshallow`"
                           : "run `git fsck` there");
}

// The ids from `commit` back along first parents, one a line.
Result<std::string> FirstParents(const Path& vault, const GitFolders& user,
                                 const CommitId& commit) {
  GitRun run = VaultRun(
      vault, {"rev-list", "--first-parent", Format("--max-count={}", kMaxSearch), commit.hex});
  run.env = {AlternateVariable(user.common_dir / "objects")};
  PAWL_ASSIGN(const os::ToolResult result, RunGit(run));
  // A tag's id is peeled by rev-list; only the commit itself will do.
  if (result.exit_code != 0 || !result.out.starts_with(commit.hex))
    return WhyUnreadable(vault, user, commit);
  return result.out;
}

std::string RevisionInput(const CommitId& commit, const std::optional<CommitId>& shared) {
  return shared ? Format("{}\n^{}\n", commit.hex, shared->hex) : commit.hex + "\n";
}

// Packs what is missing into quarantine. Pack-objects copies lent bytes without checking them, so
// its index is thrown away and made again from content.
Status FillQuarantine(const Path& vault, const GitFolders& user, const Path& pack_folder,
                      const std::string& revisions) {
  PAWL_TRY(os::MakeFolders(pack_folder));
  GitRun pack = VaultRun(vault, {"pack-objects", "--revs", "--delta-base-offset", "--quiet",
                                 (pack_folder / "pack").string()});
  pack.env = {AlternateVariable(user.common_dir / "objects")};
  pack.input = revisions;
  PAWL_ASSIGN(const std::string out, RunGitOrError(pack));
  const std::string name = "pack-" + std::string(Trim(out));
  std::error_code error;
  for (const char* extension : {".idx", ".rev"})
    fs::remove(pack_folder / (name + extension), error);
  GitRun index = VaultRun(vault, {"index-pack", (pack_folder / (name + ".pack")).string()});
  PAWL_TRY(RunGitOrError(index));
  return OkStatus();
}

// What a killed process left behind; only the holder of the state lock fetches.
Status ClearLeftovers(const Path& vault) {
  for (const auto& entry : fs::directory_iterator(vault)) {
    if (entry.path().filename().string().starts_with(kQuarantinePrefix))
      PAWL_TRY(os::RemoveTree(entry.path()));
  }
  return OkStatus();
}

Status MoveIn(const Path& pack_folder, const Path& vault) {
  const Path destination = vault / "objects" / "pack";
  // Git sees a pack through its index, which therefore comes last.
  for (const char* extension : {".pack", ".rev", ".idx"}) {
    for (const auto& entry : fs::directory_iterator(pack_folder)) {
      if (entry.path().extension() != extension) continue;
      std::error_code error;
      fs::rename(entry.path(), destination / entry.path().filename(), error);
      if (error) return SystemError("cannot move a pack into the vault", error.value());
    }
  }
  return os::SyncFolder(destination);
}

}  // namespace

Status BringObjects(const Path& vault, const GitFolders& user, const CommitId& commit) {
  PAWL_ASSIGN(const std::string chain, FirstParents(vault, user, commit));
  PAWL_ASSIGN(const std::optional<CommitId> shared, NewestShared(chain, VaultRun(vault, {})));
  PAWL_TRY(ClearLeftovers(vault));
  PAWL_ASSIGN(const os::ScratchFolder quarantine,
              os::ScratchFolder::Make(vault, kQuarantinePrefix));
  const Path objects = quarantine.path() / "objects";
  const auto as_corrupt = [&](const Error& error) {
    return MakeError(Code::kCorrupt,
                     Format("commit {} did not arrive whole: {}", commit.hex, error.message),
                     "an object is missing, or is not what its name says; run `git fsck` there");
  };
  const Status filled =
      FillQuarantine(vault, user, objects / "pack", RevisionInput(commit, shared));
  if (!filled.ok() && filled.error().code == Code::kIo) return as_corrupt(filled.error());
  PAWL_TRY(filled);

  GitRun connected = VaultRun(vault, {"rev-list", "--objects", "--quiet", commit.hex});
  if (shared) connected.arguments.push_back("^" + shared->hex);
  connected.env = {AlternateVariable(objects)};
  if (const auto whole = RunGitOrError(connected); !whole.ok()) return as_corrupt(whole.error());
  return MoveIn(objects / "pack", vault);
}

Status LendObjects(const Path& vault, const GitFolders& user, const CommitId& commit) {
  PAWL_ASSIGN(const std::string chain,
              RunGitOrError(VaultRun(vault, {"rev-list", "--first-parent",
                                             Format("--max-count={}", kMaxSearch), commit.hex})));
  // The vault's git with the user's object folder in the place of its own.
  GitRun receiver = VaultRun(vault, {});
  receiver.env = {"GIT_OBJECT_DIRECTORY=" + (user.common_dir / "objects").string()};
  PAWL_ASSIGN(const std::optional<CommitId> shared, NewestShared(chain, receiver));
  if (shared && *shared == commit) return OkStatus();
  GitRun pack = VaultRun(vault, {"pack-objects", "--revs", "--stdout", "--quiet"});
  pack.input = RevisionInput(commit, shared);
  PAWL_ASSIGN(receiver.input, RunGitOrError(pack));
  receiver.arguments = {"unpack-objects", "-q"};
  PAWL_TRY(RunGitOrError(receiver));
  return OkStatus();
}

}  // namespace pawl::campaign
