#include "run/result_files.h"

#include <sys/stat.h>

#include "base/text.h"

namespace pawl::run {

using campaign::Protocol;
using campaign::Stage;

namespace {

// What lies there: the content's hash, or what kind of thing it is instead. Time stamps would not
// do: a sandbox changes the owner of the files that it hands over.
std::optional<std::string> LookAt(const Path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  const auto bytes = os::ReadFile(path, {.max_bytes = kMaxResultBytes, .follow_links = false});
  if (!bytes.ok()) return Format("inode {}, {} bytes", status.st_ino, status.st_size);
  return HashBytes(*bytes).hex();
}

bool IsRealFolder(const Path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::optional<mode_t> KindOf(const Path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode & S_IFMT;
}

// Every folder on the way to the last name is a folder and no link.
bool WayHolds(const Path& root, const Path& relative) {
  Path at = root;
  for (const Path& part : relative.parent_path()) {
    at /= part;
    if (!IsRealFolder(at)) return false;
  }
  return true;
}

// Files by content; links by where they lead (below L3 they stand for large files).
bool SameEntry(const Path& a, const Path& b) {
  const std::optional<mode_t> kind = KindOf(a);
  if (kind != KindOf(b)) return false;
  if (kind == S_IFLNK) {
    std::error_code error;
    const Path target = std::filesystem::read_symlink(a, error);
    return !error && target == std::filesystem::read_symlink(b, error) && !error;
  }
  if (kind != S_IFREG) return true;
  const Result<Sha256> left = os::HashFile(a);
  const Result<Sha256> right = os::HashFile(b);
  return left.ok() && right.ok() && *left == *right;
}

bool SameContent(const Path& a, const Path& b) {
  if (!IsRealFolder(a) || !IsRealFolder(b)) return SameEntry(a, b);
  const auto left = os::ListTree(a);
  const auto right = os::ListTree(b);
  if (!left.ok() || !right.ok() || left->size() != right->size()) return false;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const std::string& name = (*left)[i].relative;
    if (name != (*right)[i].relative || !SameEntry(a / name, b / name)) return false;
  }
  return true;
}

}  // namespace

struct ResultFiles::Watched {
  std::string_view name;
  std::optional<std::string> before;
  bool may_write = false;
  std::optional<std::string>* content = nullptr;
};

ResultFiles::ResultFiles(Protocol protocol, Stage stage, Path run_dir)
    : protocol_(protocol),
      stage_(stage),
      run_dir_(std::move(run_dir)),
      perf_before_(LookAt(run_dir_ / "perf.json")),
      quality_before_(LookAt(run_dir_ / "quality.json")) {}

void ResultFiles::Collect(StageResult& result) const {
  const bool perf = protocol_ == Protocol::kFiles && stage_ == Stage::kPerf;
  CollectOne({"perf.json", perf_before_, perf, &result.perf}, result);
  CollectOne({"quality.json", quality_before_, stage_ == Stage::kQuality, &result.quality}, result);
}

void ResultFiles::CollectOne(const Watched& watched, StageResult& result) const {
  const Path path = run_dir_ / watched.name;
  const std::optional<std::string> now = LookAt(path);
  const std::string_view stage = campaign::StageName(stage_);
  if (now == watched.before) {
    if (now && watched.may_write) {
      result.integrity.push_back(Format("{} is stale: {} did not write it", watched.name, stage));
    }
    return;
  }
  if (!watched.may_write) {
    result.integrity.push_back(Format("{} was {} by the {} command, which must not touch it",
                                      watched.name, now ? "written" : "removed", stage));
    if (now) os::RemoveTree(path).Ignore("the finding already refuses the candidate");
    return;
  }
  if (!now) return;
  Result<std::string> bytes =
      os::ReadFile(path, {.max_bytes = kMaxResultBytes, .follow_links = false});
  if (bytes.ok()) {
    *watched.content = std::move(*bytes);
  } else {
    result.integrity.push_back(
        Format("{} cannot be used: {}", watched.name, bytes.error().message));
  }
}

void FindOddOutputs(const Path& outputs, std::vector<std::string>& integrity) {
  if (!os::Exists(outputs)) return;
  if (!IsRealFolder(outputs)) {
    integrity.emplace_back("outputs is not a folder");
    return;
  }
  const auto entries = os::ListTree(outputs);
  if (!entries.ok()) {
    integrity.push_back("outputs cannot be read: " + entries.error().message);
    return;
  }
  for (const os::TreeEntry& entry : *entries) {
    if (entry.kind == os::FileKind::kRegular || entry.kind == os::FileKind::kFolder) continue;
    integrity.push_back(Format("outputs holds a {}: {}",
                               entry.kind == os::FileKind::kLink ? "link" : "special file",
                               PrintableLine(entry.relative)));
    if (integrity.size() >= 20) return;
  }
}

void FindChangedHarness(const campaign::Config& config, const Path& tree, const Path& harness_tree,
                        const Path& prefix, std::string_view stage,
                        std::vector<std::string>& integrity) {
  for (const std::string& path : OverlaidPaths(config)) {
    const Path relative = prefix / path;
    if (!KindOf(harness_tree / relative)) continue;
    const bool holds =
        WayHolds(tree, relative) && SameContent(harness_tree / relative, tree / relative);
    if (!holds) {
      integrity.push_back(
          Format("the {} command changed the harness: {}", stage, PrintableLine(path)));
    }
  }
}

}  // namespace pawl::run
