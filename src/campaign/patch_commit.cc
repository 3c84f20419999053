// A patch becomes a commit in the vault: applied to a private index, no work tree, no hooks, and
// with an author and dates that depend on nothing but the parent.
#include "base/text.h"
#include "campaign/commit_text.h"
#include "campaign/git_call.h"
#include "campaign/vault.h"

namespace pawl::campaign {
namespace {

// Tried in turn: as written, with hunk lengths counted anew (people and models miscount), and as
// a merge on the blobs that the patch names, for a parent that moved on.
const std::vector<std::vector<std::string>>& ApplyModes() {
  static const std::vector<std::vector<std::string>> modes = {{}, {"--recount"}, {"--3way"}};
  return modes;
}

Status ApplyToIndex(GitRun run, const CommitId& parent, std::string_view patch) {
  std::string first_words;
  for (const std::vector<std::string>& mode : ApplyModes()) {
    run.arguments = {"read-tree", parent.hex};
    run.input.clear();
    PAWL_TRY(RunGitOrError(run));
    run.arguments = {"apply", "--cached", "--whitespace=nowarn"};
    run.arguments.insert(run.arguments.end(), mode.begin(), mode.end());
    run.input = std::string(patch);
    if (!patch.ends_with('\n')) run.input += '\n';
    PAWL_ASSIGN(const os::ToolResult applied, RunGit(run));
    if (applied.exit_code == 0) return OkStatus();
    // Nothing that a patch could be blamed for.
    if (const Error failed = GitError("apply", applied); IsMachinesFault(failed)) return failed;
    if (first_words.empty()) first_words = PrintableLine(Trim(applied.err), 300);
  }
  return MakeError(Code::kInvalidArgument,
                   Format("the patch does not apply to {}: {}", parent.brief(), first_words),
                   "make it anew against the incumbent");
}

std::string CleanMessage(std::string_view message) {
  std::string clean(Trim(message));
  std::erase(clean, '\0');
  if (clean.empty()) clean = "Candidate without a description";
  return clean + "\n";
}

}  // namespace

Result<CommitId> Vault::CommitPatch(const CommitId& parent, std::string_view patch,
                                    std::string_view message) {
  if (Trim(patch).empty()) return MakeError(Code::kInvalidArgument, "the patch is empty");
  PAWL_ASSIGN(const CommitText before, ReadCommitText(objects_, parent));
  PAWL_ASSIGN(const os::ScratchFolder scratch, os::ScratchFolder::Make(folder_, "incoming-"));
  GitRun run;
  run.git_dir = folder_;
  const std::string date = Format("@{} +0000", before.committed_s + 1);
  run.env = {"GIT_INDEX_FILE=" + (scratch.path() / "index").string(), "GIT_AUTHOR_DATE=" + date,
             "GIT_COMMITTER_DATE=" + date};
  PAWL_TRY(ApplyToIndex(run, parent, patch));

  run.arguments = {"write-tree"};
  PAWL_ASSIGN(const std::string tree, RunGitOrError(run));
  if (Trim(tree) == before.tree)
    return MakeError(Code::kInvalidArgument, "the patch changes nothing");
  run.arguments = {"commit-tree", std::string(Trim(tree)), "-p", parent.hex};
  run.input = CleanMessage(message);
  PAWL_ASSIGN(const std::string made, RunGitOrError(run));
  CommitId commit{std::string(Trim(made))};
  PAWL_TRY(Pin(commit));
  return commit;
}

}  // namespace pawl::campaign
