#include "campaign/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"

namespace pawl::campaign {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Opens the folder `name` in `parent`, making it when absent and putting it in the place of
// anything that is no folder.
Result<os::Fd> EnterFolder(int parent, const std::string& name) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    os::Fd fd(::openat(parent, name.c_str(), kFolderFlags));
    if (fd.valid()) return fd;
    if (errno == ENOTDIR || errno == ELOOP) {
      if (::unlinkat(parent, name.c_str(), 0) != 0)
        return SystemError(Format("cannot replace {}", PrintableLine(name)), errno);
    } else if (errno != ENOENT) {
      return SystemError(Format("cannot open folder {}", PrintableLine(name)), errno);
    }
    if (::mkdirat(parent, name.c_str(), 0755) != 0)
      return SystemError(Format("cannot make folder {}", PrintableLine(name)), errno);
  }
  return MakeError(Code::kIo, Format("cannot enter folder {}", PrintableLine(name)));
}

Status WriteAll(int fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(Format("cannot write {}", PrintableLine(path)), errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return OkStatus();
}

bool IsPlain(std::string_view component) {
  return !component.empty() && component != "." && component != ".." &&
         component.find('\0') == std::string_view::npos;
}

}  // namespace

Result<TreeWriter> TreeWriter::Make(const Path& root) {
  if (::mkdir(root.c_str(), 0755) != 0)
    return SystemError(Format("cannot make {}", root.string()), errno);
  return Open(root);
}

Result<TreeWriter> TreeWriter::Open(const Path& root) {
  os::Fd fd(::open(root.c_str(), kFolderFlags));
  if (!fd.valid()) return SystemError(Format("cannot open {}", root.string()), errno);
  return TreeWriter(std::move(fd));
}

Result<int> TreeWriter::EnterParent(std::string_view path, std::string_view& name) {
  const std::vector<std::string_view> parts = Split(path, '/');
  for (const std::string_view part : parts) {
    if (!IsPlain(part))
      return MakeError(Code::kInvalidArgument,
                       Format("`{}` is no path below a folder", PrintableLine(path)));
  }
  std::size_t shared = 0;
  while (shared + 1 < parts.size() && shared < levels_.size() &&
         levels_[shared].name == parts[shared])
    ++shared;
  levels_.erase(levels_.begin() + static_cast<std::ptrdiff_t>(shared), levels_.end());
  for (std::size_t i = shared; i + 1 < parts.size(); ++i) {
    const int parent = levels_.empty() ? root_.get() : levels_.back().fd.get();
    std::string part(parts[i]);
    PAWL_ASSIGN(os::Fd fd, EnterFolder(parent, part));
    levels_.push_back({std::move(part), std::move(fd)});
  }
  name = parts.back();
  return levels_.empty() ? root_.get() : levels_.back().fd.get();
}

Status TreeWriter::Write(const NewFile& file) {
  std::string_view last;
  PAWL_ASSIGN(const int parent, EnterParent(file.path, last));
  const std::string name(last);
  const os::Fd fd(
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return SystemError(Format("cannot make {}", PrintableLine(file.path)), errno);
  PAWL_TRY(WriteAll(fd.get(), file.bytes, file.path));
  // The mode given to openat is cut by the umask.
  if (::fchmod(fd.get(), file.mode) != 0)
    return SystemError(Format("cannot set the mode of {}", PrintableLine(file.path)), errno);
  if (file.touched) return OkStatus();
  const timespec fixed{kFixedMtimeSeconds, 0};
  const std::array<timespec, 2> times = {fixed, fixed};
  if (::futimens(fd.get(), times.data()) != 0)
    return SystemError(Format("cannot set the time of {}", PrintableLine(file.path)), errno);
  return OkStatus();
}

Status TreeWriter::Clear(std::string_view path) {
  std::string_view last;
  PAWL_ASSIGN(const int parent, EnterParent(path, last));
  // Through the descriptor, so that no component above can be swapped for a link.
  return os::RemoveTree(Path(Format("/proc/self/fd/{}", parent)) / std::string(last));
}

}  // namespace pawl::campaign
