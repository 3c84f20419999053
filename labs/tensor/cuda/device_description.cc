#include "tensor/cuda/device_description.h"

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "tensor/cuda/cuda_status.h"

namespace lab::cuda {
namespace {

std::string CudaVersion(int version) {
  return pawl::Format("{}.{}", version / 1000, version % 1000 / 10);
}

// The CUDA runtime does not know the driver's own version.
pawl::Result<std::string> DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (std::count(word.begin(), word.end(), '.') == 2) return word;
  }
  int version = 0;
  PAWL_TRY(FromCuda(cudaDriverGetVersion(&version), "asking for the driver's version"));
  return "for CUDA " + CudaVersion(version);
}

}  // namespace

pawl::Result<DeviceDescription> DescribeDevice() {
  int device = 0;
  int runtime = 0;
  cudaDeviceProp properties{};
  PAWL_TRY(FromCuda(cudaGetDevice(&device), "choosing a device"));
  PAWL_TRY(FromCuda(cudaGetDeviceProperties(&properties, device), "describing the device"));
  PAWL_TRY(FromCuda(cudaRuntimeGetVersion(&runtime), "asking for the CUDA version"));
  DeviceDescription description;
  description.name = properties.name;
  description.compute_capability = pawl::Format("{}.{}", properties.major, properties.minor);
  PAWL_ASSIGN(description.driver, DriverVersion());
  description.cuda_runtime = CudaVersion(runtime);
  description.multiprocessors = properties.multiProcessorCount;
  description.memory_bytes = properties.totalGlobalMem;
  description.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  return description;
}

}  // namespace lab::cuda
