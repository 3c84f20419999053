// pawl-shim: the first program inside a sandbox and the only trusted one there. Statically linked,
// so that nothing in the sandbox's file system or environment can change what it does.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "os/shim/plan.h"
#include "os/shim/protocol.h"
#include "os/shim/supervisor.h"

namespace pawl::os {
namespace {

constexpr std::uint32_t kMaxPlanBytes = std::uint32_t{8} << 20;

bool Receive(void* into, std::size_t size) {
  char* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = ::recv(kShimSocket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

int Main() {
  // Keeps a command of the same user out of /proc/<shim>/mem and fd.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (!Send(Report{})) {
    std::fputs("pawl-shim starts commands for pawl and cannot be run by hand.\n", stderr);
    return 2;
  }
  std::uint32_t size = 0;
  Plan plan;
  if (!Receive(&size, sizeof size) || size > kMaxPlanBytes) return 125;
  plan.text.resize(size);
  if (!Receive(plan.text.data(), size)) return 125;
  if (!ParsePlan(plan)) {
    Report report;
    report.kind = ReportKind::kRefused;
    report.value = EINVAL;
    std::snprintf(report.text.data(), report.text.size(), "read the plan");
    Send(report);
    return 125;
  }
  return Supervise(plan);
}

}  // namespace
}  // namespace pawl::os

int main() {
  return pawl::os::Main();
}
