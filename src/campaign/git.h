// git by its command line, always with a scrubbed environment: no system or user configuration, no
// hooks, no replace refs, no lazy fetch, no optional locks. Two kinds of repository: the user's
// (read, plus compare-and-swap of one branch) and Pawl's own bare one (see vault.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace pawl::campaign {

using os::Path;

// Full object name, 40 or 64 lower-case hex digits.
struct CommitId {
  std::string hex;
  std::string brief() const { return hex.substr(0, 7); }
  bool empty() const { return hex.empty(); }
  friend bool operator==(const CommitId&, const CommitId&) = default;
};

struct Worktree {
  Path top;                      // of the user's repository
  std::string prefix;            // project root below top, "" or "sub/folder"
  std::string branch;            // "" when detached
  std::optional<CommitId> head;  // absent in a repository without commits
};

// kNotFound with the hint to run git init when `root` is in no work tree.
Result<Worktree> OpenWorktree(const Path& root);

// Lines of `git status --porcelain=v1 -z` as paths; empty when clean. Ignored files do not count.
Result<std::vector<std::string>> DirtyPaths(const Worktree& worktree);

// Resolves a user's word (HEAD, branch, abbreviated id) to a commit.
Result<CommitId> ResolveCommit(const Path& repository, std::string_view revision);

// Moves refs/heads/<branch> from `expected` to `next` or fails with kConflict; never touches index
// or files. When the branch is checked out in `worktree`, its index and files are left alone too:
// the caller says so to the user.
Status MoveBranch(const Path& repository, std::string_view branch, const CommitId& expected,
                  const CommitId& next, std::string_view reason);

// A git call in `repository` under the scrubbed environment; for the modules above.
Result<std::string> Git(const Path& repository, std::vector<std::string> arguments,
                        std::string_view input = {});

}  // namespace pawl::campaign
