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

void AddGpu(Words& words) {
  for (const Path& device : GpuDevices()) {
    words.Add("--dev-bind-try", device.string(), device.string());
  }
  for (const Path& folder : GpuFolders()) {
    words.Add("--ro-bind-try", folder.string(), folder.string());
  }
}

std::vector<Path> Existing(const std::vector<Path>& paths) {
  std::vector<Path> found;
  for (const Path& path : paths) {
    if (Exists(path)) found.push_back(path);
  }
  return found;
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
  for (const Mount& mount : spec.mounts) AddMount(words, mount, spec);
  if (spec.network) {
    for (const char* file : {"/etc/resolv.conf", "/etc/hosts"}) {
      words.Add("--ro-bind-try", file, file);
    }
  }
  if (spec.gpu) AddGpu(words);
  words.Add("--ro-bind", shim.string(), kShimInside);
  // In a user namespace the command owns the folders that hold the mount points.
  words.Add("--remount-ro", "/dev", "--remount-ro", "/");
  words.Add("--chdir", "/", "--", kShimInside);
  return words.Take();
}

}  // namespace pawl::os
