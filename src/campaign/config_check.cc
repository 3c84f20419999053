// The checks of a config that look at the disk.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "campaign/config.h"
#include "campaign/config_reader.h"
#include "campaign/contract.h"
#include "campaign/scope_path.h"

namespace pawl::campaign {
namespace {

namespace fs = std::filesystem;

bool IsEmptyFolder(const Path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->is_directory(error)) return false;
  }
  return true;
}

void CheckFixed(const Config& config, IssueList& issues) {
  for (const std::string& fixed : config.fixed_paths) {
    std::string slashed = fixed;
    std::replace(slashed.begin(), slashed.end(), '\\', '/');
    const Path path = config.root / slashed;
    std::error_code error;
    if (!fs::exists(path, error)) {
      const bool glob = fixed.find_first_of("*?[") != std::string::npos;
      issues.Problem("fixed_paths",
                     Format("fixed path missing: {}{}", PrintableLine(fixed),
                            glob ? " (globs are not expanded; name the folder)" : ""));
    } else if (fs::is_directory(path, error) && IsEmptyFolder(path)) {
      issues.Problem("fixed_paths", Format("fixed path holds no file: {}", PrintableLine(fixed)));
    }
  }
}

// A link inside a mutable path may make a fixed file reachable under a second name.
void CheckAliases(const Config& config, const std::string& mutable_path, IssueList& issues) {
  std::error_code error;
  const Path real = fs::weakly_canonical(config.root / mutable_path, error);
  if (error) return;
  const std::string real_name = HarnessPath(config, real);
  if (real_name == mutable_path) return;
  if (real_name.starts_with('/')) {
    issues.Problem("mutable_paths",
                   Format("`{}` is a link that leaves the project", PrintableLine(mutable_path)));
    return;
  }
  for (const std::string& fixed : HarnessPaths(config)) {
    if (Overlap(real_name, fixed))
      issues.Problem("mutable_paths", Format("`{}` is a link into the fixed path `{}`",
                                             PrintableLine(mutable_path), PrintableLine(fixed)));
  }
}

void CheckMutable(const Config& config, IssueList& issues) {
  for (const std::string& path : config.mutable_paths) {
    std::error_code error;
    if (fs::exists(config.root / path, error)) {
      CheckAliases(config, path, issues);
    } else if (path.find_first_of("*?[") != std::string::npos) {
      issues.Problem("mutable_paths",
                     Format("`{}` matches nothing: globs are not expanded; name the folder",
                            PrintableLine(path)));
    } else {
      issues.Note("mutable_paths",
                  Format("mutable path does not currently exist: {}", PrintableLine(path)));
    }
  }
}

void CheckLockFiles(const Config& config, IssueList& issues) {
  for (const std::string& path : config.setup_lock_files) {
    std::error_code error;
    if (!fs::is_regular_file(config.root / path, error))
      issues.Problem("setup.lock_files", Format("no such file: {}", PrintableLine(path)));
  }
}

// The first word of a shell text when it plainly names a program on PATH, "" otherwise.
std::string PlainProgram(std::string_view command) {
  const std::string_view text = Trim(command);
  const std::string word(text.substr(0, text.find_first_of(" \t\n;&|<>()")));
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
           c == '+';
  });
  constexpr std::array<std::string_view, 38> kShellWords = {
      ".",      ":",     "alias", "break", "case",  "cd",     "command", "continue",
      "do",     "echo",  "eval",  "exec",  "exit",  "export", "false",   "fi",
      "for",    "hash",  "if",    "local", "pwd",   "printf", "read",    "readonly",
      "set",    "shift", "test",  "then",  "times", "trap",   "true",    "type",
      "ulimit", "umask", "unset", "until", "wait",  "while"};
  const bool shell = std::find(kShellWords.begin(), kShellWords.end(), word) != kShellWords.end();
  return plain && !shell ? word : std::string();
}

void CheckPrograms(const Config& config, IssueList& issues) {
  if (config.sandbox.set.contains("PATH")) return;
  for (const auto& [stage, command] : config.commands) {
    const std::string program = PlainProgram(command);
    if (!program.empty() && os::FindProgram(program).empty())
      issues.Problem(Format("commands.{}", StageName(stage)),
                     Format("program `{}` is not on PATH", program));
  }
}

}  // namespace

std::vector<ConfigIssue> CheckAgainstDisk(const Config& config) {
  IssueList issues(config.file.string());
  CheckFixed(config, issues);
  CheckMutable(config, issues);
  CheckLockFiles(config, issues);
  CheckPrograms(config, issues);
  if (const auto contract = LoadContract(config); !contract.ok())
    issues.Problem("quality_contract", contract.error().message);
  return issues.issues();
}

}  // namespace pawl::campaign
