#include "store/artifacts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "base/text.h"

namespace pawl::store {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::string_view kTemporaryPrefix = ".put-";
// One sync of the file system costs less than those of a file and its two folders, unless others
// have left much to write there, which we would wait for.
constexpr std::int64_t kMaxForeignDirtyKb = 32 << 10;
constexpr std::size_t kSyncWorkers = 8;

std::string FanName(const Sha256& hash) {
  return hash.hex().substr(0, 2);
}
std::string LeafName(const Sha256& hash) {
  return hash.hex().substr(2);
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot write an artifact", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return OkStatus();
}

// Reads a descriptor to its end in chunks.
Status ReadChunks(int fd, const std::string& what,
                  const std::function<Status(std::string_view)>& take) {
  std::string buffer(kChunk, '\0');
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(Format("cannot read {}", what), errno);
    if (got == 0) return OkStatus();
    PAWL_TRY(take(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
  }
}

bool IsRegular(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

std::vector<std::string> Names(int folder_fd) {
  std::vector<std::string> names;
  const int copy = ::openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return names;
  DIR* listing = ::fdopendir(copy);
  if (listing == nullptr) {
    ::close(copy);
    return names;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this stream.
  while (const dirent* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(listing);
  std::sort(names.begin(), names.end());
  return names;
}

bool IsRegularAt(int folder_fd, const std::string& name) {
  struct stat info{};
  return ::fstatat(folder_fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode);
}

// Since Linux 5.8 syncfs reports write errors; before that it must not be relied on.
bool WholeSyncReportsErrors() {
  struct utsname name{};
  int major = 0;
  int minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 5 || (major == 5 && minor >= 8));
}

// Kilobytes that wait to be written on the whole machine; -1 when unknown.
std::int64_t DirtyKb() {
  const Result<std::string> text = os::ReadFile("/proc/meminfo", {.max_bytes = 64 << 10});
  if (!text.ok()) return -1;
  std::int64_t sum = 0;
  for (const std::string_view line : Split(*text, '\n')) {
    if (!line.starts_with("Dirty:") && !line.starts_with("Writeback:")) continue;
    std::string_view number = Trim(line.substr(line.find(':') + 1));
    number = number.substr(0, number.find(' '));
    const std::optional<std::int64_t> value = ParseInt(number);
    if (!value) return -1;
    sum += *value;
  }
  return sum;
}

bool WholeSyncPays() {
  static const bool kReports = WholeSyncReportsErrors();
  if (!kReports) return false;
  const std::int64_t dirty = DirtyKb();
  return dirty >= 0 && dirty <= kMaxForeignDirtyKb;
}

struct ToSync {
  os::Fd fd;
  os::Path path;
};

// Each sync sleeps until the disk answers; several at once wait for the same answer.
Status SyncTogether(std::span<const ToSync> targets) {
  std::atomic<std::size_t> next{0};
  std::vector<int> failures(targets.size(), 0);
  const auto work = [&] {
    for (std::size_t i = next++; i < targets.size(); i = next++) {
      if (::fsync(targets[i].fd.get()) != 0) failures[i] = errno;
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min(kSyncWorkers, targets.size()); ++i) {
      workers.emplace_back(work);
    }
    work();
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (failures[i] == 0) continue;
    return SystemError(Format("cannot sync {}", targets[i].path.string()), failures[i]);
  }
  return OkStatus();
}

std::string RandomSuffix() {
  const std::string random = RandomBytes(8);
  const auto* first = reinterpret_cast<const std::uint8_t*>(random.data());
  return ToHex({first, random.size()});
}

}  // namespace

Result<Artifacts> Artifacts::Open(const os::Path& folder, OpenMode mode) {
  Artifacts store(folder);
  if (mode == OpenMode::kCreate) PAWL_TRY(os::MakeFolders(folder, 0700));
  store.fd_ = os::Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!store.fd_.valid()) {
    if (errno == ENOENT && mode == OpenMode::kReadOnly) return store;
    if (errno == ELOOP || errno == ENOTDIR) {
      return MakeError(Code::kInvalidArgument,
                       Format("{} is not a folder of its own (a link or a file)", folder.string()),
                       "remove it or choose another state folder");
    }
    return SystemError(Format("cannot open the artifacts folder {}", folder.string()), errno);
  }
  if (mode == OpenMode::kReadOnly) return store;
  for (const std::string& name : Names(store.fd_.get())) {
    if (name.starts_with(kTemporaryPrefix)) ::unlinkat(store.fd_.get(), name.c_str(), 0);
  }
  return store;
}

Result<os::Fd> Artifacts::OpenFan(const Sha256& hash) const {
  os::Fd fan(fd_.valid() ? ::openat(fd_.get(), FanName(hash).c_str(),
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                         : -1);
  if (fan.valid()) return fan;
  if (!fd_.valid() || errno == ENOENT) {
    return MakeError(Code::kNotFound, Format("there is no artifact {}", PathOf(hash).string()));
  }
  if (errno == ELOOP || errno == ENOTDIR) {
    return MakeError(Code::kCorrupt,
                     Format("{} is not a folder", PathOf(hash).parent_path().string()));
  }
  return SystemError(Format("cannot open {}", PathOf(hash).parent_path().string()), errno);
}

Result<os::Fd> Artifacts::MakeFan(const Sha256& hash) {
  if (::mkdirat(fd_.get(), FanName(hash).c_str(), 0700) != 0 && errno != EEXIST) {
    return SystemError(Format("cannot make {}", PathOf(hash).parent_path().string()), errno);
  }
  return OpenFan(hash);
}

Result<os::Fd> Artifacts::OpenObject(const Sha256& hash) const {
  PAWL_ASSIGN(const os::Fd fan, OpenFan(hash));
  os::Fd fd(::openat(fan.get(), LeafName(hash).c_str(),
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd.valid() && IsRegular(fd.get())) return fd;
  if (!fd.valid() && errno == ENOENT) {
    return MakeError(Code::kNotFound, Format("there is no artifact {}", PathOf(hash).string()));
  }
  if (fd.valid() || errno == ELOOP || errno == ENXIO) {
    return MakeError(Code::kCorrupt, Format("{} is not a regular file", PathOf(hash).string()));
  }
  return SystemError(Format("cannot open {}", PathOf(hash).string()), errno);
}

Status Artifacts::Settle(const std::string& temporary, const Sha256& hash) {
  const Status present = Check(hash);
  if (present.ok()) {
    ::unlinkat(fd_.get(), temporary.c_str(), 0);
    unsynced_.push_back({hash, false});
    return OkStatus();
  }
  PAWL_ASSIGN(const os::Fd fan, MakeFan(hash));
  if (::renameat(fd_.get(), temporary.c_str(), fan.get(), LeafName(hash).c_str()) != 0) {
    return SystemError(Format("cannot name {}", PathOf(hash).string()), errno);
  }
  unsynced_.push_back({hash, true});
  return OkStatus();
}

Result<Sha256> Artifacts::Store(const std::function<Result<Sha256>(int fd)>& fill) {
  if (!failure_.ok()) return failure_.error();
  PAWL_CHECK(fd_.valid());
  const std::string temporary = std::string(kTemporaryPrefix) + RandomSuffix();
  const os::Fd fd(::openat(fd_.get(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return SystemError(Format("cannot make a file in {}", folder_.string()), errno);
  }
  Result<Sha256> hash = fill(fd.get());
  const Status settled = hash.ok() ? Settle(temporary, *hash) : Status(hash.error());
  if (settled.ok()) return hash;
  ::unlinkat(fd_.get(), temporary.c_str(), 0);
  return settled.error();
}

Result<Sha256> Artifacts::Put(std::string_view bytes) {
  return Store([bytes](int fd) -> Result<Sha256> {
    PAWL_TRY(WriteAll(fd, bytes));
    return HashBytes(bytes);
  });
}

Result<Sha256> Artifacts::PutFile(const os::Path& file) {
  const os::Fd source(
      ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!source.valid() && errno != ELOOP) {
    return SystemError(Format("cannot open {}", file.string()), errno);
  }
  if (!source.valid() || !IsRegular(source.get())) {
    return MakeError(Code::kInvalidArgument, Format("{} is not a regular file", file.string()));
  }
  // A copy, never a hard link: whoever has the file open could change the object later.
  return Store([&](int fd) -> Result<Sha256> {
    Hasher hasher;
    PAWL_TRY(ReadChunks(source.get(), file.string(), [&](std::string_view chunk) {
      hasher.Update(chunk);
      return WriteAll(fd, chunk);
    }));
    return hasher.Finish();
  });
}

Status Artifacts::SyncWhole() const {
  if (::syncfs(fd_.get()) == 0) return OkStatus();
  return SystemError(Format("cannot sync the file system of {}", folder_.string()), errno);
}

Status Artifacts::SyncEach() const {
  std::vector<ToSync> targets;
  std::set<std::string> fans;
  for (const Unsynced& one : unsynced_) {
    PAWL_ASSIGN(os::Fd object, OpenObject(one.hash));
    targets.push_back({std::move(object), PathOf(one.hash)});
    if (!fans.insert(FanName(one.hash)).second) continue;
    PAWL_ASSIGN(os::Fd fan, OpenFan(one.hash));
    targets.push_back({std::move(fan), PathOf(one.hash).parent_path()});
  }
  PAWL_TRY(SyncTogether(targets));
  if (::fsync(fd_.get()) == 0) return OkStatus();
  return SystemError(Format("cannot sync {}", folder_.string()), errno);
}

Status Artifacts::Flush(Sync how) {
  if (!failure_.ok()) return failure_;
  if (unsynced_.empty()) return OkStatus();
  failure_ = how == Sync::kCheapest && WholeSyncPays() ? SyncWhole() : SyncEach();
  if (!failure_.ok()) {
    for (const Unsynced& one : unsynced_) {
      if (one.fresh) Remove(one.hash).Ignore("the sync failed already; that is what we report");
    }
  }
  unsynced_.clear();
  return failure_;
}

Status Artifacts::Stream(const Sha256& hash,
                         const std::function<Status(std::string_view)>& take) const {
  PAWL_ASSIGN(const os::Fd fd, OpenObject(hash));
  Hasher hasher;
  PAWL_TRY(ReadChunks(fd.get(), PathOf(hash).string(), [&](std::string_view chunk) {
    hasher.Update(chunk);
    return take(chunk);
  }));
  const Sha256 found = hasher.Finish();
  if (found == hash) return OkStatus();
  return MakeError(
      Code::kCorrupt,
      Format("{} is damaged: its bytes hash to {}", PathOf(hash).string(), found.hex()),
      "run `pawl verify` to see what depends on it");
}

Result<std::string> Artifacts::Get(const Sha256& hash, std::uint64_t max_bytes) const {
  std::string bytes;
  PAWL_TRY(Stream(hash, [&](std::string_view chunk) -> Status {
    if (bytes.size() + chunk.size() > max_bytes) {
      return MakeError(
          Code::kResourceExhausted,
          Format("{} is larger than {}", PathOf(hash).string(), FormatBytes(max_bytes)));
    }
    bytes += chunk;
    return OkStatus();
  }));
  return bytes;
}

bool Artifacts::Contains(const Sha256& hash) const {
  const Result<os::Fd> fan = OpenFan(hash);
  return fan.ok() && IsRegularAt(fan->get(), LeafName(hash));
}

os::Path Artifacts::PathOf(const Sha256& hash) const {
  return folder_ / FanName(hash) / LeafName(hash);
}

Status Artifacts::Check(const Sha256& hash) const {
  return Stream(hash, [](std::string_view) { return OkStatus(); });
}

Result<std::vector<Sha256>> Artifacts::List() const {
  std::vector<Sha256> hashes;
  if (!fd_.valid()) return hashes;
  for (const std::string& fan_name : Names(fd_.get())) {
    const std::optional<Sha256> any = Sha256::FromHex(fan_name + std::string(62, '0'));
    if (!any) continue;
    const Result<os::Fd> fan = OpenFan(*any);
    if (!fan.ok()) continue;
    for (const std::string& leaf : Names(fan->get())) {
      const std::optional<Sha256> hash = Sha256::FromHex(fan_name + leaf);
      if (hash && hash->hex() == fan_name + leaf && IsRegularAt(fan->get(), leaf)) {
        hashes.push_back(*hash);
      }
    }
  }
  return hashes;
}

Result<std::vector<std::string>> Artifacts::Strangers() const {
  std::vector<std::string> strangers;
  PAWL_ASSIGN(const std::vector<Sha256> known, List());
  if (!fd_.valid()) return strangers;
  std::set<std::string> paths;
  for (const Sha256& hash : known) paths.insert(FanName(hash) + "/" + LeafName(hash));
  PAWL_ASSIGN(const std::vector<os::TreeEntry> entries, os::ListTree(folder_));
  for (const os::TreeEntry& entry : entries) {
    const bool fan = entry.kind == os::FileKind::kFolder && entry.relative.size() == 2 &&
                     Sha256::FromHex(entry.relative + std::string(62, '0')).has_value();
    const bool temporary = entry.relative.starts_with(kTemporaryPrefix);
    if (!fan && !temporary && !paths.contains(entry.relative)) strangers.push_back(entry.relative);
  }
  return strangers;
}

Status Artifacts::Remove(const Sha256& hash) {
  const Result<os::Fd> fan = OpenFan(hash);
  if (!fan.ok()) return fan.error().code == Code::kNotFound ? OkStatus() : Status(fan.error());
  if (::unlinkat(fan->get(), LeafName(hash).c_str(), 0) == 0 || errno == ENOENT) return OkStatus();
  return SystemError(Format("cannot remove {}", PathOf(hash).string()), errno);
}

}  // namespace pawl::store
