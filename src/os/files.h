// Files as Pawl needs them: whole reads with a cap, durable atomic writes, trees that are walked
// and removed without ever following a link. Paths are taken as given; nothing here expands or
// guesses.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace pawl::os {

using Path = std::filesystem::path;

// Owns a descriptor; closed on destruction.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Reset(); }
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();
  void Reset();

 private:
  int fd_ = -1;
};

// Whole content of a regular file; refuses anything else, and sizes above `max_bytes`. Never
// follows a link in the last component when `follow_links` is false.
struct ReadOptions {
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  bool follow_links = true;
};
Result<std::string> ReadFile(const Path& path, const ReadOptions& options = {});

// Writes through a temporary file in the same folder and renames it over `path`. When `durable`,
// data and folder are synced first: after OkStatus() the content survives power loss.
struct WriteOptions {
  mode_t mode = 0644;
  bool durable = true;
};
Status WriteFileAtomic(const Path& path, std::string_view bytes, const WriteOptions& options = {});
// How the temporary files' names begin: what a killed process left of them is worth nothing.
inline constexpr const char* kTemporaryPrefix = ".pawl-";

Status SyncFolder(const Path& folder);
Status MakeFolders(const Path& folder, mode_t mode = 0755);
// Follows links: a dangling link does not exist.
bool Exists(const Path& path);

// Removes a file or a whole tree, entering no link and making unreadable folders readable on the
// way. Absence is success.
Status RemoveTree(const Path& path);

// Copies a tree with modes and modification times; data by reflink where the file system can.
// Links are copied as links. `destination` must not exist.
Status CopyTree(const Path& source, const Path& destination);

// Moves the folder `relative` below `top` to `destination` on the same file system, through no link:
// what lies below `top` may be a candidate's work. kInvalidArgument when a link or something that is
// no folder stands in its place or on the way to it, kNotFound when nothing does.
Status MoveFolderOut(const Path& top, const Path& relative, const Path& destination);

// Gives a file or a whole tree to a user and the group of the same number; links themselves, never
// their targets. Files with several names are left alone unless they are already in `known` users'
// hands (first number and count): one of the names may lie elsewhere.
struct UserRange {
  uid_t first = 0;
  std::uint32_t count = 0;
};
Status GiveTree(const Path& path, uid_t user, UserRange known);

enum class FileKind { kRegular, kFolder, kLink, kOther };
struct TreeEntry {
  std::string relative;  // with '/', no leading "./"
  FileKind kind = FileKind::kRegular;
  mode_t mode = 0;
  std::uint64_t size_bytes = 0;
};
// Every entry below `root`, sorted by name; links are reported, never followed.
Result<std::vector<TreeEntry>> ListTree(const Path& root);

Result<Sha256> HashFile(const Path& path);

// What identifies unchanged content without reading it: device, inode, size, mtime and ctime in ns.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size_bytes = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
Result<FileStamp> StampFile(const Path& path);

// An exclusive lock that dies with this process and is inherited by no child (open file description
// lock on a close-on-exec descriptor). kBusy names the holder when it left a note in the file.
class FileLock {
 public:
  static Result<FileLock> Acquire(const Path& path, std::string_view note);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// A private folder below `parent`, removed with its content on destruction unless Keep() was
// called. It is locked while it lives, so that those of killed processes can be told.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make(const Path& parent, std::string_view prefix);
  // In the system's folder for temporary files; `what` becomes part of the name.
  static Result<ScratchFolder> MakeTemporary(std::string_view what);
  // Removes those of this user's whose makers were killed. One that is younger than `least_age` may
  // just not be locked yet.
  static void RemoveAbandoned(const Path& parent = std::filesystem::temp_directory_path(),
                              std::chrono::seconds least_age = std::chrono::seconds(60));
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const Path& path() const { return path_; }
  Path Keep();

 private:
  ScratchFolder(Path path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  Path path_;
  Fd lock_;
};

// The folder of the running executable, and a program on PATH (empty when absent).
Path ExecutableFolder();
Path FindProgram(std::string_view name);

}  // namespace pawl::os
