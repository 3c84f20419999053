// One block of device memory with an owner. For tests, benches and start-up; the training loop
// takes its memory from the arena.
#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"

namespace lab::cuda {

class DeviceMemory {
 public:
  static pawl::Result<DeviceMemory> Allocate(std::size_t size_bytes);
  static pawl::Result<DeviceMemory> AllocateZeros(std::size_t size_bytes);
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }

  // Every byte becomes 0.
  pawl::Status Clear();
  // Every byte becomes 0xff, which is a NaN in bf16 and fp32: what nobody writes shows up.
  pawl::Status Poison();

  void* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace lab::cuda
