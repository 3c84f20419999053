#include "support/processes.h"

#include <filesystem>
#include <system_error>
#include <thread>

#include "os/files.h"

namespace pawl::test {

bool Lives(std::string_view text) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    // A process may end between being listed and being read; it is then no longer alive.
    const auto line = os::ReadFile(entry.path() / "cmdline");
    if (line.ok() && line->find(text) != std::string::npos) return true;
  }
  return false;
}

bool Becomes(bool alive, std::string_view text, std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const int wanted = alive ? 1 : 3;
  int seen = 0;
  while (std::chrono::steady_clock::now() < until) {
    seen = Lives(text) == alive ? seen + 1 : 0;
    if (seen == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace pawl::test
