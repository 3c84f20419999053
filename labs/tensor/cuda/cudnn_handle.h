// cuDNN's library handle, shared by all plans of one device and one thread.
#pragma once

#include <string>

#include "base/result.h"

struct cudnnContext;

namespace lab::cuda {

// Thread-compatible. Plans that were made with it must not outlive it.
class CudnnHandle {
 public:
  // For the current device. kUnsupported when cuDNN is older than 9.18, whose backward attention
  // reports too small a workspace on Hopper.
  static pawl::Result<CudnnHandle> Create();
  ~CudnnHandle();
  CudnnHandle(CudnnHandle&& other) noexcept;
  CudnnHandle& operator=(CudnnHandle&& other) noexcept;

  cudnnContext* get() const { return handle_; }
  // "9.19.0".
  static std::string Version();
  // The device as cuDNN's heuristics see it, in the form that planning without a device reads.
  pawl::Result<std::string> DeviceJson() const;

 private:
  CudnnHandle() = default;
  cudnnContext* handle_ = nullptr;
};

}  // namespace lab::cuda
