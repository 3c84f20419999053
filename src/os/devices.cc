#include "os/devices.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "os/files.h"
#include "os/process.h"

namespace pawl::os {
namespace {

constexpr std::chrono::milliseconds kGpuTimeout{20'000};
constexpr std::chrono::milliseconds kCompilerTimeout{5'000};

// The value behind the first "key<separator>" at the start of a line, without quotes.
std::string LineValue(std::string_view text, std::string_view key, char separator) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t at = line.find(separator);
    if (at == std::string_view::npos || Trim(line.substr(0, at)) != key) continue;
    std::string_view value = Trim(line.substr(at + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return std::string(value);
  }
  return {};
}

// A line of `tool --version`; empty when the tool is absent or broken, which is no error here. The
// tool is the one that commands find, not the first on the caller's PATH.
std::string VersionLine(std::string_view tool, std::string_view holding) {
  Path program;
  for (const std::string_view folder : Split(kSystemSearchPath, ':')) {
    const Path candidate = Path(folder) / tool;
    if (program.empty() && Exists(candidate)) program = candidate;
  }
  if (program.empty()) return {};
  const auto answer = RunTool({.argv = {program.string(), "--version"},
                               .env = BasicEnvironment(),
                               .timeout = kCompilerTimeout,
                               .max_output_bytes = 1 << 20});
  if (!answer.ok() || answer->exit_code != 0) return {};
  for (const std::string_view line : Split(answer->out, '\n')) {
    if (line.find(holding) != std::string_view::npos) return PrintableLine(Trim(line));
  }
  return {};
}

// "name, uuid, driver, capability, memory"; the name may hold commas, the others do not.
std::optional<Gpu> ParseGpu(std::string_view line) {
  std::vector<std::string_view> parts = Split(line, ',');
  if (parts.size() < 5) return std::nullopt;
  const std::size_t last = parts.size() - 1;
  Gpu gpu;
  gpu.memory_mb = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, ParseInt(Trim(parts[last])).value_or(0)));
  gpu.compute_capability = PrintableLine(Trim(parts[last - 1]));
  gpu.driver = PrintableLine(Trim(parts[last - 2]));
  gpu.uuid = PrintableLine(Trim(parts[last - 3]));
  const auto name_end = static_cast<std::size_t>(parts[last - 3].data() - line.data()) - 1;
  gpu.name = PrintableLine(Trim(line.substr(0, name_end)));
  return gpu;
}

void ProbeGpus(Machine& machine) {
  if (FindProgram("nvidia-smi").empty()) {
    machine.gpu_note = "nvidia-smi is not installed";
    return;
  }
  const auto answer = RunTool(
      {.argv = {"nvidia-smi", "--query-gpu=name,uuid,driver_version,compute_cap,memory.total",
                "--format=csv,noheader,nounits"},
       .env = BasicEnvironment(),
       .timeout = kGpuTimeout,
       .max_output_bytes = 1 << 20});
  if (!answer.ok()) {
    machine.gpu_note = answer.error().message;
    return;
  }
  if (answer->exit_code != 0) {
    machine.gpu_note = Format("nvidia-smi failed with exit code {}: {}", answer->exit_code,
                              PrintableLine(Trim(answer->out + answer->err)));
    return;
  }
  for (const std::string_view line : Split(answer->out, '\n')) {
    if (auto gpu = ParseGpu(line)) machine.gpus.push_back(std::move(*gpu));
  }
  if (machine.gpus.empty()) machine.gpu_note = "nvidia-smi lists no GPU";
}

std::string CpuModel(std::string_view machine_name) {
  const std::string info = ReadFile("/proc/cpuinfo").ValueOr(std::string());
  std::string model = LineValue(info, "model name", ':');
  if (model.empty()) model = LineValue(info, "CPU part", ':');
  return model.empty() ? std::string(machine_name) : model;
}

Json GpuJson(const Gpu& gpu) {
  JsonObject out;
  out["name"] = gpu.name;
  out["uuid"] = gpu.uuid;
  out["driver"] = gpu.driver;
  out["compute_capability"] = gpu.compute_capability;
  out["memory_mb"] = Json::Count(gpu.memory_mb);
  return out;
}

void CompareValues(const std::string& at, const Json& before, const Json& now,
                   std::vector<std::string>& out) {
  if (before == now) return;
  const JsonArray* old_list = before.AsArray();
  const JsonArray* new_list = now.AsArray();
  if (old_list != nullptr && new_list != nullptr && old_list->size() == new_list->size()) {
    for (std::size_t i = 0; i < old_list->size(); ++i) {
      CompareValues(Format("{}[{}]", at, i), (*old_list)[i], (*new_list)[i], out);
    }
    return;
  }
  const JsonObject* old_object = before.AsObject();
  const JsonObject* new_object = now.AsObject();
  if (old_object == nullptr || new_object == nullptr) {
    const auto text = [](const Json& value) {
      if (value.is_null()) return std::string("nothing");
      const std::string* words = value.AsString();
      return words != nullptr ? *words : value.Compact();
    };
    out.push_back(Format("{}: {} -> {}", at, text(before), text(now)));
    return;
  }
  const Json none;
  const std::string prefix = at.empty() ? at : at + ".";
  for (const auto& [key, value] : *old_object) {
    const Json* other = new_object->Find(key);
    CompareValues(prefix + key, value, other != nullptr ? *other : none, out);
  }
  for (const auto& [key, value] : *new_object) {
    if (!old_object->contains(key)) CompareValues(prefix + key, none, value, out);
  }
}

}  // namespace

Machine ProbeMachine() {
  Machine machine;
  utsname names{};
  PAWL_CHECK(::uname(&names) == 0);
  machine.hostname = names.nodename;
  machine.kernel = Format("{} {} {}", names.sysname, names.release, names.machine);
  machine.os_name =
      LineValue(ReadFile("/etc/os-release").ValueOr(std::string()), "PRETTY_NAME", '=');
  machine.cpu_model = CpuModel(names.machine);
  machine.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const std::string memory =
      LineValue(ReadFile("/proc/meminfo").ValueOr(std::string()), "MemTotal", ':');
  machine.memory_mb = static_cast<std::uint64_t>(
      ParseInt(std::string_view(memory).substr(0, memory.find(' '))).value_or(0) / 1024);
  machine.compiler = VersionLine("c++", "");
  machine.cuda_compiler = VersionLine("nvcc", "release");
  ProbeGpus(machine);
  return machine;
}

Json Machine::ToJson() const {
  JsonObject out;
  out["hostname"] = hostname;
  out["kernel"] = kernel;
  out["os_name"] = os_name;
  out["cpu_model"] = cpu_model;
  out["cpus"] = cpus;
  out["memory_mb"] = Json::Count(memory_mb);
  out["compiler"] = compiler;
  out["cuda_compiler"] = cuda_compiler;
  JsonArray cards;
  std::string query;
  for (const Gpu& gpu : gpus) {
    cards.push_back(GpuJson(gpu));
    AppendFormat(query, "{}, {}, {}, {}\n", gpu.name, gpu.uuid, gpu.driver, gpu.memory_mb);
  }
  out["gpus"] = std::move(cards);
  out["gpu_note"] = gpu_note;
  // The keys under which dit-ar keeps the same facts.
  out["platform"] = Format("{} with glibc {}", kernel, ::gnu_get_libc_version());
  out["nvidia_smi_present"] = !FindProgram("nvidia-smi").empty();
  if (!gpus.empty()) {
    JsonObject answer;
    answer["returncode"] = 0;
    answer["stdout"] = query;
    answer["stderr"] = "";
    out["nvidia_smi_query"] = std::move(answer);
  }
  return out;
}

// The host name is left out, because containers get a new one at every start.
Json Fingerprint(const Machine& machine) {
  JsonObject out;
  out["kernel"] = machine.kernel;
  out["os_name"] = machine.os_name;
  out["cpu_model"] = machine.cpu_model;
  out["cpus"] = machine.cpus;
  out["memory_mb"] = Json::Count(machine.memory_mb);
  out["compiler"] = machine.compiler;
  out["cuda_compiler"] = machine.cuda_compiler;
  JsonArray cards;
  for (const Gpu& gpu : machine.gpus) cards.push_back(GpuJson(gpu));
  out["gpus"] = std::move(cards);
  return out;
}

std::vector<std::string> FingerprintDifferences(const Json& before, const Json& now) {
  constexpr double kSameMemory = 0.02;  // kernels set aside a little more or less of it
  Json now_rounded = now;
  const double memory = before.DoubleAt("memory_mb");
  if (JsonObject* object = now_rounded.AsObject();
      object != nullptr && memory > 0 &&
      std::abs(now.DoubleAt("memory_mb") - memory) < kSameMemory * memory) {
    (*object)["memory_mb"] = *before.Find("memory_mb");
  }
  std::vector<std::string> differences;
  CompareValues("", before, now_rounded, differences);
  return differences;
}

}  // namespace pawl::os
