#include <stdexcept>

#include "base/text.h"
#include "fault/injector.h"
#include "os/process.h"

namespace pawl::fault {

namespace {

constexpr const char* kProgram = PAWL_BIN_DIR "/pawl-faults";
constexpr int kNotOffered = 124;

std::vector<std::string> Words(const char* mode, const Point& point) {
  return {mode, point.who, point.call, Format("{}", point.at)};
}

}  // namespace

std::string Point::Text() const {
  return Format("{} {} #{}", who, call, at);
}

std::string Injector::Missing() {
  os::ToolCall call;
  call.argv = {kProgram, "/dev/null", "kill",       "pawl",      "mkdir",
               "1",      "--",        "/bin/mkdir", "/nowhere/x"};
  call.env = os::BasicEnvironment();
  const auto result = os::RunTool(call);
  if (!result.ok()) throw std::runtime_error(result.error().Text());
  if (result->exit_code == 137) return {};
  if (result->exit_code == kNotOffered) return result->err;
  throw std::runtime_error(
      Format("the injector does not work: exit {} {}", result->exit_code, result->err));
}

std::vector<std::string> Injector::Argv(std::vector<std::string> plan) const {
  plan.insert(plan.begin(), {kProgram, report_.string()});
  plan.emplace_back("--");
  return plan;
}

std::vector<std::string> Injector::Killing(const Point& point) const {
  return Argv(Words("kill", point));
}

std::vector<std::string> Injector::KillingCaller(const Point& point) const {
  return Argv(Words("kill-caller", point));
}

std::vector<std::string> Injector::Failing(const Point& point, int error, bool on) const {
  std::vector<std::string> plan = Words("fail", point);
  plan.push_back(Format("{}{}", error, on ? "+" : ""));
  return Argv(std::move(plan));
}

Injector::Report Injector::Last() const {
  const auto text = os::ReadFile(report_);
  if (!text.ok()) throw std::runtime_error("no report of faults: " + text.error().Text());
  Report report;
  for (const std::string_view line : Split(*text, '\n')) {
    const auto words = Split(line, ' ');
    const int number = static_cast<int>(ParseInt(words.back()).value_or(0));
    if (words[0] == "fired") report.fired = number;
    if (words[0] == "outlived") report.outlived = number != 0;
    if (words[0] != "call" || words.size() != 4) continue;
    for (int at = 1; at <= number; ++at) {
      report.points.push_back({std::string(words[1]), std::string(words[2]), at});
    }
  }
  return report;
}

}  // namespace pawl::fault
