// Single files and the small things around them: reading, atomic writing, locks, scratch folders.
// Trees are in file_tree.cc.
#include "os/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/text.h"

namespace pawl::os {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr int kScratchFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::string_view kScratchPrefix = "pawl-scratch-";

Error FileError(std::string_view verb, const Path& path, int errno_value) {
  return SystemError(Format("cannot {} {}", verb, path.string()), errno_value);
}

// Opens for reading without ever blocking on a fifo, and makes sure that it is a regular file.
Result<Fd> OpenRegular(const Path& path, bool follow_links, struct stat& info) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow_links ? 0 : O_NOFOLLOW);
  Fd fd(::open(path.c_str(), flags));
  if (!fd.valid()) {
    if (errno == ELOOP && !follow_links) {
      return MakeError(Code::kInvalidArgument,
                       Format("{} is a symbolic link; a regular file was expected", path.string()));
    }
    return FileError("open", path, errno);
  }
  if (::fstat(fd.get(), &info) != 0) return FileError("inspect", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return MakeError(Code::kInvalidArgument, Format("{} is not a regular file", path.string()));
  }
  return fd;
}

// Reads on from the current position; 0 at the end.
Result<std::size_t> ReadSome(int fd, char* buffer, std::size_t size, const Path& path) {
  while (true) {
    const ssize_t got = ::read(fd, buffer, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return FileError("read", path, errno);
  }
}

Status WriteAll(int fd, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError("write", path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return OkStatus();
}

Path FolderOf(const Path& path) {
  Path parent = path.parent_path();
  return parent.empty() ? Path(".") : parent;
}

Status FillAndRename(int fd, const Path& temporary, const Path& path, std::string_view bytes,
                     const WriteOptions& options) {
  PAWL_TRY(WriteAll(fd, bytes, path));
  if (::fchmod(fd, options.mode) != 0) return FileError("set the mode of", path, errno);
  if (options.durable && ::fsync(fd) != 0) return FileError("sync", path, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return FileError("replace", path, errno);
  return OkStatus();
}

std::string RandomName() {
  const std::string random = RandomBytes(8);
  const auto* first = reinterpret_cast<const std::uint8_t*>(random.data());
  return ToHex({first, random.size()});
}

bool IsProgram(const Path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int Fd::Release() {
  return std::exchange(fd_, -1);
}

void Fd::Reset() {
  // Linux frees the number even when close() reports an error, so it is never repeated.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<std::string> ReadFile(const Path& path, const ReadOptions& options) {
  struct stat info{};
  PAWL_ASSIGN(Fd fd, OpenRegular(path, options.follow_links, info));
  const auto too_big = [&] {
    return MakeError(
        Code::kResourceExhausted,
        Format("{} is larger than the limit of {}", path.string(), FormatBytes(options.max_bytes)));
  };
  const auto stated = static_cast<std::uint64_t>(info.st_size);
  if (stated > options.max_bytes) return too_big();
  // The size is only a guess: /proc says 0, and a file may grow while it is read.
  std::string content;
  std::size_t used = 0;
  while (true) {
    content.resize(std::max(used + kChunk / 16, static_cast<std::size_t>(stated) + 1));
    PAWL_ASSIGN(const std::size_t got,
                ReadSome(fd.get(), content.data() + used, content.size() - used, path));
    used += got;
    if (got == 0) break;
    if (used > options.max_bytes) return too_big();
  }
  content.resize(used);
  return content;
}

Status WriteFileAtomic(const Path& path, std::string_view bytes, const WriteOptions& options) {
  const Path folder = FolderOf(path);
  const Path temporary = folder / (kTemporaryPrefix + RandomName() + ".tmp");
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return FileError("create a temporary file for", path, errno);
  if (Status status = FillAndRename(fd.get(), temporary, path, bytes, options); !status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return options.durable ? SyncFolder(folder) : OkStatus();
}

Status SyncFolder(const Path& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FileError("open folder", folder, errno);
  if (::fsync(fd.get()) != 0) return FileError("sync folder", folder, errno);
  return OkStatus();
}

Status MakeFolders(const Path& folder, mode_t mode) {
  if (folder.empty()) return OkStatus();
  if (::mkdir(folder.c_str(), mode) == 0) return OkStatus();
  if (errno == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    PAWL_TRY(MakeFolders(folder.parent_path(), mode));
    if (::mkdir(folder.c_str(), mode) == 0) return OkStatus();
  }
  const int failure = errno;
  struct stat info{};
  if (failure == EEXIST && ::stat(folder.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return OkStatus();
    return MakeError(
        Code::kAlreadyExists,
        Format("cannot make folder {}: a file of that name is there", folder.string()));
  }
  return FileError("make folder", folder, failure);
}

bool Exists(const Path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

Result<Sha256> HashFile(const Path& path) {
  struct stat info{};
  PAWL_ASSIGN(Fd fd, OpenRegular(path, true, info));
  Hasher hasher;
  std::string chunk(kChunk, '\0');
  while (true) {
    PAWL_ASSIGN(const std::size_t got, ReadSome(fd.get(), chunk.data(), chunk.size(), path));
    if (got == 0) return hasher.Finish();
    hasher.Update(std::string_view(chunk).substr(0, got));
  }
}

Result<FileStamp> StampFile(const Path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return FileError("inspect", path, errno);
  return FileStamp{.device = info.st_dev,
                   .inode = info.st_ino,
                   .size_bytes = static_cast<std::uint64_t>(info.st_size),
                   .mtime_ns = Nanoseconds(info.st_mtim),
                   .ctime_ns = Nanoseconds(info.st_ctim)};
}

namespace {

// Who holds a lock writes its note after it got it: one that came a moment later waits for that.
std::string HolderOf(const Path& path) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::string note =
        PrintableLine(ReadFile(path, {.max_bytes = 4096}).ValueOr(std::string()));
    if (!note.empty()) return note;
    ::usleep(1000);
  }
  return "another process";
}

}  // namespace

Result<FileLock> FileLock::Acquire(const Path& path, std::string_view note) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return FileError("open lock", path, errno);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) return FileError("lock", path, errno);
    return MakeError(Code::kBusy, Format("{} is locked by {}", path.string(), HolderOf(path)),
                     "wait until it has finished, or end it");
  }
  if (::ftruncate(fd.get(), 0) != 0) return FileError("write lock", path, errno);
  PAWL_TRY(WriteAll(fd.get(), note, path));
  return FileLock(std::move(fd));
}

Result<ScratchFolder> ScratchFolder::Make(const Path& parent, std::string_view prefix) {
  std::string pattern = (parent / Format("{}XXXXXX", prefix)).string();
  if (::mkdtemp(pattern.data()) == nullptr) return FileError("make a folder in", parent, errno);
  Fd lock(::open(pattern.c_str(), kScratchFlags));
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FileError("lock the new folder", pattern, errno);
  }
  return ScratchFolder(Path(pattern), std::move(lock));
}

Result<ScratchFolder> ScratchFolder::MakeTemporary(std::string_view what) {
  return Make(std::filesystem::temp_directory_path(), Format("{}{}-", kScratchPrefix, what));
}

void ScratchFolder::RemoveAbandoned(const Path& parent, std::chrono::seconds least_age) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(parent, failure)) {
    if (!entry.path().filename().string().starts_with(kScratchPrefix)) continue;
    const Fd folder(::open(entry.path().c_str(), kScratchFlags));
    struct stat info{};
    if (!folder.valid() || ::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid() ||
        info.st_ctime > std::time(nullptr) - least_age.count() ||
        ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
      continue;
    }
    RemoveTree(entry.path()).Ignore("it is tried again at the next start");
  }
}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) RemoveTree(path_).Ignore("a destructor has nobody to tell");
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, Path())), lock_(std::move(other.lock_)) {}

Path ScratchFolder::Keep() {
  return std::exchange(path_, Path());
}

Path ExecutableFolder() {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink("/proc/self/exe", target.data(), target.size());
  if (length <= 0) return {};
  return Path(std::string_view(target.data(), static_cast<std::size_t>(length))).parent_path();
}

Path FindProgram(std::string_view name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string_view::npos) {
    std::error_code failure;
    Path absolute = std::filesystem::absolute(Path(name), failure);
    return !failure && IsProgram(absolute) ? absolute : Path();
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread of this program changes the environment
  const char* search = std::getenv("PATH");
  for (std::string_view folder : Split(search != nullptr ? search : "/usr/bin:/bin", ':')) {
    // Relative entries would let the current folder decide what runs.
    if (!folder.starts_with('/')) continue;
    Path candidate = Path(folder) / name;
    if (IsProgram(candidate)) return candidate;
  }
  return {};
}

}  // namespace pawl::os
