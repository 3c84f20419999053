// Whether the user's work tree is clean, without running anything that its configuration names.
//
// `git status` in the user's own repository may start core.fsmonitor, and clean filters whenever a
// file's time stamp differs. Emptying each filter on the command line would still leave a moment
// between listing the filters and running. So git is given a private GIT_DIR with Pawl's own config
// and is lent only data: the user's index, objects and exclude lists, and a few settings that say
// how text is compared. A filter that an attribute names then has no driver and does nothing.
// Price: files behind a filter (Git LFS) count as changed when their time stamp is not the index's.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "campaign/git.h"
#include "campaign/git_call.h"

namespace pawl::campaign {
namespace {

namespace fs = std::filesystem;

// Settings that are data; none of them names a program.
constexpr std::array<std::string_view, 11> kHarmlessSettings = {
    "autocrlf",           "eol",          "filemode",          "ignorecase",
    "symlinks",           "excludesfile", "precomposeunicode", "sparsecheckout",
    "sparsecheckoutcone", "trustctime",   "checkstat"};

std::string HomeFolder() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home);
}

Path UserConfigFolder() {
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  if (xdg != nullptr && *xdg != '\0') return Path(xdg) / "git";
  return HomeFolder().empty() ? Path() : Path(HomeFolder()) / ".config" / "git";
}

// "key = value  ; comment" to its value, without quotes.
std::string PlainValue(std::string_view line) {
  std::string value;
  bool quoted = false;
  for (const char c : Trim(line)) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '#' || c == ';')) {
      break;
    } else {
      value += c;
    }
  }
  value = std::string(Trim(value));
  return value.starts_with("~/") ? HomeFolder() + value.substr(1) : value;
}

// The harmless settings of a config file's [core] sections. A line in a form not understood here
// counts as absent, which can only make a clean file look changed.
std::vector<std::string> SettingsFrom(const Path& file) {
  std::vector<std::string> settings;
  const auto text = os::ReadFile(file);
  if (!text.ok()) return settings;
  bool in_core = false;
  for (const std::string_view raw : Split(*text, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.starts_with('[')) in_core = ToLowerAscii(line).starts_with("[core]");
    const auto equals = line.find('=');
    const std::string key = ToLowerAscii(Trim(line.substr(0, equals)));
    if (!in_core || std::find(kHarmlessSettings.begin(), kHarmlessSettings.end(), key) ==
                        kHarmlessSettings.end())
      continue;
    settings.push_back(Format("core.{}={}", key,
                              equals == std::string_view::npos
                                  ? std::string("true")
                                  : PlainValue(line.substr(equals + 1))));
  }
  return settings;
}

std::vector<std::string> UserSettings(const GitFolders& folders) {
  std::vector<std::string> settings;
  const Path config_folder = UserConfigFolder();
  if (!config_folder.empty())
    settings.push_back("core.excludesFile=" + (config_folder / "ignore").string());
  const std::array<Path, 3> files = {
      config_folder.empty() ? Path() : config_folder / "config",
      HomeFolder().empty() ? Path() : Path(HomeFolder()) / ".gitconfig",
      folders.common_dir / "config"};
  for (const Path& file : files) {
    if (file.empty()) continue;
    const std::vector<std::string> more = SettingsFrom(file);
    settings.insert(settings.end(), more.begin(), more.end());
  }
  return settings;
}

Status CopyIfPresent(const Path& from, const Path& to) {
  if (!os::Exists(from)) return OkStatus();
  PAWL_ASSIGN(const std::string bytes, os::ReadFile(from));
  return os::WriteFileAtomic(to, bytes, {.durable = false});
}

// A git folder that holds nothing of the user's but copies of lists.
Status FillPrivateFolder(const Path& folder, const GitFolders& user, const Worktree& worktree) {
  for (const char* name : {"objects", "refs", "info"}) PAWL_TRY(os::MakeFolders(folder / name));
  const bool sha256 = worktree.head && worktree.head->hex.size() == 64;
  const std::string config =
      Format("[core]\n\trepositoryformatversion = {}\n\tbare = false\n{}", sha256 ? 1 : 0,
             sha256 ? "[extensions]\n\tobjectformat = sha256\n" : "");
  PAWL_TRY(os::WriteFileAtomic(folder / "config", config, {.durable = false}));
  const std::string head = worktree.head ? worktree.head->hex : "ref: refs/heads/unborn";
  PAWL_TRY(os::WriteFileAtomic(folder / "HEAD", head + "\n", {.durable = false}));
  for (const char* name : {"exclude", "attributes"})
    PAWL_TRY(CopyIfPresent(user.common_dir / "info" / name, folder / "info" / name));
  PAWL_TRY(CopyIfPresent(user.git_dir / "info" / "sparse-checkout",
                         folder / "info" / "sparse-checkout"));
  std::error_code error;
  for (fs::directory_iterator at(user.git_dir, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("sharedindex."))  // the other half of a split index
      PAWL_TRY(CopyIfPresent(at->path(), folder / name));
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<std::string>> DirtyPaths(const Worktree& worktree) {
  PAWL_ASSIGN(const GitFolders folders, FindGitFolders(worktree.top));
  PAWL_ASSIGN(const os::ScratchFolder scratch, os::ScratchFolder::MakeTemporary("status"));
  PAWL_TRY(FillPrivateFolder(scratch.path(), folders, worktree));
  GitRun run;
  run.git_dir = scratch.path();
  run.work_tree = folders.top;
  run.env = {"GIT_INDEX_FILE=" + (folders.git_dir / "index").string(),
             "GIT_OBJECT_DIRECTORY=" + (folders.common_dir / "objects").string()};
  run.config = UserSettings(folders);
  // Submodules are compared by their commit only: looking into one would obey its configuration.
  run.arguments = {"status",
                   "--porcelain=v1",
                   "-z",
                   "--untracked-files=normal",
                   "--ignore-submodules=dirty",
                   "--no-renames"};
  PAWL_ASSIGN(const std::string out, RunGitOrError(run));
  std::vector<std::string> paths;
  constexpr std::size_t kStatusWidth = 3;  // "XY "
  for (const std::string_view record : Split(out, '\0')) {
    if (record.size() > kStatusWidth) paths.emplace_back(record.substr(kStatusWidth));
  }
  return paths;
}

}  // namespace pawl::campaign
