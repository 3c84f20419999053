// Whether this machine is the one the config asks for, compared as a structure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "campaign/config.h"

namespace pawl::judge {

struct TargetMatch {
  std::vector<std::string> mismatches;  // of fields the config sets: refuse to measure
  std::vector<std::string> warnings;    // dit-ar's require_a5500 default: doctor only
};
// `machine` is os::Machine::ToJson(): every entry of its `gpus` must fit. Names are compared whole,
// word by word, without the maker's name: "RTX A5500" is "NVIDIA RTX A5500" and not
// "NVIDIA RTX A5500 Laptop GPU".
TargetMatch MatchTarget(const campaign::Target& target, const Json& machine);

}  // namespace pawl::judge
