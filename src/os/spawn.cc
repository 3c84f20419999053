#include "os/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// glibc 2.36 declares these without C linkage.
extern "C" {
#include <sys/pidfd.h>
}

#include <cerrno>
#include <csignal>

#include "base/text.h"

namespace pawl::os {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The plan's descriptors above 3, so that dup2 onto 0..3 never overwrites one that is still to be
// copied: that happens when Pawl itself was started with descriptors closed.
struct Lifted {
  std::array<int, 4> numbers{-1, -1, -1, -1};
  std::array<Fd, 4> copies;

  Status Take(const SpawnPlan& plan) {
    numbers = {plan.descriptors[0], plan.descriptors[1], plan.descriptors[2], plan.extra};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] > 3) continue;
      copies[i] = Fd(::fcntl(numbers[i], F_DUPFD_CLOEXEC, 4));
      if (!copies[i].valid()) return SystemError("cannot prepare a child", errno);
      numbers[i] = copies[i].get();
    }
    return OkStatus();
  }
};

class Actions {
 public:
  Actions() { PAWL_CHECK(::posix_spawn_file_actions_init(&actions_) == 0); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  // 0 or an errno value (out of memory).
  int Fill(const Lifted& lifted, const Path& cwd) {
    int failed = 0;
    const auto note = [&failed](int code) {
      if (failed == 0) failed = code;
    };
    int target = 0;
    for (const int number : lifted.numbers) {
      if (number >= 0) note(::posix_spawn_file_actions_adddup2(&actions_, number, target));
      ++target;
    }
    note(::posix_spawn_file_actions_addclosefrom_np(&actions_, lifted.numbers[3] >= 0 ? 4 : 3));
    if (!cwd.empty()) note(::posix_spawn_file_actions_addchdir_np(&actions_, cwd.c_str()));
    return failed;
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    PAWL_CHECK(::posix_spawnattr_init(&attributes_) == 0);
    sigset_t none{};
    sigset_t all{};
    sigemptyset(&none);
    sigfillset(&all);
    PAWL_CHECK(::posix_spawnattr_setsigmask(&attributes_, &none) == 0);
    PAWL_CHECK(::posix_spawnattr_setsigdefault(&attributes_, &all) == 0);
    PAWL_CHECK(::posix_spawnattr_setpgroup(&attributes_, 0) == 0);
    PAWL_CHECK(::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK |
                                                            POSIX_SPAWN_SETSIGDEF |
                                                            POSIX_SPAWN_SETPGROUP) == 0);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("cannot make a pipe", errno);
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    return SystemError("cannot make a pipe non-blocking", errno);
  }
  return pipe;
}

Result<Fd> OpenNull() {
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return SystemError("cannot open /dev/null", errno);
  return null;
}

Result<Child> Spawn(const SpawnPlan& plan) {
  Lifted lifted;
  PAWL_TRY(lifted.Take(plan));
  Actions actions;
  if (const int failed = actions.Fill(lifted, plan.cwd); failed != 0) {
    return SystemError("cannot prepare a child", failed);
  }
  const Attributes attributes;
  const std::vector<char*> argv = Pointers(plan.argv);
  const std::vector<char*> env = Pointers(plan.env);
  Child child;
  const int failed = ::posix_spawn(&child.pid, plan.program.c_str(), actions.get(),
                                   attributes.get(), argv.data(), env.data());
  if (failed != 0) {
    const std::string in = plan.cwd.empty() ? "" : Format(" in {}", plan.cwd.string());
    return SystemError(Format("cannot start {}{}", plan.program.string(), in), failed);
  }
  child.pidfd = OpenPidfd(child.pid);
  if (!child.pidfd.valid()) {
    const int failure = errno;
    ::kill(-child.pid, SIGKILL);
    Reap(child).Ignore("the first failure is the one to tell");
    return SystemError("cannot watch a child", failure);
  }
  return child;
}

Result<Reaped> Reap(const Child& child) {
  Reaped reaped;
  while (::waitpid(child.pid, &reaped.wait_status, 0) < 0) {
    if (errno != EINTR) return SystemError("cannot wait for a child", errno);
  }
  return reaped;
}

Fd OpenPidfd(pid_t pid) {
  return Fd(::pidfd_open(pid, 0));
}

void SendSignal(const Fd& pidfd, int signal) {
  // It fails only for a process that is gone, which is what the sender wants.
  if (pidfd.valid()) ::pidfd_send_signal(pidfd.get(), signal, nullptr, 0);
}

}  // namespace pawl::os
