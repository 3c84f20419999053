// The MLP's activation as kernels of their own, for products that do not fuse it.
#pragma once

#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

// h = relu(y)^2 over `count` bf16 elements, a multiple of 8, pointers aligned to 16 bytes; h may
// be y.
pawl::Status ReluSquared(const void* y, void* h, std::int64_t count, CUstream_st* stream);

// dy = dh * 2 sqrt(h), with h from ReluSquared: where y was positive, sqrt(h) is y. dy may be dh.
pawl::Status ReluSquaredGradient(const void* dh, const void* h, void* dy, std::int64_t count,
                                 CUstream_st* stream);

}  // namespace lab::cuda
