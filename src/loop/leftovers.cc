#include "loop/leftovers.h"

#include <signal.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "os/process.h"

namespace pawl::loop {

namespace {

using os::Path;

struct Place {
  const char* folder;  // below the state folder
  const char* prefix;
};
constexpr Place kPlaces[] = {
    {"", os::kTemporaryPrefix},          {"baseline", os::kTemporaryPrefix},
    {"vault.git", os::kTemporaryPrefix}, {"vault.git", "incoming-"},
    {"vault.git/objects/pack", "tmp_"},
};

Status RemoveNamed(const Path& folder, std::string_view prefix) {
  std::error_code error;
  std::vector<Path> doomed;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) doomed.push_back(at->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return SystemError(Format("cannot list {}", folder.string()), error.value());
  }
  for (const Path& path : doomed) PAWL_TRY(os::RemoveTree(path));
  return OkStatus();
}

// Empty when the process has ended meanwhile.
std::string ReadProc(const Path& file) {
  return os::ReadFile(file).ValueOr(std::string());
}

bool IsBubblewrap(const Path& process) {
  return Trim(ReadProc(process / "comm")) == "bwrap";
}

// Of /proc/PID/status.
std::string_view FieldOf(std::string_view status, std::string_view name) {
  for (const std::string_view line : Split(status, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(":\t")) {
      return line.substr(name.size() + 2);
    }
  }
  return {};
}

}  // namespace

Status RemoveHalfWritten(const StateFolder& state) {
  for (const Place& place : kPlaces) {
    PAWL_TRY(RemoveNamed(state.path() / place.folder, place.prefix));
  }
  return OkStatus();
}

Status RemoveHalfWrittenRest(const StateFolder& state) {
  PAWL_TRY(RemoveNamed(state.path() / "vault.git/refs/pawl", os::kTemporaryPrefix));
  for (int fan = 0; fan < 256; ++fan) {
    PAWL_TRY(RemoveNamed(state.path() / "vault.git/objects" / Format("{:02x}", fan), "tmp_"));
  }
  const Path lanes = state.path() / "lanes";
  if (!os::Exists(lanes)) return OkStatus();
  PAWL_ASSIGN(const std::vector<os::TreeEntry> entries, os::ListTree(lanes));
  for (const os::TreeEntry& entry : entries) {
    if (entry.kind != os::FileKind::kFolder) continue;
    PAWL_TRY(RemoveNamed(lanes / entry.relative, os::kTemporaryPrefix));
  }
  return OkStatus();
}

Status EndHalfStarted() {
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const auto pid = ParseInt(at->path().filename().string());
    if (!pid || !IsBubblewrap(at->path())) continue;
    const std::string words = ReadProc(at->path() / "cmdline");
    const std::string status = ReadProc(at->path() / "status");
    const bool first_of_its_own = Split(FieldOf(status, "NSpid"), '\t').size() > 1;
    if (words.find("/pawl-shim") == std::string::npos || !first_of_its_own) continue;
    if (IsBubblewrap(Format("/proc/{}", FieldOf(status, "PPid")))) continue;
    ::kill(static_cast<pid_t>(*pid), SIGKILL);
  }
  if (error) return SystemError("cannot list processes", error.value());
  return OkStatus();
}

}  // namespace pawl::loop
