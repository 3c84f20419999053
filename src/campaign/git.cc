#include "campaign/git.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "campaign/git_call.h"

namespace pawl::campaign {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeadPrefix = "ref: refs/heads/";
constexpr std::uint64_t kMaxGitFile = 1 << 16;

Result<std::string> ReadGitFile(const Path& path) {
  PAWL_ASSIGN(std::string text, os::ReadFile(path, {.max_bytes = kMaxGitFile}));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

bool IsFolder(const Path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool IsBare(const Path& path) {
  return IsFolder(path / "objects") && IsFolder(path / "refs") && os::Exists(path / "HEAD");
}

Path Resolve(const Path& base, const std::string& written) {
  std::error_code error;
  const Path joined = (base / written).lexically_normal();
  Path canonical = fs::weakly_canonical(joined, error);
  return error ? joined : canonical;
}

// `.git` is a folder, or a file "gitdir: PATH" in linked work trees and submodules.
Result<GitFolders> OpenGitEntry(const Path& top) {
  GitFolders folders;
  folders.top = top;
  const Path entry = top / ".git";
  if (IsFolder(entry)) {
    folders.git_dir = entry;
  } else {
    PAWL_ASSIGN(const std::string text, ReadGitFile(entry));
    constexpr std::string_view kPrefix = "gitdir: ";
    if (!text.starts_with(kPrefix))
      return MakeError(Code::kCorrupt,
                       Format("{} is neither a folder nor a gitdir file", entry.string()));
    folders.git_dir = Resolve(top, text.substr(kPrefix.size()));
  }
  folders.common_dir = folders.git_dir;
  if (os::Exists(folders.git_dir / "commondir")) {
    PAWL_ASSIGN(const std::string common, ReadGitFile(folders.git_dir / "commondir"));
    folders.common_dir = Resolve(folders.git_dir, common);
  }
  if (!IsFolder(folders.common_dir / "objects"))
    return MakeError(Code::kCorrupt, Format("{} is no git repository", folders.git_dir.string()));
  return folders;
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// HEAD or refs/heads/<branch> when the branch is a file of its own, as it mostly is: saves a
// process. Packed refs, other storage, unborn branches and all other words are git's to resolve.
std::optional<CommitId> ReadLooseRef(const GitFolders& folders, std::string_view revision) {
  constexpr std::string_view kBranches = "refs/heads/";
  std::string branch;
  if (revision == "HEAD") {
    const auto head = ReadGitFile(folders.git_dir / "HEAD");
    if (!head.ok()) return std::nullopt;
    if (IsObjectName(*head)) return CommitId{*head};
    if (!head->starts_with(kHeadPrefix)) return std::nullopt;
    branch = head->substr(kHeadPrefix.size());
  } else if (revision.starts_with(kBranches)) {
    branch = revision.substr(kBranches.size());
  }
  if (branch.empty() || branch.find("..") != std::string::npos) return std::nullopt;
  const auto commit = ReadGitFile(folders.common_dir / "refs" / "heads" / branch);
  if (!commit.ok() || !IsObjectName(*commit)) return std::nullopt;
  return CommitId{*commit};
}

}  // namespace

bool IsObjectName(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && IsHex(text);
}

Result<GitFolders> FindGitFolders(const Path& start) {
  std::error_code error;
  Path folder = fs::weakly_canonical(fs::absolute(start), error);
  if (error) return SystemError(Format("cannot resolve {}", start.string()), error.value());
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!os::Exists(folder / ".git") && IsBare(folder)) return GitFolders{folder, folder, {}};
  for (Path top = folder; !top.empty(); top = top.parent_path()) {
    if (os::Exists(top / ".git")) return OpenGitEntry(top);
    if (top == top.root_path()) break;
  }
  return MakeError(Code::kNotFound,
                   Format("project root is not a git repository: {}", folder.string()),
                   "run `git init` there and commit the project first");
}

std::vector<std::string> GitEnvironment() {
  std::vector<std::string> env = os::BasicEnvironment();
  const std::vector<std::string> ours = {
      "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
      "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null",
      "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
      // No transport at all: a repository with a promisor remote would otherwise fetch what is
      // missing, and remote.*.uploadpack names a program.
      "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "GIT_EDITOR=false",
      "GIT_LITERAL_PATHSPECS=1", "XDG_CONFIG_HOME=/dev/null", "GIT_AUTHOR_NAME=Pawl",
      "GIT_AUTHOR_EMAIL=pawl@localhost", "GIT_COMMITTER_NAME=Pawl",
      "GIT_COMMITTER_EMAIL=pawl@localhost"};
  // Later entries would not reliably win over earlier ones of the same name, so HOME is replaced.
  std::erase_if(env, [](const std::string& entry) {
    return entry.starts_with("HOME=") || entry.starts_with("GIT_") ||
           entry.starts_with("XDG_CONFIG_HOME=");
  });
  env.emplace_back("HOME=/dev/null");
  env.insert(env.end(), ours.begin(), ours.end());
  return env;
}

std::vector<std::string> GitArguments() {
  // Command-line configuration beats whatever the repository's own file says. Each key here names
  // a program or makes git trust data that a candidate could have prepared.
  const std::vector<std::string> overrides = {"core.fsmonitor=false",
                                              "core.hooksPath=/dev/null",
                                              "core.attributesFile=/dev/null",
                                              "core.sshCommand=false",
                                              "core.gitProxy=false",
                                              "core.askPass=false",
                                              "core.alternateRefsCommand=false",
                                              "core.pager=cat",
                                              "core.editor=false",
                                              "core.commitGraph=false",
                                              "core.multiPackIndex=false",
                                              "core.untrackedCache=false",
                                              "core.preloadIndex=true",
                                              "advice.graftFileDeprecated=false",
                                              "credential.helper=",
                                              "diff.external=false",
                                              "gpg.program=false",
                                              "log.showSignature=false",
                                              "commit.gpgSign=false",
                                              "protocol.allow=never",
                                              "gc.auto=0",
                                              "maintenance.auto=false",
                                              "submodule.recurse=false",
                                              "fetch.recurseSubmodules=false",
                                              "pack.useBitmaps=false",
                                              "pack.threads=2",
                                              "safe.directory=*"};
  std::vector<std::string> arguments = {"git", "--no-pager"};
  for (const std::string& pair : overrides) {
    arguments.emplace_back("-c");
    arguments.push_back(pair);
  }
  return arguments;
}

os::ToolCall GitCall(const GitRun& run) {
  os::ToolCall call;
  call.argv = GitArguments();
  for (const std::string& pair : run.config) {
    call.argv.emplace_back("-c");
    call.argv.push_back(pair);
  }
  call.argv.insert(call.argv.end(), run.arguments.begin(), run.arguments.end());
  call.env = GitEnvironment();
  for (const std::string& entry : run.env) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(call.env, [&](const std::string& old) { return old.starts_with(name); });
    call.env.push_back(entry);
  }
  call.env.push_back("GIT_DIR=" + run.git_dir.string());
  if (!run.work_tree.empty()) call.env.push_back("GIT_WORK_TREE=" + run.work_tree.string());
  call.cwd = run.work_tree.empty() ? run.git_dir : run.work_tree;
  call.input = run.input;
  call.timeout = run.timeout;
  call.max_output_bytes = run.max_output_bytes;
  return call;
}

Result<os::ToolResult> RunGit(const GitRun& run) {
  return os::RunTool(GitCall(run));
}

Error GitError(std::string_view verb, const os::ToolResult& result) {
  // RunTool's exit code of a process that a signal ended.
  if (result.exit_code > 128 + 1 && result.err.empty()) {
    return MakeError(Code::kIo,
                     Format("git {} was killed by signal {}", verb, result.exit_code - 128));
  }
  return MakeError(os::MachineCode(result.err).value_or(Code::kIo),
                   Format("git {} failed with exit {}: {}", verb, result.exit_code,
                          PrintableLine(Trim(result.err), 400)));
}

bool IsMachinesFault(const Error& error) {
  return error.code != Code::kIo || os::MachineCode(error.message) ||
         error.message.find("was killed by signal") != std::string::npos;
}

Result<std::string> RunGitOrError(const GitRun& run) {
  PAWL_ASSIGN(os::ToolResult result, RunGit(run));
  if (result.exit_code == 0) return std::move(result.out);
  const std::string verb = run.arguments.empty() ? "" : run.arguments.front();
  return GitError(verb, result);
}

Result<std::string> Git(const Path& repository, std::vector<std::string> arguments,
                        std::string_view input) {
  PAWL_ASSIGN(const GitFolders folders, FindGitFolders(repository));
  GitRun run;
  run.git_dir = folders.git_dir;
  run.work_tree = folders.top;
  run.arguments = std::move(arguments);
  run.input = std::string(input);
  return RunGitOrError(run);
}

namespace {

Result<CommitId> FindCommit(const GitFolders& folders, std::string_view revision) {
  if (const auto loose = ReadLooseRef(folders, revision)) return *loose;
  GitRun run;
  run.git_dir = folders.git_dir;
  run.work_tree = folders.top;
  run.arguments = {"rev-parse", "--quiet", "--verify", "--end-of-options",
                   std::string(revision) + "^{commit}"};
  PAWL_ASSIGN(const os::ToolResult result, RunGit(run));
  const std::string hex(Trim(result.out));
  if (result.exit_code == 0 && IsObjectName(hex)) return CommitId{hex};
  return MakeError(Code::kNotFound,
                   Format("`{}` names no commit of {}", PrintableLine(revision, 80),
                          (folders.top.empty() ? folders.git_dir : folders.top).string()));
}

}  // namespace

Result<CommitId> ResolveCommit(const Path& repository, std::string_view revision) {
  PAWL_ASSIGN(const GitFolders folders, FindGitFolders(repository));
  return FindCommit(folders, revision);
}

Result<Worktree> OpenWorktree(const Path& root) {
  PAWL_ASSIGN(const GitFolders folders, FindGitFolders(root));
  if (folders.top.empty())
    return MakeError(
        Code::kNotFound,
        Format("project root is not a git repository: {} is a bare one", root.string()),
        "use a work tree of it");
  Worktree worktree;
  worktree.top = folders.top;
  std::error_code error;
  Path canonical = fs::weakly_canonical(fs::absolute(root), error);
  if (!canonical.has_filename()) canonical = canonical.parent_path();
  worktree.prefix = canonical.lexically_relative(folders.top).generic_string();
  if (worktree.prefix == ".") worktree.prefix.clear();

  PAWL_ASSIGN(const std::string head, ReadGitFile(folders.git_dir / "HEAD"));
  if (head.starts_with(kHeadPrefix)) worktree.branch = head.substr(kHeadPrefix.size());
  auto commit = FindCommit(folders, "HEAD");
  if (commit.ok())
    worktree.head = std::move(commit).value();
  else if (commit.error().code != Code::kNotFound)
    return std::move(commit).error();
  return worktree;
}

Status MoveBranch(const Path& repository, std::string_view branch, const CommitId& expected,
                  const CommitId& next, std::string_view reason) {
  PAWL_ASSIGN(const GitFolders folders, FindGitFolders(repository));
  const std::string ref = Format("refs/heads/{}", branch);
  GitRun run;
  run.git_dir = folders.git_dir;
  run.work_tree = folders.top;
  // A branch that is a symbolic ref would move another branch than the one named.
  const auto loose = ReadGitFile(folders.common_dir / ref);
  if (loose.ok() && loose->starts_with("ref:"))
    return MakeError(Code::kConflict,
                     Format("branch {} is a symbolic ref: {}", PrintableLine(branch, 100),
                            PrintableLine(*loose, 100)));
  run.arguments = {"update-ref", "-m", "pawl: " + PrintableLine(reason, 200),
                   "--no-deref", ref,  next.hex,
                   expected.hex};
  PAWL_ASSIGN(const os::ToolResult moved, RunGit(run));
  if (moved.exit_code == 0) return OkStatus();
  const auto now = ResolveCommit(repository, ref);
  const std::string at = now.ok() ? now->brief() : "nothing";
  if (!now.ok() || *now != expected)
    return MakeError(
        Code::kConflict,
        Format("branch {} is at {}, not at {}", PrintableLine(branch, 100), at, expected.brief()),
        "somebody moved it; nothing was changed");
  return GitError("update-ref", moved)
      .Within(Format("cannot move branch {}", PrintableLine(branch, 100)));
}

}  // namespace pawl::campaign
