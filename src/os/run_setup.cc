#include "os/run_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "os/bubblewrap.h"
#include "os/process_tree.h"
#include "os/shim/protocol.h"

namespace pawl::os {
namespace {

bool Has(const std::vector<std::string>& env, std::string_view name) {
  return std::any_of(env.begin(), env.end(), [&](const std::string& entry) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
  });
}

void SetDefault(std::vector<std::string>& env, std::string_view name, std::string_view value) {
  if (!Has(env, name)) env.push_back(Format("{}={}", name, value));
}

// What another user may do with a file, and with a folder on the way to one.
bool OthersMay(const struct stat& info, uid_t user, mode_t wanted) {
  const mode_t granted = info.st_uid == user ? info.st_mode >> 6 : info.st_mode;
  return (granted & wanted) == wanted;
}

Error NotReadable(const Path& path, mode_t mode, std::string_view level) {
  return MakeError(
      Code::kPermissionDenied,
      Format("{} (mode {:03o}) cannot be read by the user that {} runs commands under",
             path.string(), mode & 0777U, level),
      Format("chmod o+rX {}, or put what the command needs elsewhere", ShellQuote(path.string())));
}

Status CheckReadable(const Mount& mount, const struct stat& info, uid_t user,
                     IsolationLevel level) {
  if (mount.access == Access::kReadOnly) {
    if (!OthersMay(info, user, S_ISDIR(info.st_mode) ? 05 : 04)) {
      return NotReadable(mount.host, info.st_mode, LevelName(level));
    }
  }
  if (level == IsolationLevel::kL3) return OkStatus();
  // Without an own view of the file system the way to the mount counts as well.
  for (Path folder = mount.host.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    struct stat way{};
    if (::stat(folder.c_str(), &way) == 0 && !OthersMay(way, user, 01)) {
      return NotReadable(folder, way.st_mode, LevelName(level));
    }
  }
  return OkStatus();
}

Status PrepareMount(const Mount& mount, IsolationLevel level, const std::optional<RunUser>& user,
                    UserRange range) {
  if (!mount.host.is_absolute() || !mount.inside.is_absolute()) {
    return MakeError(Code::kInvalidArgument, Format("mount {} -> {} must use absolute paths",
                                                    mount.host.string(), mount.inside.string()));
  }
  if (level < IsolationLevel::kL3 && mount.host != mount.inside) {
    return MakeError(Code::kUnsupported, Format("level {} cannot show {} as {}", LevelName(level),
                                                mount.host.string(), mount.inside.string()));
  }
  struct stat info{};
  if (::stat(mount.host.c_str(), &info) != 0) {
    return SystemError(Format("cannot give {} to a command", mount.host.string()), errno);
  }
  if (!user) return OkStatus();
  PAWL_TRY(CheckReadable(mount, info, user->id(), level));
  if (mount.access == Access::kWritable) return GiveTree(mount.host, user->id(), range);
  return OkStatus();
}

// RLIMIT_NPROC counts what the user already runs, unless the user is the run's own or new to a
// user namespace.
std::uint64_t ProcessLimit(const RunSetup& setup) {
  const std::uint64_t wanted = setup.spec.limits.processes;
  if (setup.user || setup.spec.level == IsolationLevel::kL3) return wanted;
  return wanted + LivingThreads(::getuid());
}

std::string_view FilterValue(const SandboxSpec& spec) {
  if (spec.network) return plan_key::kFilterAllNet;
  // A network namespace makes local sockets harmless; without one, none may be made.
  return spec.level == IsolationLevel::kL3 ? plan_key::kFilterLocalNet : plan_key::kFilterNoSockets;
}

class PlanText {
 public:
  void Add(std::string_view key, std::string_view value) {
    text_.append(key).push_back('\0');
    text_.append(value).push_back('\0');
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

void AddLandlock(PlanText& plan, const RunSetup& setup, int abi) {
  plan.Add(plan_key::kLandlock, Format("{}", abi));
  for (const Mount& mount : setup.spec.mounts) {
    plan.Add(mount.access == Access::kWritable ? plan_key::kWritable : plan_key::kReadOnly,
             mount.host.string());
  }
  plan.Add(plan_key::kReadOnly, "/proc");
  if (setup.spec.network) {
    plan.Add(plan_key::kReadOnly, "/etc/resolv.conf");
    plan.Add(plan_key::kReadOnly, "/etc/hosts");
  }
  if (setup.folders) {
    for (const char* name : {"home", "tmp"}) {
      plan.Add(plan_key::kWritable, (setup.folders->path() / name).string());
    }
  }
  for (const char* device :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    plan.Add(plan_key::kDevice, device);
  }
  if (!setup.spec.gpu) return;
  for (const Path& device : GpuDevices()) plan.Add(plan_key::kDevice, device.string());
  for (const Path& folder : GpuFolders()) plan.Add(plan_key::kReadOnly, folder.string());
}

std::string MakePlan(const RunSetup& setup, const SandboxProbe& probe) {
  PlanText plan;
  if (setup.user) plan.Add(plan_key::kUser, Format("{}", setup.user->id()));
  plan.Add(plan_key::kProcesses, Format("{}", ProcessLimit(setup)));
  plan.Add(plan_key::kFileSize, Format("{}", setup.spec.limits.file_size_bytes));
  if (setup.spec.level >= IsolationLevel::kL2) {
    plan.Add(plan_key::kFilter, FilterValue(setup.spec));
  }
  if (setup.spec.level == IsolationLevel::kL2) AddLandlock(plan, setup, probe.landlock_abi);
  plan.Add(plan_key::kFolder, setup.spec.cwd.empty() ? "/" : setup.spec.cwd.string());
  for (const std::string& entry : setup.spec.env) plan.Add(plan_key::kVariable, entry);
  for (const std::string& word : setup.spec.argv) plan.Add(plan_key::kWord, word);
  return plan.Take();
}

Status MakePrivateFolders(RunSetup& setup) {
  PAWL_ASSIGN(ScratchFolder made, ScratchFolder::MakeTemporary("run"));
  setup.folders.emplace(std::move(made));
  const Path& top = setup.folders->path();
  if (::chmod(top.c_str(), 0711) != 0) return SystemError("cannot open a private folder", errno);
  for (const char* name : {"home", "tmp"}) {
    PAWL_TRY(MakeFolders(top / name, 0700));
    if (setup.user) PAWL_TRY(GiveTree(top / name, setup.user->id(), {}));
  }
  std::erase(setup.spec.env, Format("HOME={}", kSandboxHome));
  SetDefault(setup.spec.env, "HOME", (top / "home").string());
  SetDefault(setup.spec.env, "TMPDIR", (top / "tmp").string());
  return OkStatus();
}

bool CleanWords(const std::vector<std::string>& words) {
  return std::none_of(words.begin(), words.end(),
                      [](const std::string& word) { return word.find('\0') != std::string::npos; });
}

}  // namespace

Result<Path> FindShim() {
  const Path here = ExecutableFolder();
  for (const Path& place : {here / "pawl-shim", here / "../libexec/pawl/pawl-shim"}) {
    if (Exists(place)) return place.lexically_normal();
  }
  return MakeError(
      Code::kNotFound,
      Format("pawl-shim was found neither in {} nor in ../libexec/pawl", here.string()),
      "install Pawl whole: the two programs belong together");
}

Result<RunSetup> RunSetup::Make(const SandboxSpec& spec, const SandboxProbe& probe) {
  PAWL_CHECK(!spec.argv.empty());
  if (!CleanWords(spec.argv) || !CleanWords(spec.env)) {
    return MakeError(Code::kInvalidArgument, "a command or its environment holds a zero byte");
  }
  if (spec.level > probe.level) {
    return MakeError(Code::kUnsupported,
                     Format("isolation level {} was asked for, but this machine offers {}",
                            LevelName(spec.level), LevelName(probe.level)),
                     "run 'pawl doctor' to see what is missing");
  }
  RunSetup setup;
  setup.spec = spec;
  const UserRange range{probe.first_user, probe.user_count};
  if (probe.own_uid && spec.level >= IsolationLevel::kL1) {
    PAWL_ASSIGN(setup.user, RunUser::Lease(range));
  }
  for (const Mount& mount : spec.mounts) {
    PAWL_TRY(PrepareMount(mount, spec.level, setup.user, range));
  }
  SetDefault(setup.spec.env, "USER", "pawl");
  SetDefault(setup.spec.env, "LOGNAME", "pawl");
  PAWL_ASSIGN(const Path shim, FindShim());
  if (spec.level == IsolationLevel::kL3) {
    SetDefault(setup.spec.env, "HOME", kSandboxHome);
    SetDefault(setup.spec.env, "TMPDIR", "/tmp");
    setup.program = probe.bwrap;
    setup.argv = BubblewrapArgv(setup.spec, probe.bwrap, shim, ::geteuid() == 0);
  } else {
    PAWL_TRY(MakePrivateFolders(setup));
    setup.program = shim;
    setup.argv = {shim.string()};
  }
  setup.plan = MakePlan(setup, probe);
  return setup;
}

}  // namespace pawl::os
