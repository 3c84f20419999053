#include "os/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

extern "C" {
#include <sys/pidfd.h>
}

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace pawl::os {
namespace {

struct Row {
  pid_t pid = 0;
  pid_t parent = 0;
  uid_t user = 0;
  std::uint64_t threads = 1;
  bool alive = false;
};

// Content of a small /proc file; empty when the process is gone.
std::string ReadProc(pid_t pid, const char* name) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", pid, name);
  const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 4096> buffer{};
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

// The number behind "\nkey:\t"; the kernel escapes line breaks in the name, so none can be forged.
std::uint64_t Number(const std::string& status, const char* key) {
  const std::size_t at = status.find(key);
  return at == std::string::npos
             ? 0
             : std::strtoull(status.c_str() + at + std::strlen(key), nullptr, 10);
}

// `status` rather than `stat` and the owner of the folder: a process that made itself undumpable
// belongs to root there, whoever it runs as.
bool ParseStatus(const std::string& status, Row& row) {
  const std::size_t state = status.find("\nState:\t");
  if (state == std::string::npos || state + 8 >= status.size()) return false;
  row.alive = status[state + 8] != 'Z' && status[state + 8] != 'X';
  row.parent = static_cast<pid_t>(Number(status, "\nPPid:\t"));
  row.user = static_cast<uid_t>(Number(status, "\nUid:\t"));
  row.threads = Number(status, "\nThreads:\t");
  return true;
}

std::vector<Row> AllProcesses() {
  std::vector<Row> rows;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return rows;
  while (const dirent* entry = ::readdir(proc)) {
    Row row;
    row.pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (row.pid > 0 && ParseStatus(ReadProc(row.pid, "status"), row)) rows.push_back(row);
  }
  ::closedir(proc);
  return rows;
}

}  // namespace

std::vector<pid_t> LivingMembers(const Family& family) {
  const std::vector<Row> rows = AllProcesses();
  std::vector<pid_t> inside = {family.root};
  // Parents may come after their children, so it takes as many passes as the tree is deep.
  std::vector<bool> taken(rows.size(), false);
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (taken[i] || rows[i].pid == family.root ||
          std::find(inside.begin(), inside.end(), rows[i].parent) == inside.end()) {
        continue;
      }
      taken[i] = grew = true;
      inside.push_back(rows[i].pid);
    }
  }
  std::vector<pid_t> living;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].alive || rows[i].pid == family.root) continue;
    if (taken[i] || (family.user && rows[i].user == *family.user)) living.push_back(rows[i].pid);
  }
  return living;
}

std::uint64_t LivingThreads(uid_t user) {
  std::uint64_t count = 0;
  for (const Row& row : AllProcesses()) {
    if (row.user == user) count += row.threads;
  }
  return count;
}

std::size_t SignalMembers(const Family& family, int signal) {
  std::size_t count = 0;
  for (const pid_t pid : LivingMembers(family)) {
    const int pidfd = ::pidfd_open(pid, 0);
    if (pidfd < 0) continue;
    if (::pidfd_send_signal(pidfd, signal, nullptr, 0) == 0) ++count;
    ::close(pidfd);
  }
  return count;
}

std::uint64_t ResidentBytes(const Family& family, std::uint64_t bound) {
  const std::vector<pid_t> members = LivingMembers(family);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t cheap = 0;
  for (const pid_t pid : members) {
    const std::string statm = ReadProc(pid, "statm");
    const std::size_t blank = statm.find(' ');
    if (blank != std::string::npos) {
      cheap += std::strtoull(statm.c_str() + blank, nullptr, 10) * page;
    }
  }
  if (cheap <= bound) return cheap;
  std::uint64_t exact = 0;
  for (const pid_t pid : members) {
    const std::string rollup = ReadProc(pid, "smaps_rollup");
    const std::size_t at = rollup.find("\nPss:");
    if (at != std::string::npos) {
      exact += std::strtoull(rollup.c_str() + at + 5, nullptr, 10) * 1024;
    }
  }
  // Without rights to the exact figure the cheap one has to do.
  return exact > 0 ? exact : cheap;
}

}  // namespace pawl::os
