// The current device in words and numbers, for records, caches and messages.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace lab::cuda {

struct DeviceDescription {
  std::string name;                // "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  std::string driver;              // "580.159.04"; "for CUDA 13.0" where the system does not tell
  std::string cuda_runtime;        // "13.0"
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;
};

// kUnsupported without a device or driver.
pawl::Result<DeviceDescription> DescribeDevice();

}  // namespace lab::cuda
