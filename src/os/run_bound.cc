#include "os/run_bound.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace pawl::os {
namespace {

constexpr std::string_view kPrefix = "pawl-";

// Control files take one write() each and must not be created.
Status WriteControl(const Path& file, std::string_view value) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError(Format("cannot open {}", file.string()), errno);
  if (::write(fd.get(), value.data(), value.size()) < 0) {
    return SystemError(Format("cannot write {}", file.string()), errno);
  }
  return OkStatus();
}

Path NewGroupName() {
  static std::atomic<std::uint64_t> counter{0};
  return Format("{}{}-{}", kPrefix, ::getpid(), counter.fetch_add(1));
}

bool CanMakeGroup(const Path& home) {
  const Path probe = home / NewGroupName();
  return ::mkdir(probe.c_str(), 0755) == 0 && ::rmdir(probe.c_str()) == 0;
}

// The number behind `key` in a file of "key value" lines.
std::optional<std::int64_t> Field(const Path& file, std::string_view key) {
  const std::string content = ReadFile(file).ValueOr(std::string());
  for (const std::string_view line : Split(content, '\n')) {
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      return ParseInt(Trim(line.substr(key.size())));
    }
  }
  return std::nullopt;
}

bool Lists(const Path& file, std::string_view word) {
  const std::string content = ReadFile(file).ValueOr(std::string());
  for (const std::string_view item : Split(Trim(content), ' ')) {
    if (item == word) return true;
  }
  return false;
}

// The folder of the hierarchy that /proc/self/cgroup names: "4:memory:/a/b", or "0::/a/b" for v2.
Path OwnGroup(std::string_view controller, const Path& mount) {
  const std::string content = ReadFile("/proc/self/cgroup").ValueOr(std::string());
  for (const std::string_view line : Split(content, '\n')) {
    const std::vector<std::string_view> parts = Split(line, ':');
    if (parts.size() < 3) continue;
    for (const std::string_view name : Split(parts[1], ',')) {
      if (name != controller) continue;
      const std::string_view inside = parts[2].substr(parts[2].starts_with('/') ? 1 : 0);
      const Path folder = inside.empty() ? mount : mount / inside;
      // In a container the path may be the host's while the mount shows only our part.
      return Exists(folder) ? folder : mount;
    }
  }
  return {};
}

// The kernel may still be taking the last process apart. A folder that stays goes at the next
// start.
void RemoveGroup(const Path& group) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (::rmdir(group.c_str()) == 0 || errno != EBUSY) return;
    ::usleep(1000);
  }
}

// Groups of a Pawl that died: whatever lives there is ended.
void RemoveLeftovers(const Path& home) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(home, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const auto pid = ParseInt(Split(std::string_view(name).substr(kPrefix.size()), '-')[0]);
    if (!pid || Exists(Format("/proc/{}", *pid))) continue;
    const std::string living = ReadFile(entry.path() / "cgroup.procs").ValueOr(std::string());
    for (const std::string_view line : Split(living, '\n')) {
      if (const auto victim = ParseInt(line)) ::kill(static_cast<pid_t>(*victim), SIGKILL);
    }
    RemoveGroup(entry.path());
  }
}

}  // namespace

GroupHomes FindGroupHomes() {
  GroupHomes homes;
  const Path root = "/sys/fs/cgroup";
  const Path unified = Exists(root / "cgroup.controllers") ? root : root / "unified";
  const Path own = OwnGroup("", unified);
  if (!own.empty() && CanMakeGroup(own)) homes.cpu = own;
  // A v2 group hands out memory only when it holds no process itself; the top one is exempt.
  for (const Path& home : {own, unified}) {
    if (!homes.memory.empty() || home.empty()) continue;
    if (Lists(home / "cgroup.subtree_control", "memory") && CanMakeGroup(home)) {
      homes.memory = homes.cpu = home;
      homes.memory_v2 = true;
    }
  }
  if (homes.memory.empty()) {
    const Path v1 = OwnGroup("memory", root / "memory");
    if (!v1.empty() && CanMakeGroup(v1)) homes.memory = v1;
  }
  for (const Path& home : {homes.memory, homes.cpu}) {
    if (!home.empty()) RemoveLeftovers(home);
  }
  return homes;
}

Result<RunBound> RunBound::Make(const Path& memory_home, const Path& cpu_home,
                                std::uint64_t memory_bytes) {
  RunBound bound(memory_bytes);
  const Path name = NewGroupName();
  const auto make = [&name](const Path& home, Path& group) -> Status {
    const Path folder = home / name;
    if (::mkdir(folder.c_str(), 0755) != 0) {
      return SystemError(Format("cannot make control group {}", folder.string()), errno);
    }
    group = folder;
    return OkStatus();
  };
  if (!memory_home.empty()) {
    PAWL_TRY(make(memory_home, bound.memory_));
    PAWL_TRY(bound.LimitMemory());
  }
  if (!cpu_home.empty()) {
    if (cpu_home == memory_home) {
      bound.cpu_ = bound.memory_;
    } else {
      PAWL_TRY(make(cpu_home, bound.cpu_));
    }
  }
  return bound;
}

Status RunBound::LimitMemory() {
  const std::string bytes = Format("{}", memory_bytes_);
  if (Exists(memory_ / "memory.max")) {
    PAWL_TRY(WriteControl(memory_ / "memory.max", bytes));
    if (Exists(memory_ / "memory.swap.max")) {
      PAWL_TRY(WriteControl(memory_ / "memory.swap.max", "0"));
    }
    return OkStatus();
  }
  PAWL_TRY(WriteControl(memory_ / "memory.limit_in_bytes", bytes));
  if (Exists(memory_ / "memory.memsw.limit_in_bytes")) {
    PAWL_TRY(WriteControl(memory_ / "memory.memsw.limit_in_bytes", bytes));
  }
  return OkStatus();
}

RunBound::RunBound(RunBound&& other) noexcept
    : memory_bytes_(other.memory_bytes_),
      memory_(std::exchange(other.memory_, Path())),
      cpu_(std::exchange(other.cpu_, Path())) {}

RunBound::~RunBound() {
  if (!memory_.empty()) RemoveGroup(memory_);
  if (!cpu_.empty() && cpu_ != memory_) RemoveGroup(cpu_);
}

Status RunBound::Adopt(pid_t pid) {
  const std::string number = Format("{}", pid);
  if (!memory_.empty()) PAWL_TRY(WriteControl(memory_ / "cgroup.procs", number));
  if (!cpu_.empty() && cpu_ != memory_) PAWL_TRY(WriteControl(cpu_ / "cgroup.procs", number));
  return OkStatus();
}

bool RunBound::MemoryExceeded(const Family& family) const {
  if (memory_.empty()) return ResidentBytes(family, memory_bytes_) > memory_bytes_;
  const bool v1 = Exists(memory_ / "memory.oom_control");
  const Path file = memory_ / (v1 ? "memory.oom_control" : "memory.events");
  return Field(file, "oom_kill").value_or(0) > 0;
}

std::chrono::milliseconds RunBound::interval() const {
  return milliseconds(memory_.empty() ? 20 : 100);
}

std::optional<double> RunBound::CpuSeconds() const {
  if (cpu_.empty()) return std::nullopt;
  const auto micros = Field(cpu_ / "cpu.stat", "usage_usec");
  if (!micros) return std::nullopt;
  return static_cast<double>(*micros) * 1e-6;
}

}  // namespace pawl::os
