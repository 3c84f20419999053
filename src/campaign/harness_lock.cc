#include "campaign/harness_lock.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "base/text.h"
#include "campaign/harness_files.h"

namespace pawl::campaign {
namespace {

// Files above this are data: copying them into every tree would cost more than it protects.
constexpr std::uint64_t kInPlaceBytes = std::uint64_t{8} << 20;

// The device number is left out: it may differ after a reboot, and the others tell a file that was
// touched.
bool SameStamp(const os::FileStamp& a, const os::FileStamp& b) {
  return a.inode == b.inode && a.size_bytes == b.size_bytes && a.mtime_ns == b.mtime_ns &&
         a.ctime_ns == b.ctime_ns;
}

Result<Sha256> StoreOrHash(const HarnessFile& file, bool in_place, store::Artifacts& artifacts) {
  if (in_place) return os::HashFile(file.host);
  PAWL_ASSIGN(const std::string bytes, os::ReadFile(file.host));
  return artifacts.Put(bytes);
}

Result<LockedFile> LockFile(const HarnessFile& file, store::Artifacts& artifacts) {
  if (!file.problem.empty())
    return MakeError(Code::kInvalidArgument,
                     Format("fixed path cannot be locked: {}", PrintableLine(file.problem, 400)));
  LockedFile locked;
  locked.path = file.path;
  locked.size_bytes = file.stamp.size_bytes;
  locked.mode = file.mode;
  locked.stamp = file.stamp;
  locked.in_place = file.stamp.size_bytes > kInPlaceBytes || file.path.starts_with('/');
  PAWL_ASSIGN(const Sha256 hash, StoreOrHash(file, locked.in_place, artifacts));
  locked.sha256 = hash.hex();
  PAWL_ASSIGN(const os::FileStamp after, os::StampFile(file.host));
  if (!SameStamp(after, file.stamp))
    return MakeError(Code::kConflict, Format("{} changed while it was read", file.host.string()),
                     "stop what writes to it and try again");
  return locked;
}

Json StampToJson(const os::FileStamp& stamp) {
  // As text: device and inode may need all 64 bits.
  return JsonArray{std::to_string(stamp.device), std::to_string(stamp.inode),
                   std::to_string(stamp.size_bytes), std::to_string(stamp.mtime_ns),
                   std::to_string(stamp.ctime_ns)};
}

template <class T>
bool ReadNumber(const Json& json, T& value) {
  const std::string* text = json.AsString();
  if (text == nullptr || text->empty()) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size();
}

bool StampFromJson(const Json* json, os::FileStamp& stamp) {
  const JsonArray* parts = json == nullptr ? nullptr : json->AsArray();
  return parts != nullptr && parts->size() == 5 && ReadNumber((*parts)[0], stamp.device) &&
         ReadNumber((*parts)[1], stamp.inode) && ReadNumber((*parts)[2], stamp.size_bytes) &&
         ReadNumber((*parts)[3], stamp.mtime_ns) && ReadNumber((*parts)[4], stamp.ctime_ns);
}

Result<bool> IsUnchanged(const LockedFile& locked, const HarnessFile& now, LockCheck check) {
  if (!now.problem.empty()) return false;
  if (check == LockCheck::kQuick && SameStamp(locked.stamp, now.stamp)) return true;
  if (locked.size_bytes != now.stamp.size_bytes) return false;
  PAWL_ASSIGN(const Sha256 hash, os::HashFile(now.host));
  return hash.hex() == locked.sha256;
}

}  // namespace

Json HarnessLock::ToJson() const {
  JsonArray list;
  for (const LockedFile& file : files) {
    list.emplace_back(JsonObject{{"path", file.path},
                                 {"sha256", file.sha256},
                                 {"size_bytes", Json::Count(file.size_bytes)},
                                 {"mode", Json::Count(file.mode)},
                                 {"in_place", file.in_place},
                                 {"stamp", StampToJson(file.stamp)}});
  }
  return JsonObject{{"files", std::move(list)}};
}

Result<HarnessLock> HarnessLock::FromJson(const Json& json) {
  const Json* list = json.Find("files");
  if (list == nullptr || list->AsArray() == nullptr)
    return MakeError(Code::kCorrupt, "harness lock without a list of files");
  HarnessLock lock;
  for (const Json& item : *list->AsArray()) {
    LockedFile file;
    file.path = item.StringAt("path");
    file.sha256 = item.StringAt("sha256");
    const std::int64_t size_bytes = item.IntAt("size_bytes", -1);
    const std::int64_t mode = item.IntAt("mode", -1);
    file.size_bytes = static_cast<std::uint64_t>(size_bytes);
    file.mode = static_cast<std::uint32_t>(mode);
    file.in_place = item.BoolAt("in_place");
    if (file.path.empty() || size_bytes < 0 || mode < 0 || mode > 07777 ||
        !Sha256::FromHex(file.sha256) || !StampFromJson(item.Find("stamp"), file.stamp))
      return MakeError(Code::kCorrupt, Format("harness lock with an ill-formed file: {}",
                                              PrintableLine(item.Compact())));
    lock.files.push_back(std::move(file));
  }
  return lock;
}

Json HarnessLock::CompatHashes() const {
  JsonObject hashes;
  for (const LockedFile& file : files) hashes[file.path] = file.sha256;
  return hashes;
}

Result<HarnessLock> LockHarness(const Config& config, store::Artifacts& artifacts) {
  PAWL_ASSIGN(const HarnessFiles found, FindHarnessFiles(config));
  if (!found.missing.empty())
    return MakeError(Code::kNotFound,
                     Format("fixed path missing: {}", PrintableLine(found.missing.front())),
                     "correct fixed_paths, or put the file in place");
  HarnessLock lock;
  for (const HarnessFile& file : found.files) {
    PAWL_ASSIGN(LockedFile locked, LockFile(file, artifacts));
    lock.files.push_back(std::move(locked));
  }
  PAWL_TRY(artifacts.Flush());
  return lock;
}

Result<std::vector<std::string>> ChangedHarness(const HarnessLock& lock, const Config& config,
                                                LockCheck check) {
  PAWL_ASSIGN(const HarnessFiles found, FindHarnessFiles(config));
  std::map<std::string_view, const HarnessFile*> present;
  for (const HarnessFile& file : found.files) present[file.path] = &file;
  std::vector<std::string> changed;
  for (const LockedFile& locked : lock.files) {
    const auto now = present.find(locked.path);
    if (now == present.end()) {
      changed.push_back(locked.path);
      continue;
    }
    PAWL_ASSIGN(const bool unchanged, IsUnchanged(locked, *now->second, check));
    if (!unchanged) changed.push_back(locked.path);
    present.erase(now);
  }
  for (const auto& [path, file] : present) changed.emplace_back(path);
  std::sort(changed.begin(), changed.end());
  return changed;
}

}  // namespace pawl::campaign
