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
// A listing of more than this is a tree built to exhaust its reader.
constexpr std::uint64_t kMaxListingBytes = std::uint64_t{64} << 20;

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

// "100644 blob <hex>    1234\tpath"
Result<TreeFile> ParseTreeLine(std::string_view line) {
  const auto tab = line.find('\t');
  const std::vector<std::string_view> words =
      Split(line.substr(0, tab == std::string_view::npos ? 0 : tab), ' ');
  if (words.size() < 4) return MakeError(Code::kCorrupt, "git ls-tree wrote an unknown line");
  TreeFile file;
  file.mode = std::string(words[0]);
  file.blob = std::string(words[2]);
  file.size_bytes = static_cast<std::uint64_t>(ParseInt(words.back()).value_or(0));
  file.path = std::string(line.substr(tab + 1));
  return file;
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
  GitRun run;
  run.git_dir = folder_;
  run.arguments = {"cat-file", "-e", commit.hex + "^{commit}"};
  const auto result = RunGit(run);
  return result.ok() && result->exit_code == 0;
}

Status Vault::Fetch(const Path& user_repository, const CommitId& commit) {
  if (!IsObjectName(commit.hex))
    return MakeError(Code::kInvalidArgument,
                     Format("`{}` is no full commit id", PrintableLine(commit.hex, 80)));
  PAWL_TRY(UseFormatOf(folder_, commit));
  if (os::Exists(PinPath(folder_, commit))) return OkStatus();
  PAWL_ASSIGN(const GitFolders user, FindGitFolders(user_repository));
  PAWL_TRY(BringObjects(folder_, user, commit, RecentPins(folder_)));
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
  return MakeError(Code::kIo,
                   Format("git merge-base failed: {}", PrintableLine(Trim(result.err), 300)));
}

Result<std::shared_ptr<const Vault::Listing>> Vault::ListFiles(const CommitId& commit) const {
  for (const auto& listing : recent_) {
    if (listing->commit == commit) return listing;
  }
  GitRun run;
  run.git_dir = folder_;
  run.arguments = {"ls-tree", "-r", "-z", "--long", "--full-tree", commit.hex};
  run.max_output_bytes = kMaxListingBytes;
  PAWL_ASSIGN(const std::string out, RunGitOrError(run));
  auto listing = std::make_shared<Listing>();
  listing->commit = commit;
  for (const std::string_view line : Split(out, '\0')) {
    if (line.empty()) continue;
    PAWL_ASSIGN(TreeFile file, ParseTreeLine(line));
    listing->files.push_back(std::move(file));
  }
  // Git's own order is not bytewise, and a hostile tree has whatever order it likes.
  std::sort(listing->files.begin(), listing->files.end(),
            [](const TreeFile& a, const TreeFile& b) { return a.path < b.path; });
  if (recent_.size() >= kKeptListings) recent_.erase(recent_.begin());
  recent_.push_back(listing);
  return std::shared_ptr<const Listing>(std::move(listing));
}

Result<std::vector<TreeFile>> Vault::ReadTree(const CommitId& commit) const {
  PAWL_ASSIGN(const auto listing, ListFiles(commit));
  return listing->files;
}

Result<std::string> Vault::Diff(const CommitId& from, const CommitId& to,
                                std::size_t max_bytes) const {
  GitRun run;
  run.git_dir = folder_;
  run.arguments = {"diff-tree",    "-r",         "-p",     "--no-ext-diff", "--no-textconv",
                   "--no-renames", "--no-color", from.hex, to.hex};
  auto diff = RunGitOrError(run);
  if (!diff.ok() && diff.error().code == Code::kResourceExhausted) {
    run.arguments = {"diff-tree", "-r", "--raw", "--no-renames", from.hex, to.hex};
    diff = RunGitOrError(run);
  }
  if (!diff.ok() || diff->size() <= max_bytes) return diff;
  std::string cut = diff->substr(0, max_bytes);
  if (const auto line = cut.rfind('\n'); line != std::string::npos) cut.resize(line + 1);
  AppendFormat(cut, "... cut: {} of {} bytes shown\n", cut.size(), diff->size());
  return cut;
}

}  // namespace pawl::campaign
