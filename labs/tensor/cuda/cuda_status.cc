#include "tensor/cuda/cuda_status.h"

#include <string>

namespace lab::cuda {

using pawl::Code;

pawl::Status FromCuda(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return pawl::OkStatus();
  std::string message =
      std::string(what) + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
  switch (code) {
    case cudaErrorMemoryAllocation:
      return pawl::MakeError(Code::kResourceExhausted, std::move(message),
                             "use a smaller batch, or free the device memory that others hold");
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorStubLibrary:
      return pawl::MakeError(Code::kUnsupported, std::move(message),
                             "needs an NVIDIA GPU of compute capability 8.0 or later and a driver "
                             "for CUDA 13");
    default:
      return pawl::MakeError(Code::kIo, std::move(message));
  }
}

pawl::Status FromCublas(cublasStatus_t code, std::string_view what) {
  if (code == CUBLAS_STATUS_SUCCESS) return pawl::OkStatus();
  std::string message = std::string(what) + ": " + cublasLtGetStatusName(code);
  const bool unsupported =
      code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_ARCH_MISMATCH;
  return pawl::MakeError(unsupported ? Code::kUnsupported : Code::kIo, std::move(message));
}

}  // namespace lab::cuda
