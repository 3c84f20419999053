#include "campaign/harness_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "campaign/scope_path.h"

namespace pawl::campaign {
namespace {

namespace fs = std::filesystem;

class Finder {
 public:
  explicit Finder(const Config& config) : config_(config) {}

  Status AddEntry(const std::string& path) {
    const bool outside = path.starts_with('/');
    Path host = outside ? Path(path) : config_.root / path;
    struct stat info{};
    if (::stat(host.c_str(), &info) != 0) {
      if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return SystemError(Format("cannot look at {}", host.string()), errno);
      found_.missing.push_back(path);
      return OkStatus();
    }
    std::error_code error;
    const Path real = fs::weakly_canonical(host, error);
    if (error) return SystemError(Format("cannot resolve {}", host.string()), error.value());
    // An absolute path was named on purpose; a relative one must mean what it says.
    allowed_ = outside ? real : config_.root;
    if (!outside && !IsWithin(real.generic_string(), allowed_.generic_string())) {
      AddProblem(path, host,
                 Format("symbolic link leaves the project: {} -> {}", path, real.string()));
      return OkStatus();
    }
    if (!S_ISDIR(info.st_mode)) return AddFile(path, host);
    if (!outside && fs::is_symlink(host, error)) {
      AddProblem(path, host, FolderLink(path));
      return OkStatus();
    }
    return AddFolder(path, outside ? real : host);
  }

  HarnessFiles Take() {
    auto& files = found_.files;
    std::sort(files.begin(), files.end(),
              [](const HarnessFile& a, const HarnessFile& b) { return a.path < b.path; });
    files.erase(
        std::unique(files.begin(), files.end(),
                    [](const HarnessFile& a, const HarnessFile& b) { return a.path == b.path; }),
        files.end());
    return std::move(found_);
  }

 private:
  static std::string FolderLink(std::string_view path) {
    return Format("symbolic link to a folder: {} (name its target in fixed_paths)", path);
  }

  void AddProblem(std::string path, Path host, std::string problem) {
    found_.files.push_back({std::move(path), std::move(host), {}, 0, std::move(problem)});
  }

  Status AddFile(const std::string& path, const Path& host) {
    struct stat info{};
    if (::stat(host.c_str(), &info) != 0)
      return SystemError(Format("cannot look at {}", host.string()), errno);
    if (!S_ISREG(info.st_mode)) {
      AddProblem(path, host, Format("special file: {}", path));
      return OkStatus();
    }
    PAWL_ASSIGN(const os::FileStamp stamp, os::StampFile(host));
    found_.files.push_back({path, host, stamp, info.st_mode & 07777U, ""});
    return OkStatus();
  }

  Status AddLink(const std::string& path, const Path& host) {
    std::error_code error;
    const Path target = fs::canonical(host, error);
    if (error) {
      AddProblem(path, host, Format("broken symbolic link: {}", path));
    } else if (!IsWithin(target.generic_string(), allowed_.generic_string())) {
      AddProblem(path, host,
                 Format("symbolic link leaves the project: {} -> {}", path, target.string()));
    } else if (fs::is_directory(target, error)) {
      AddProblem(path, host, FolderLink(path));
    } else {
      return AddFile(path, host);
    }
    return OkStatus();
  }

  Status AddFolder(const std::string& path, const Path& host) {
    PAWL_ASSIGN(const std::vector<os::TreeEntry> entries, os::ListTree(host));
    for (const os::TreeEntry& entry : entries) {
      const std::string name = Format("{}/{}", path, entry.relative);
      const Path file = host / entry.relative;
      if (entry.kind == os::FileKind::kRegular) PAWL_TRY(AddFile(name, file));
      if (entry.kind == os::FileKind::kLink) PAWL_TRY(AddLink(name, file));
      if (entry.kind == os::FileKind::kOther)
        AddProblem(name, file, Format("special file: {}", name));
    }
    return OkStatus();
  }

  const Config& config_;
  Path allowed_;  // where links of the present entry may lead
  HarnessFiles found_;
};

}  // namespace

Result<HarnessFiles> FindHarnessFiles(const Config& config) {
  Finder finder(config);
  for (const std::string& path : HarnessPaths(config)) PAWL_TRY(finder.AddEntry(path));
  return finder.Take();
}

}  // namespace pawl::campaign
