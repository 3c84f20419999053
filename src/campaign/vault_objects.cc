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

// The first commit of `chain` that the receiver has; a git repository has all that a commit needs.
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

// Looks again, for the words of the refusal only.
Error WhyUnreadable(const Path& vault, const GitFolders& user, const CommitId& commit,
                    std::string_view gits_words) {
  const std::string name = (user.top.empty() ? user.git_dir : user.top).string();
  GitRun run = VaultRun(vault, {"cat-file", "-t", commit.hex});
  run.env = {AlternateVariable(user.common_dir / "objects")};
  const auto type = RunGit(run);
  if (!type.ok()) return type.error();
  if (type->exit_code == 0 && Trim(type->out) != "commit")
    return MakeError(Code::kInvalidArgument,
                     Format("{} is a {}, not a commit", commit.hex, Trim(type->out)));
  // Absent, unless git found something under that name and could not read it.
  if (type->exit_code != 0 && type->err.find("could not get object info") != std::string::npos &&
      type->err.find("corrupt") == std::string::npos &&
      type->err.find("unable to unpack") == std::string::npos)
    return MakeError(Code::kNotFound, Format("{} has no commit {}", name, commit.hex));
  const bool shallow = os::Exists(user.common_dir / "shallow");
  return MakeError(Code::kCorrupt,
                   Format("commit {} did not arrive whole from {}: {}", commit.hex, name,
                          PrintableLine(Trim(gits_words), 300)),
                   shallow ? "the repository is a shallow clone; run `git fetch --unshallow`"
                           : "an object is missing, or is not what its name says; run `git fsck` "
                             "there");
}

std::string RevisionInput(const CommitId& commit, const std::vector<CommitId>& known) {
  std::string input = commit.hex + "\n";
  for (const CommitId& other : known) AppendFormat(input, "^{}\n", other.hex);
  return input;
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
  // Everything that a packed object names must be in the pack or in the vault, so that what the
  // vault contains stays whole.
  GitRun index = VaultRun(vault, {"index-pack", "--check-self-contained-and-connected",
                                  (pack_folder / (name + ".pack")).string()});
  PAWL_ASSIGN(const os::ToolResult indexed, RunGit(index));
  // 1 says that the pack leans on the vault.
  if (indexed.exit_code > 1) return GitError("index-pack", indexed);
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

Status BringObjects(const Receiver& vault, const GitFolders& user, const CommitId& commit,
                    const std::vector<CommitId>& known) {
  PAWL_TRY(ClearLeftovers(vault.folder));
  PAWL_ASSIGN(const os::ScratchFolder quarantine,
              os::ScratchFolder::Make(vault.folder, kQuarantinePrefix));
  const Path packs = quarantine.path() / "objects" / "pack";
  Status filled = FillQuarantine(vault.folder, user, packs, RevisionInput(commit, known));
  if (!filled.ok() && IsMachinesFault(filled.error())) return filled;
  if (!filled.ok()) return WhyUnreadable(vault.folder, user, commit, filled.error().message);
  PAWL_TRY(MoveIn(packs, vault.folder));
  // An object that was rewritten came in under its true name, so that the honest one is missing;
  // and a tag, tree or blob can have been asked for.
  PAWL_ASSIGN(const std::vector<ObjectInfo> found, vault.objects.Look({commit.hex}));
  if (found.front().type == "commit") return OkStatus();
  return WhyUnreadable(vault.folder, user, commit, "it is not there under its name");
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
  pack.input = RevisionInput(commit, {});
  if (shared) pack.input = RevisionInput(commit, {*shared});
  PAWL_ASSIGN(receiver.input, RunGitOrError(pack));
  receiver.arguments = {"unpack-objects", "-q"};
  PAWL_TRY(RunGitOrError(receiver));
  return OkStatus();
}

}  // namespace pawl::campaign
