// Errors of the CUDA libraries as values, for the .cc and .cu files of this folder.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <string_view>

#include "base/result.h"

namespace lab::cuda {

// Ok, or an error "what: name of the code, the library's own text". Out of memory becomes
// kResourceExhausted, a missing device or driver kUnsupported, everything else kIo.
pawl::Status FromCuda(cudaError_t code, std::string_view what);
pawl::Status FromCublas(cublasStatus_t code, std::string_view what);

}  // namespace lab::cuda
