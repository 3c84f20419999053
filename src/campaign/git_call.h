// How every git process is started: an environment built from nothing, command-line configuration
// that beats the repository's, an explicit GIT_DIR so that nothing is discovered by git itself.
// For the files of this module; others use git.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"
#include "os/process.h"

namespace pawl::campaign {

using os::Path;

struct GitFolders {
  Path git_dir;     // of this work tree
  Path common_dir;  // with objects and refs; another one in linked work trees
  Path top;         // empty for a bare repository
};
// Found by looking for `.git` upwards, never by asking git: core.worktree and bare repositories
// that were committed into the tree lead nowhere.
Result<GitFolders> FindGitFolders(const Path& start);

bool IsObjectName(std::string_view text);  // 40 or 64 lower-case hex digits

std::vector<std::string> GitEnvironment();
std::vector<std::string> GitArguments();  // "git" and the overriding -c pairs

struct GitRun {
  Path git_dir;
  Path work_tree;                      // may be empty
  std::vector<std::string> arguments;  // verb first
  std::vector<std::string> env;        // replaces entries of the same name
  std::vector<std::string> config;     // "key=value", after the standing overrides
  std::string input;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t max_output_bytes = std::uint64_t{256} << 20;
};
// How it is to be started.
os::ToolCall GitCall(const GitRun& run);
Result<os::ToolResult> RunGit(const GitRun& run);
// What a non-zero exit means: git's own words, and what they say about the machine.
Error GitError(std::string_view verb, const os::ToolResult& result);
// Whether a failed call says something about the machine (full, broken, git killed) and nothing
// about the repository.
bool IsMachinesFault(const Error& error);
// A non-zero exit is an error with git's own words.
Result<std::string> RunGitOrError(const GitRun& run);

}  // namespace pawl::campaign
