#include "os/bubblewrap.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/text.h"

namespace pawl::os {
namespace {

class Words {
 public:
  template <class... Args>
  void Add(const Args&... words) {
    (words_.emplace_back(words), ...);
  }
  std::vector<std::string> Take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

bool IsBelow(const Path& path, const Path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// A link whose target another mount shows (merged /usr, /etc/localtime) costs nothing as a link and
// most of 0.1 ms as a mount.
bool CanStayLink(const Mount& mount, const SandboxSpec& spec) {
  std::error_code failure;
  if (mount.access != Access::kReadOnly || mount.host != mount.inside ||
      !std::filesystem::is_symlink(mount.host, failure)) {
    return false;
  }
  const Path target = std::filesystem::canonical(mount.host, failure);
  if (failure) return false;
  return std::any_of(spec.mounts.begin(), spec.mounts.end(), [&](const Mount& other) {
    return other.inside != mount.inside && other.host == other.inside &&
           !std::filesystem::is_symlink(other.host, failure) && IsBelow(target, other.host);
  });
}

void AddNamespaces(Words& words, const SandboxSpec& spec, bool as_root) {
  words.Add("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try");
  if (!spec.network) words.Add("--unshare-net");
  if (!as_root) words.Add("--unshare-user");
  words.Add("--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "pawl");
  words.Add("--cap-drop", "ALL");
  if (!as_root) return;
  for (const char* right : {"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL"}) {
    words.Add("--cap-add", right);
  }
}

// Everything that a command may write outside its mounts is memory, and bounded like memory.
void AddPrivatePlaces(Words& words, const SandboxSpec& spec) {
  const std::string size = Format("{}", spec.limits.memory_bytes);
  words.Add("--proc", "/proc", "--dev", "/dev");
  for (const std::string_view place :
       {std::string_view("/dev/shm"), std::string_view("/tmp"), kSandboxHome}) {
    words.Add("--perms", "1777", "--size", size, "--tmpfs", place);
  }
}

// Folders that mount points need. Made one by one, because bubblewrap 0.8 gives the parents that it
// makes itself to root alone, and the command runs under another user.
class Parents {
 public:
  void AddTo(Words& words, const Path& mount_point) {
    Path folder;
    for (const Path& part : mount_point.parent_path()) {
      folder /= part;
      if (folder == "/" || IsThere(folder)) continue;
      words.Add("--dir", folder.string());
      made_.push_back(folder);
    }
  }
  // From now on what lies below belongs to the mount.
  void Cover(const Path& mount_point) { covered_.push_back(mount_point); }

 private:
  bool IsThere(const Path& folder) const {
    return std::find(made_.begin(), made_.end(), folder) != made_.end() ||
           std::any_of(covered_.begin(), covered_.end(),
                       [&](const Path& mount) { return IsBelow(folder, mount); });
  }

  std::vector<Path> made_ = {"/dev", "/dev/shm", "/tmp", "/pawl"};
  std::vector<Path> covered_ = {"/proc"};
};

void AddMount(Words& words, const Mount& mount, const SandboxSpec& spec) {
  if (CanStayLink(mount, spec)) {
    std::error_code failure;
    words.Add("--symlink", std::filesystem::read_symlink(mount.host, failure).string(),
              mount.inside.string());
    return;
  }
  words.Add(mount.access == Access::kWritable ? "--bind" : "--ro-bind", mount.host.string(),
            mount.inside.string());
}

std::vector<Path> Existing(const std::vector<Path>& paths) {
  std::vector<Path> found;
  for (const Path& path : paths) {
    if (Exists(path)) found.push_back(path);
  }
  return found;
}

// The spec's mounts, and what its flags stand for.
std::vector<Mount> WithExtras(const SandboxSpec& spec) {
  std::vector<Mount> mounts = spec.mounts;
  std::vector<Path> extras;
  if (spec.network) extras = Existing({"/etc/resolv.conf", "/etc/hosts"});
  if (spec.gpu) {
    for (Path& folder : GpuFolders()) extras.push_back(std::move(folder));
  }
  for (const Path& extra : extras) mounts.push_back({extra, extra, Access::kReadOnly});
  return mounts;
}

}  // namespace

std::vector<Path> GpuDevices() {
  std::vector<Path> devices =
      Existing({"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
                "/dev/nvidia-caps"});
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", failure)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "nvidia";
    if (name.starts_with(kPrefix) && ParseInt(std::string_view(name).substr(kPrefix.size()))) {
      devices.push_back(entry.path());
    }
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

std::vector<Path> GpuFolders() {
  // Driver libraries lie in /usr or, put there by container tools, in /run; the runtime finds the
  // cards through /sys.
  return Existing({"/sys/bus/pci", "/sys/class", "/sys/dev", "/sys/module", "/run/nvidia",
                   "/run/opengl-driver", "/etc/nvidia", "/etc/vulkan", "/etc/OpenCL"});
}

std::vector<std::string> BubblewrapArgv(const SandboxSpec& spec, const Path& bwrap,
                                        const Path& shim, bool as_root) {
  Words words;
  words.Add(bwrap.string());
  AddNamespaces(words, spec, as_root);
  AddPrivatePlaces(words, spec);
  Parents parents;
  for (const Mount& mount : WithExtras(spec)) {
    parents.AddTo(words, mount.inside);
    AddMount(words, mount, spec);
    parents.Cover(mount.inside);
  }
  if (spec.gpu) {
    for (const Path& device : GpuDevices()) {
      words.Add("--dev-bind-try", device.string(), device.string());
    }
  }
  words.Add("--ro-bind", shim.string(), kShimInside);
  // In a user namespace the command owns the folders that hold the mount points.
  words.Add("--remount-ro", "/dev", "--remount-ro", "/");
  words.Add("--chdir", "/", "--", kShimInside);
  return words.Take();
}

}  // namespace pawl::os
