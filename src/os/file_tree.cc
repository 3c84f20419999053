// Whole trees: list, remove, copy. Everything goes through folder descriptors with O_NOFOLLOW, so a
// link that a candidate left, or swaps in meanwhile, is never entered.
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"
#include "os/files.h"

namespace pawl::os {
namespace {

constexpr int kMaxDepth = 200;  // two descriptors a level stay below the usual limit of 1024
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr int kHoistDepth = 64;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

Error TreeError(std::string_view verb, const Path& at, int errno_value) {
  return SystemError(Format("cannot {} {}", verb, PrintableLine(at.string(), 400)), errno_value);
}

Error TooDeep(const Path& at) {
  return MakeError(Code::kInvalidArgument, Format("{} nests folders deeper than {} levels",
                                                  PrintableLine(at.string()), kMaxDepth));
}

// Names in a folder, without "." and "..". The descriptor's position is not used.
Result<std::vector<std::string>> Names(int folder, const Path& at) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return TreeError("read folder", at, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), &::closedir);
  if (stream == nullptr) {
    const int failure = errno;
    ::close(copy);
    return TreeError("read folder", at, failure);
  }
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    if (names.size() > kMaxEntries) {
      return MakeError(Code::kResourceExhausted,
                       Format("{} holds more than {} entries", at.string(), kMaxEntries));
    }
  }
  if (errno != 0) return TreeError("read folder", at, errno);
  std::sort(names.begin(), names.end());
  return names;
}

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kFolder;
  if (S_ISLNK(mode)) return FileKind::kLink;
  return FileKind::kOther;
}

// The last component and the folder that holds it; "a/b/" names b.
std::pair<Path, Path> SplitLast(const Path& path) {
  Path clean = path.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  Path parent = clean.parent_path();
  return {parent.empty() ? Path(".") : parent, clean.filename()};
}

// ---- remove

// Folders below kHoistDepth are moved up to the top and taken from there, so that the depth of a
// hostile tree costs neither stack nor descriptors.
class Remover {
 public:
  Remover(int top, Path at) : top_(top), at_(std::move(at)) {}

  Status Empty() {
    PAWL_TRY(EmptyFolder(top_, at_, 0));
    while (hoisted_ > emptied_) PAWL_TRY(RemoveEntry(top_, HoistName(emptied_++), at_, 0));
    return OkStatus();
  }

 private:
  static std::string HoistName(std::size_t index) { return Format(".pawl-hoisted-{}", index); }

  Status EmptyFolder(int folder, const Path& at, int depth) {
    PAWL_ASSIGN(const std::vector<std::string> names, Names(folder, at));
    for (const std::string& name : names) PAWL_TRY(RemoveEntry(folder, name, at, depth));
    return OkStatus();
  }

  Status RemoveEntry(int folder, const std::string& name, const Path& at, int depth) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return OkStatus();
    if (errno != EISDIR && errno != EPERM) return TreeError("remove", at / name, errno);
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) return OkStatus();
    if (errno != ENOTEMPTY && errno != EEXIST) return TreeError("remove", at / name, errno);
    if (depth >= kHoistDepth) {
      const std::string hoisted = HoistName(hoisted_++);
      if (::renameat(folder, name.c_str(), top_, hoisted.c_str()) == 0) return OkStatus();
      return TreeError("move for removal", at / name, errno);
    }
    {
      PAWL_ASSIGN(const Fd below, OpenForRemoval(folder, name, at));
      PAWL_TRY(EmptyFolder(below.get(), at / name, depth + 1));
    }
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return OkStatus();
    return TreeError("remove", at / name, errno);
  }

  static Result<Fd> OpenForRemoval(int folder, const std::string& name, const Path& at) {
    // Best effort: where it was needed and failed, opening says so.
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode) &&
        (info.st_mode & S_IRWXU) != S_IRWXU) {
      if (::fchmodat(folder, name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) != 0) errno = 0;
    }
    Fd below(::openat(folder, name.c_str(), kFolderFlags));
    if (!below.valid()) return TreeError("open folder", at / name, errno);
    return below;
  }

  int top_;
  Path at_;
  std::size_t hoisted_ = 0;
  std::size_t emptied_ = 0;
};

// ---- copy

// Copies [offset, end) through the kernel where it can, by hand where it cannot.
Status CopyRange(int from, int to, off_t offset, off_t end, const Path& at) {
  while (offset < end) {
    off_t in = offset;
    off_t out = offset;
    const ssize_t copied =
        ::copy_file_range(from, &in, to, &out, static_cast<std::size_t>(end - offset), 0);
    if (copied > 0) {
      offset += copied;
      continue;
    }
    if (copied == 0) return OkStatus();  // shorter than it was
    if (errno == EINTR) continue;
    if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS) {
      return TreeError("copy", at, errno);
    }
    std::array<char, 65536> chunk{};
    const auto want = std::min<std::size_t>(chunk.size(), static_cast<std::size_t>(end - offset));
    const ssize_t got = ::pread(from, chunk.data(), want, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return TreeError("read", at, errno);
    if (got == 0) return OkStatus();
    const ssize_t put = ::pwrite(to, chunk.data(), static_cast<std::size_t>(got), offset);
    if (put < 0 && errno != EINTR) return TreeError("write the copy of", at, errno);
    if (put > 0) offset += put;
  }
  return OkStatus();
}

// Data segments only: a sparse file of a terabyte must not become a full one.
Status CopyData(int from, int to, off_t size, const Path& at) {
  if (::ioctl(to, FICLONE, from) == 0) return OkStatus();
  if (::ftruncate(to, size) != 0) return TreeError("write the copy of", at, errno);
  off_t offset = 0;
  while (offset < size) {
    off_t data = ::lseek(from, offset, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return OkStatus();
    off_t hole = size;
    if (data < 0) {
      data = offset;  // the file system knows no holes
    } else if (const off_t found = ::lseek(from, data, SEEK_HOLE); found > data) {
      hole = std::min(found, size);
    }
    PAWL_TRY(CopyRange(from, to, data, hole, at));
    offset = hole;
  }
  return OkStatus();
}

Status CopyRegular(int from_folder, int to_folder, const std::string& name, const Path& at) {
  const Fd from(
      ::openat(from_folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!from.valid() || ::fstat(from.get(), &info) != 0) return TreeError("open", at, errno);
  const Fd to(::openat(to_folder, name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!to.valid()) return TreeError("create the copy of", at, errno);
  PAWL_TRY(CopyData(from.get(), to.get(), info.st_size, at));
  const std::array<timespec, 2> times = {info.st_atim, info.st_mtim};
  // Set-uid bits do not travel.
  if (::fchmod(to.get(), info.st_mode & 0777) != 0 || ::futimens(to.get(), times.data()) != 0) {
    return TreeError("set mode and time of the copy of", at, errno);
  }
  return OkStatus();
}

Status CopyLink(int from_folder, int to_folder, const std::string& name, const struct stat& info,
                const Path& at) {
  std::array<char, 4097> target{};
  const ssize_t length = ::readlinkat(from_folder, name.c_str(), target.data(), target.size() - 1);
  if (length < 0) return TreeError("read link", at, errno);
  const std::array<timespec, 2> times = {info.st_atim, info.st_mtim};
  if (::symlinkat(target.data(), to_folder, name.c_str()) != 0 ||
      ::utimensat(to_folder, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
    return TreeError("create the copy of", at, errno);
  }
  return OkStatus();
}

Status CopyEntry(int from, int to, const std::string& name, const Path& at, int depth);

Status CopyFolder(int from_folder, int to_folder, const std::string& from_name,
                  const std::string& to_name, const Path& at, int depth) {
  if (depth > kMaxDepth) return TooDeep(at);
  const Fd from(::openat(from_folder, from_name.c_str(), kFolderFlags));
  struct stat info{};
  if (!from.valid() || ::fstat(from.get(), &info) != 0) return TreeError("open folder", at, errno);
  if (::mkdirat(to_folder, to_name.c_str(), 0700) != 0) {
    return TreeError("create the copy of", at, errno);
  }
  const Fd to(::openat(to_folder, to_name.c_str(), kFolderFlags));
  if (!to.valid()) return TreeError("open the copy of", at, errno);
  PAWL_ASSIGN(const std::vector<std::string> names, Names(from.get(), at));
  for (const std::string& name : names) {
    PAWL_TRY(CopyEntry(from.get(), to.get(), name, at / name, depth));
  }
  const std::array<timespec, 2> times = {info.st_atim, info.st_mtim};
  if (::fchmod(to.get(), info.st_mode & 0777) != 0 || ::futimens(to.get(), times.data()) != 0) {
    return TreeError("set mode and time of the copy of", at, errno);
  }
  return OkStatus();
}

Status CopyEntry(int from, int to, const std::string& name, const Path& at, int depth) {
  struct stat info{};
  if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return TreeError("inspect", at, errno);
  }
  switch (KindOf(info.st_mode)) {
    case FileKind::kRegular:
      return CopyRegular(from, to, name, at);
    case FileKind::kFolder:
      return CopyFolder(from, to, name, name, at, depth + 1);
    case FileKind::kLink:
      return CopyLink(from, to, name, info, at);
    case FileKind::kOther:
      break;
  }
  return MakeError(Code::kInvalidArgument,
                   Format("cannot copy {}: it is neither file, folder nor link",
                          PrintableLine(at.string(), 400)));
}

// ---- give

struct Gift {
  uid_t user;
  UserRange known;

  bool Wanted(const struct stat& info) const {
    if (info.st_uid == user && info.st_gid == user) return false;
    const bool ours = info.st_uid >= known.first && info.st_uid - known.first < known.count;
    return S_ISDIR(info.st_mode) || info.st_nlink == 1 || ours;
  }
};

Status GiveEntry(int folder, const std::string& name, const Path& at, const Gift& gift, int depth) {
  if (depth > kMaxDepth) return TooDeep(at);
  struct stat info{};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return TreeError("inspect", at, errno);
  }
  if (gift.Wanted(info) &&
      ::fchownat(folder, name.c_str(), gift.user, gift.user, AT_SYMLINK_NOFOLLOW) != 0) {
    return TreeError("change the owner of", at, errno);
  }
  if (!S_ISDIR(info.st_mode)) return OkStatus();
  const Fd below(::openat(folder, name.c_str(), kFolderFlags));
  if (!below.valid()) return TreeError("open folder", at, errno);
  PAWL_ASSIGN(const std::vector<std::string> names, Names(below.get(), at));
  for (const std::string& inner : names) {
    PAWL_TRY(GiveEntry(below.get(), inner, at / inner, gift, depth + 1));
  }
  return OkStatus();
}

// ---- list

Status ListFolder(int folder, const std::string& prefix, const Path& root, int depth,
                  std::vector<TreeEntry>& entries) {
  if (depth > kMaxDepth) return TooDeep(root);
  PAWL_ASSIGN(const std::vector<std::string> names, Names(folder, root / prefix));
  for (const std::string& name : names) {
    struct stat info{};
    const std::string relative = prefix + name;
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return TreeError("inspect", root / relative, errno);
    }
    const FileKind kind = KindOf(info.st_mode);
    entries.push_back(
        {relative, kind, info.st_mode & 07777, static_cast<std::uint64_t>(info.st_size)});
    if (entries.size() > kMaxEntries) {
      return MakeError(Code::kResourceExhausted,
                       Format("{} holds more than {} entries", root.string(), kMaxEntries));
    }
    if (kind != FileKind::kFolder) continue;
    const Fd below(::openat(folder, name.c_str(), kFolderFlags));
    if (!below.valid()) return TreeError("open folder", root / relative, errno);
    PAWL_TRY(ListFolder(below.get(), relative + "/", root, depth + 1, entries));
  }
  return OkStatus();
}

}  // namespace

Status RemoveTree(const Path& path) {
  const auto [parent_path, name] = SplitLast(path);
  if (name.empty() || name == "." || name == ".." || name == "/") {
    return MakeError(
        Code::kInvalidArgument,
        Format("refusing to remove '{}': it names no entry of a folder", path.string()));
  }
  const Fd parent(::open(parent_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) {
    return errno == ENOENT ? OkStatus() : Status(TreeError("open folder", parent_path, errno));
  }
  struct stat info{};
  if (::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? OkStatus() : Status(TreeError("inspect", path, errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT) return OkStatus();
    return TreeError("remove", path, errno);
  }
  if ((info.st_mode & S_IRWXU) != S_IRWXU) {
    if (::fchmodat(parent.get(), name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) != 0) {
      return TreeError("make readable", path, errno);
    }
  }
  {
    const Fd top(::openat(parent.get(), name.c_str(), kFolderFlags));
    if (!top.valid()) return TreeError("open folder", path, errno);
    PAWL_TRY(Remover(top.get(), path).Empty());
  }
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return OkStatus();
  }
  return TreeError("remove", path, errno);
}

Status CopyTree(const Path& source, const Path& destination) {
  const auto [from_parent, from_name] = SplitLast(source);
  const auto [to_parent, to_name] = SplitLast(destination);
  const Fd from(::open(from_parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!from.valid()) return TreeError("open folder", from_parent, errno);
  const Fd to(::open(to_parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!to.valid()) return TreeError("open folder", to_parent, errno);
  return CopyFolder(from.get(), to.get(), from_name.string(), to_name.string(), source, 0);
}

Status MoveFolderOut(const Path& top, const Path& relative, const Path& destination) {
  const auto refuse = [&](int errno_value) -> Status {
    if (errno_value == ENOENT) {
      return MakeError(Code::kNotFound, Format("{} is not there", (top / relative).string()));
    }
    if (errno_value != ENOTDIR && errno_value != ELOOP) {
      return TreeError("open folder", top / relative, errno_value);
    }
    return MakeError(Code::kInvalidArgument, Format("{} is no folder, or is reached through a link",
                                                    PrintableLine((top / relative).string(), 400)));
  };
  Fd parent(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return TreeError("open folder", top, errno);
  for (const Path& component : relative.parent_path()) {
    PAWL_CHECK(component != ".." && !component.is_absolute());
    Fd next(::openat(parent.get(), component.c_str(), kFolderFlags));
    if (!next.valid()) return refuse(errno);
    parent = std::move(next);
  }
  const Path name = relative.filename();
  const Fd folder(::openat(parent.get(), name.c_str(), kFolderFlags));
  if (!folder.valid()) return refuse(errno);
  if (::renameat(parent.get(), name.c_str(), AT_FDCWD, destination.c_str()) != 0) {
    return TreeError("move", top / relative, errno);
  }
  return OkStatus();
}

Status GiveTree(const Path& path, uid_t user, UserRange known) {
  const auto [parent_path, name] = SplitLast(path);
  const Fd parent(::open(parent_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return TreeError("open folder", parent_path, errno);
  return GiveEntry(parent.get(), name.string(), path, {user, known}, 0);
}

Result<std::vector<TreeEntry>> ListTree(const Path& root) {
  const Fd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return TreeError("open folder", root, errno);
  std::vector<TreeEntry> entries;
  PAWL_TRY(ListFolder(folder.get(), std::string(), root, 0, entries));
  std::sort(entries.begin(), entries.end(),
            [](const TreeEntry& a, const TreeEntry& b) { return a.relative < b.relative; });
  return entries;
}

}  // namespace pawl::os
