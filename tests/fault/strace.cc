#include "fault/strace.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/text.h"
#include "os/process.h"

namespace pawl::fault {

std::string Point::Text() const {
  return Format("{} #{}", call, at);
}

std::string Strace::Missing() {
  os::ToolCall call;
  call.argv = {"strace", "-qq",          "-o", "/dev/null",
               "-e",     "trace=openat", "-e", "inject=openat:signal=SIGKILL:when=1",
               "true"};
  call.env = os::BasicEnvironment();
  const auto result = os::RunTool(call);
  if (!result.ok()) return "strace cannot be started: " + result.error().Text();
  if (result->exit_code == 137) return {};
  return Format("strace may not trace here: exit {} {}", result->exit_code, result->err);
}

std::vector<std::string> Strace::Argv(const std::string& injection) const {
  std::vector<std::string> argv = {"strace", "-o", output_.string(), "-e",
                                   std::string("trace=") + kWriteCalls};
  if (!injection.empty()) argv.insert(argv.end(), {"-e", "inject=" + injection});
  return argv;
}

std::vector<std::string> Strace::Watching() const {
  return Argv({});
}

std::vector<std::string> Strace::Killing(const Point& point) const {
  return Argv(Format("{}:signal=SIGKILL:when={}", point.call, point.at));
}

std::vector<std::string> Strace::Failing(const Point& point, const std::string& error,
                                         bool on) const {
  return Argv(Format("{}:error={}:when={}{}", point.call, error, point.at, on ? "+" : ""));
}

std::vector<std::string> Strace::Lines() const {
  const auto text = os::ReadFile(output_);
  if (!text.ok()) throw std::runtime_error("no trace was written: " + text.error().Text());
  std::vector<std::string> lines;
  for (const std::string_view line : Split(*text, '\n')) lines.emplace_back(line);
  return lines;
}

std::map<std::string, int> Strace::Counts() const {
  std::map<std::string, int> counts;
  for (const std::string& line : Lines()) {
    const std::size_t bracket = line.find('(');
    if (bracket == std::string::npos || line.starts_with("-") || line.starts_with("+")) continue;
    ++counts[line.substr(0, bracket)];
  }
  return counts;
}

int Strace::Kills() const {
  const auto lines = Lines();
  return static_cast<int>(std::ranges::count_if(
      lines, [](const std::string& line) { return line.starts_with("+++ killed by SIGKILL"); }));
}

int Strace::Failures() const {
  const auto lines = Lines();
  return static_cast<int>(std::ranges::count_if(
      lines, [](const std::string& line) { return line.ends_with("(INJECTED)"); }));
}

}  // namespace pawl::fault
