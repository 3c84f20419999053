#include "tensor/cuda/device_memory.h"

#include "tensor/cuda/cuda_status.h"

namespace lab::cuda {

pawl::Result<DeviceMemory> DeviceMemory::Allocate(std::size_t size_bytes) {
  DeviceMemory memory;
  if (size_bytes == 0) return memory;
  PAWL_TRY(FromCuda(cudaMalloc(&memory.data_, size_bytes),
                    "cudaMalloc of " + std::to_string(size_bytes) + " bytes"));
  memory.size_bytes_ = size_bytes;
  return memory;
}

DeviceMemory::~DeviceMemory() {
  // A failure here repeats an earlier one, which the call that met it has already reported.
  if (data_ != nullptr) static_cast<void>(cudaFree(data_));
}

pawl::Result<DeviceMemory> DeviceMemory::AllocateZeros(std::size_t size_bytes) {
  PAWL_ASSIGN(DeviceMemory memory, Allocate(size_bytes));
  PAWL_TRY(memory.Clear());
  return memory;
}

pawl::Status DeviceMemory::Clear() {
  if (data_ == nullptr) return pawl::OkStatus();
  return FromCuda(cudaMemset(data_, 0, size_bytes_), "clearing device memory");
}

pawl::Status DeviceMemory::Poison() {
  if (data_ == nullptr) return pawl::OkStatus();
  return FromCuda(cudaMemset(data_, 0xff, size_bytes_), "poisoning device memory");
}

}  // namespace lab::cuda
