#include "judge/target.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace pawl::judge {

namespace {

using Words = std::vector<std::string>;

Words NameWords(std::string_view name) {
  Words out;
  std::string word;
  for (const char byte : std::string(name) + ' ') {
    if (std::isalnum(static_cast<unsigned char>(byte)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    } else if (!word.empty()) {
      if (word != "nvidia") out.push_back(word);
      word.clear();
    }
  }
  return out;
}

// "8.6", "86" and "sm_86" as "8.6"; the last digit is the minor version.
std::string Capability(std::string_view text) {
  std::string digits;
  for (const char byte : text) {
    if (std::isdigit(static_cast<unsigned char>(byte)) != 0) digits += byte;
  }
  if (digits.size() < 2) return std::string(Trim(text));
  return digits.substr(0, digits.size() - 1) + "." + digits.substr(digits.size() - 1);
}

struct Architecture {
  std::string_view name;
  std::string_view capabilities;  // separated by blanks
};
constexpr std::array kArchitectures = {Architecture{"volta", "7.0 7.2"},
                                       Architecture{"turing", "7.5"},
                                       Architecture{"ampere", "8.0 8.6 8.7"},
                                       Architecture{"ada", "8.9"},
                                       Architecture{"hopper", "9.0"},
                                       Architecture{"blackwell", "10.0 10.1 10.3 11.0 12.0 12.1"}};

bool Contains(std::string_view list, std::string_view item) {
  const auto items = Split(list, ' ');
  return std::ranges::find(items, item) != items.end();
}

// What `target.architecture` asks for: a name ("Ampere", "Ada Lovelace") or a code ("sm_86").
// Nothing when the text is neither.
std::optional<bool> ArchitectureFits(std::string_view wanted, std::string_view capability) {
  const std::string lower = ToLowerAscii(wanted);
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (lower.starts_with(prefix)) return Capability(lower.substr(prefix.size())) == capability;
  }
  const Words words = NameWords(lower);
  for (const Architecture& each : kArchitectures) {
    if (std::ranges::find(words, each.name) == words.end()) continue;
    return Contains(each.capabilities, capability);
  }
  return std::nullopt;
}

struct Device {
  std::string name, capability;
};

std::vector<Device> Devices(const Json& machine) {
  std::vector<Device> out;
  const Json* gpus = machine.Find("gpus");
  if (gpus == nullptr || gpus->AsArray() == nullptr) return out;
  for (const Json& gpu : *gpus->AsArray()) {
    out.push_back(
        {PrintableLine(gpu.StringAt("name")), Capability(gpu.StringAt("compute_capability"))});
  }
  return out;
}

void MatchDevice(const campaign::Target& target, const Device& device, TargetMatch& out) {
  if (target.gpu_name && NameWords(*target.gpu_name) != NameWords(device.name)) {
    out.mismatches.push_back(Format("target.gpu_name is {}, this machine has {}",
                                    PrintableLine(*target.gpu_name), device.name));
  }
  if (target.compute_capability && Capability(*target.compute_capability) != device.capability) {
    out.mismatches.push_back(Format("target.expected_compute_capability is {}, {} has {}",
                                    PrintableLine(*target.compute_capability), device.name,
                                    device.capability));
  }
  if (!target.architecture) return;
  const auto fits = ArchitectureFits(*target.architecture, device.capability);
  if (fits && !*fits) {
    out.mismatches.push_back(Format("target.architecture is {}, {} has compute capability {}",
                                    PrintableLine(*target.architecture), device.name,
                                    device.capability));
  } else if (!fits) {
    out.warnings.push_back(Format(
        "target.architecture {} is not a known architecture and was not compared (known: Volta, "
        "Turing, Ampere, Ada, Hopper, Blackwell, or a code such as sm_86)",
        PrintableLine(*target.architecture)));
  }
}

}  // namespace

TargetMatch MatchTarget(const campaign::Target& target, const Json& machine) {
  TargetMatch out;
  const std::vector<Device> devices = Devices(machine);
  const bool asks_for_gpu = target.gpu_name || target.architecture || target.compute_capability ||
                            target.gpu_count.value_or(0) > 0;
  if (target.gpu_count && *target.gpu_count != static_cast<std::int64_t>(devices.size())) {
    out.mismatches.push_back(
        Format("target.gpu_count is {}, this machine has {}", *target.gpu_count, devices.size()));
  } else if (asks_for_gpu && devices.empty()) {
    const std::string note = machine.StringAt("gpu_note");
    out.mismatches.push_back(Format("target asks for a GPU, this machine shows none{}{}",
                                    note.empty() ? "" : ": ", PrintableLine(note)));
  }
  for (const Device& device : devices) MatchDevice(target, device, out);

  const Words a5500 = {"rtx", "a5500"};
  const bool found = std::ranges::any_of(
      devices, [&](const Device& device) { return NameWords(device.name) == a5500; });
  if (target.require_a5500 && !found) {
    out.warnings.emplace_back(
        "RTX A5500 not detected in current environment; run doctor on the target machine before "
        "research");
  }
  return out;
}

}  // namespace pawl::judge
