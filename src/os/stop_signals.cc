// SIGINT and SIGTERM as a flag, and as a descriptor that wakes whoever waits in poll().
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "os/process.h"

namespace pawl::os {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_event{-1};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void OnStopSignal(int /*signal*/) {
  const int saved = errno;
  stop_requested.store(true);
  const std::uint64_t one = 1;
  // A full counter is readable already, which is all that is wanted.
  if (::write(stop_event.load(), &one, sizeof one) < 0) errno = saved;
  errno = saved;
}

}  // namespace

void InstallStopSignals() {
  if (stop_event.load() < 0) {
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    PAWL_CHECK(event >= 0);
    stop_event.store(event);
  }
  struct sigaction action{};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  PAWL_CHECK(::sigaction(SIGINT, &action, nullptr) == 0);
  PAWL_CHECK(::sigaction(SIGTERM, &action, nullptr) == 0);
}

bool StopRequested() {
  return stop_requested.load();
}

int StopDescriptor() {
  return stop_event.load();
}

}  // namespace pawl::os
