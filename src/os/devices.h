// What machine this is, as a structure that can be compared: system, CPU, memory, GPUs, compilers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace pawl::os {

struct Gpu {
  std::string name;  // "NVIDIA RTX A5500"
  std::string uuid;
  std::string driver;
  std::string compute_capability;  // "8.6"
  std::uint64_t memory_mb = 0;
};

struct Machine {
  std::string hostname, kernel, os_name, cpu_model;
  int cpus = 0;
  std::uint64_t memory_mb = 0;
  std::string compiler;  // first line of c++ --version, empty when absent
  std::string cuda_compiler;
  std::vector<Gpu> gpus;  // by nvidia-smi; empty without it
  std::string gpu_note;   // why `gpus` is empty

  Json ToJson() const;  // also the keys of dit-ar's environment.json
};

// Takes milliseconds without a GPU; at most 20 s for a hanging nvidia-smi.
Machine ProbeMachine();

// The part of ToJson() whose change makes old and new measurements incomparable.
Json Fingerprint(const Machine& machine);

// Human sentences, one per difference ("cpu_model: A -> B"); empty when comparable.
std::vector<std::string> FingerprintDifferences(const Json& before, const Json& now);

}  // namespace pawl::os
