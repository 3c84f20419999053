// Laying the locked harness over a tree. It also runs after a candidate's code had the tree, so
// every step goes through descriptors and follows no link.
#include <algorithm>

#include "base/text.h"
#include "campaign/harness_lock.h"
#include "campaign/scope_path.h"
#include "campaign/tree_writer.h"

namespace pawl::campaign {
namespace {

// A folder of nothing but large files becomes one mount above this count.
constexpr std::size_t kManyMounts = 32;

// The configured harness paths inside the project, without those below another one.
std::vector<std::string> OutermostPaths(const Config& config) {
  std::vector<std::string> outermost;
  for (std::string& path : HarnessPaths(config)) {  // sorted
    if (!path.starts_with('/') && !IsWithinAny(path, outermost))
      outermost.push_back(std::move(path));
  }
  return outermost;
}

std::vector<std::string> InPlaceBelow(const HarnessLock& lock, std::string_view scope) {
  std::vector<std::string> in_place;
  bool all = true;
  for (const LockedFile& file : lock.files) {
    if (!IsWithin(file.path, scope)) continue;
    if (file.in_place)
      in_place.push_back(file.path);
    else
      all = false;
  }
  if (all && in_place.size() > kManyMounts) return {std::string(scope)};
  return in_place;
}

Status WriteLocked(const LockedFile& locked, const store::Artifacts& artifacts,
                   TreeWriter& writer) {
  NewFile file;
  file.path = locked.path;
  // Permissions of others do not matter in a tree of our own, and commands may run as another uid.
  file.mode = (locked.mode & 0100U) != 0 ? 0755 : 0644;
  std::string bytes;  // of a file in place: empty, what a mount needs to lie on
  if (!locked.in_place) {
    const auto hash = Sha256::FromHex(locked.sha256);
    if (!hash)
      return MakeError(Code::kCorrupt, Format("the lock of {} holds no hash", locked.path));
    PAWL_ASSIGN(bytes, artifacts.Get(*hash));
  }
  file.bytes = bytes;
  return writer.Write(file);
}

}  // namespace

Result<std::vector<os::Mount>> OverlayHarness(const HarnessLock& lock, const Config& config,
                                              const store::Artifacts& artifacts,
                                              const Path& tree_root) {
  PAWL_ASSIGN(TreeWriter writer, TreeWriter::Open(tree_root));
  std::vector<os::Mount> mounts;
  for (const std::string& scope : OutermostPaths(config)) {
    PAWL_TRY(writer.Clear(scope));
    for (const LockedFile& file : lock.files) {
      if (IsWithin(file.path, scope)) PAWL_TRY(WriteLocked(file, artifacts, writer));
    }
    for (const std::string& path : InPlaceBelow(lock, scope))
      mounts.push_back({config.root / path, tree_root / path, os::Access::kReadOnly});
  }
  return mounts;
}

}  // namespace pawl::campaign
