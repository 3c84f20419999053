// Opening the vault, bringing commits in and out, and reading trees.
//
// Nothing here runs git inside the user's repository. The vault's own git is lent the user's object
// folder as an alternate, so that configuration, hooks, filters, replace refs, grafts, promisor
// remotes and upload-pack of that repository do not exist for it. Lent objects are packed and
// indexed again, which computes every name from content: an object that was rewritten under an
// honest name comes in under its true one and the honest name stays missing.
#include "campaign/vault.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "campaign/commit_text.h"
#include "campaign/git_call.h"
#include "campaign/vault_objects.h"

namespace pawl::campaign {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSha1Config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
constexpr std::string_view kSha256Config =
    "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
    "[extensions]\n\tobjectformat = sha256\n";
constexpr std::size_t kMaxPacks = 40;
constexpr std::size_t kKeptListings = 2;
constexpr std::size_t kRecentPins = 16;
constexpr const char* kRecentFile = "recent-pins";

// What a repository uses to look elsewhere for objects or history; the vault has none of it.
constexpr std::string_view kForeignParts[] = {
    "objects/info/alternates", "shallow", "info/grafts", "refs/replace", "commondir", "hooks"};

Status CheckFolder(const Path& folder) {
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0)
    return SystemError(Format("cannot look at {}", folder.string()), errno);
  if (!S_ISDIR(info.st_mode))
    return MakeError(Code::kCorrupt, Format("{} is no folder", folder.string()));
  if (info.st_uid != ::geteuid())
    return MakeError(
        Code::kPermissionDenied,
        Format("{} belongs to uid {}, not to uid {}", folder.string(), info.st_uid, ::geteuid()),
        "run Pawl as the user who started the campaign");
  for (const std::string_view part : kForeignParts) {
    if (os::Exists(folder / part))
      return MakeError(Code::kCorrupt,
                       Format("{} was changed from outside: it has {}", folder.string(), part));
  }
  return OkStatus();
}

Status WriteIfAbsent(const Path& path, std::string_view bytes) {
  if (os::Exists(path)) return OkStatus();
  return os::WriteFileAtomic(path, bytes);
}

Path PinPath(const Path& vault, const CommitId& commit) {
  return vault / "refs" / "pawl" / commit.hex;
}

// The commits pinned last. New candidates descend from one of them or from its ancestors, so that
// naming these spares a search for what the vault already has. Only a help: may be lost.
std::vector<CommitId> RecentPins(const Path& vault) {
  std::vector<CommitId> pins;
  const auto text = os::ReadFile(vault / kRecentFile);
  if (!text.ok()) return pins;
  for (const std::string_view line : Split(*text, '\n')) {
    CommitId id{std::string(line)};
    if (IsObjectName(line) && os::Exists(PinPath(vault, id))) pins.push_back(std::move(id));
  }
  return pins;
}

// A vault holds one kind of object names; which one shows with the first commit.
Status UseFormatOf(const Path& folder, const CommitId& commit) {
  const std::string_view wanted = commit.hex.size() == 64 ? kSha256Config : kSha1Config;
  PAWL_ASSIGN(const std::string present, os::ReadFile(folder / "config"));
  if (present == wanted) return OkStatus();
  if (!fs::is_empty(folder / "refs" / "pawl"))
    return MakeError(Code::kInvalidArgument,
                     Format("{} is not the kind of object name this repository has", commit.hex));
  return os::WriteFileAtomic(folder / "config", wanted);
}

Status RepackIfMany(const Path& folder) {
  std::size_t packs = 0;
  for (const auto& entry : fs::directory_iterator(folder / "objects" / "pack"))
    if (entry.path().extension() == ".pack") ++packs;
  if (packs <= kMaxPacks) return OkStatus();
  GitRun run;
  run.git_dir = folder;
  run.arguments = {"repack", "--geometric=2", "-d", "-q"};
  PAWL_TRY(RunGitOrError(run));
  return OkStatus();
}

}  // namespace

Result<Vault> Vault::Open(const Path& state_dir) {
  const Path folder = state_dir / "vault.git";
  if (!os::Exists(folder)) PAWL_TRY(os::MakeFolders(folder, 0700));
  PAWL_TRY(CheckFolder(folder));
  for (const char* part : {"objects/pack", "objects/info", "refs/pawl"})
    PAWL_TRY(os::MakeFolders(folder / part));
  PAWL_TRY(WriteIfAbsent(folder / "HEAD", "ref: refs/heads/none\n"));
  PAWL_TRY(WriteIfAbsent(folder / "config", kSha1Config));
  PAWL_ASSIGN(const std::string config, os::ReadFile(folder / "config"));
  if (config != kSha1Config && config != kSha256Config)
    return MakeError(Code::kCorrupt, Format("{}/config is not what Pawl wrote", folder.string()));
  return Vault(folder);
}

Status Vault::Pin(const CommitId& commit) const {
  const Path pin = PinPath(folder_, commit);
  if (os::Exists(pin)) return OkStatus();
  PAWL_TRY(os::WriteFileAtomic(pin, commit.hex + "\n"));
  std::vector<CommitId> recent = RecentPins(folder_);
  if (recent.size() >= kRecentPins) recent.erase(recent.begin());
  recent.push_back(commit);
  std::string lines;
  for (const CommitId& id : recent) lines += id.hex + "\n";
  return os::WriteFileAtomic(folder_ / kRecentFile, lines, {.durable = false});
}

bool Vault::Contains(const CommitId& commit) const {
  if (!IsObjectName(commit.hex)) return false;
  if (os::Exists(PinPath(folder_, commit))) return true;
  const auto found = objects_.Look({commit.hex});
  return found.ok() && found->front().type == "commit";
}

Status Vault::Fetch(const Path& user_repository, const CommitId& commit) {
  if (!IsObjectName(commit.hex))
    return MakeError(Code::kInvalidArgument,
                     Format("`{}` is no full commit id", PrintableLine(commit.hex, 80)));
  PAWL_TRY(UseFormatOf(folder_, commit));
  if (os::Exists(PinPath(folder_, commit))) return OkStatus();
  PAWL_ASSIGN(const GitFolders user, FindGitFolders(user_repository));
  PAWL_TRY(BringObjects({folder_, objects_}, user, commit, RecentPins(folder_)));
  PAWL_TRY(RepackIfMany(folder_));
  return Pin(commit);
}

Status Vault::Export(const Path& user_repository, const CommitId& commit) const {
  PAWL_ASSIGN(const GitFolders user, FindGitFolders(user_repository));
  return LendObjects(folder_, user, commit);
}

Result<bool> Vault::IsAncestor(const CommitId& ancestor, const CommitId& descendant) const {
  if (ancestor == descendant) return true;
  GitRun run;
  run.git_dir = folder_;
  run.arguments = {"merge-base", "--is-ancestor", ancestor.hex, descendant.hex};
  PAWL_ASSIGN(const os::ToolResult result, RunGit(run));
  if (result.exit_code <= 1) return result.exit_code == 0;
  return GitError("merge-base", result);
}

Result<std::shared_ptr<const Vault::Listing>> Vault::ListFiles(const CommitId& commit) const {
  for (const auto& listing : recent_) {
    if (listing->commit == commit) return listing;
  }
  PAWL_ASSIGN(const CommitText text, ReadCommitText(objects_, commit));
  auto listing = std::make_shared<Listing>();
  listing->commit = commit;
  PAWL_ASSIGN(listing->files, trees_.Read(objects_, text.tree));
  if (recent_.size() >= kKeptListings) recent_.erase(recent_.begin());
  recent_.push_back(listing);
  return std::shared_ptr<const Listing>(std::move(listing));
}

Result<std::vector<TreeFile>> Vault::ReadTree(const CommitId& commit) const {
  PAWL_ASSIGN(const auto listing, ListFiles(commit));
  return listing->files;
}

Result<Vault::Difference> Vault::Diff(const CommitId& from, const CommitId& to,
                                      std::size_t max_bytes) const {
  GitRun run;
  run.git_dir = folder_;
  run.arguments = {"diff-tree",     "-r",           "--numstat",  "-p",     "--no-ext-diff",
                   "--no-textconv", "--no-renames", "--no-color", from.hex, to.hex};
  auto out = RunGitOrError(run);
  const bool too_large = !out.ok() && out.error().code == Code::kResourceExhausted;
  if (too_large) {
    run.arguments = {"diff-tree", "-r", "--numstat", "--no-renames", from.hex, to.hex};
    out = RunGitOrError(run);
  }
  if (!out.ok()) return out.error();
  Difference diff;
  std::string_view rest = *out;
  // "<added>\t<removed>\t<path>" for each file, "-" for binary ones; the patch follows.
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::vector<std::string_view> words = Split(line, '\t');
    if (words.size() < 3) break;
    diff.lines_added += ParseInt(words[0]).value_or(0);
    diff.lines_removed += ParseInt(words[1]).value_or(0);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  if (rest.starts_with('\n')) rest.remove_prefix(1);
  if (too_large) rest = *out;
  diff.text = std::string(rest.substr(0, max_bytes));
  if (rest.size() <= max_bytes) return diff;
  if (const auto line = diff.text.rfind('\n'); line != std::string::npos)
    diff.text.resize(line + 1);
  AppendFormat(diff.text, "... cut: {} of {} bytes shown\n", diff.text.size(), rest.size());
  return diff;
}

}  // namespace pawl::campaign
