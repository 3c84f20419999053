// Memory-bound: each thread moves 16 bytes at a time, eight bf16 values.
#include <cuda_bf16.h>

#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/relu_squared.h"

namespace lab::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kVector = 8;

struct alignas(16) Vector {
  __nv_bfloat162 pairs[4];
};

__global__ void relu_squared(const Vector* y, Vector* h, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  Vector v = y[i];
#pragma unroll
  for (__nv_bfloat162& pair : v.pairs) {
    float2 x = __bfloat1622float2(pair);
    x.x = fmaxf(x.x, 0.0F);
    x.y = fmaxf(x.y, 0.0F);
    pair = __floats2bfloat162_rn(x.x * x.x, x.y * x.y);
  }
  h[i] = v;
}

__global__ void relu_squared_gradient(const Vector* dh, const Vector* h, Vector* dy,
                                      std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const Vector squares = h[i];
  Vector v = dh[i];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float2 s = __bfloat1622float2(squares.pairs[j]);
    const float2 d = __bfloat1622float2(v.pairs[j]);
    v.pairs[j] = __floats2bfloat162_rn(2.0F * d.x * sqrtf(s.x), 2.0F * d.y * sqrtf(s.y));
  }
  dy[i] = v;
}

pawl::Status CheckCount(std::int64_t count) {
  if (count > 0 && count % kVector == 0) return pawl::OkStatus();
  return pawl::MakeError(pawl::Code::kInvalidArgument,
                         "relu^2 of " + std::to_string(count) +
                             " elements: the count must be a positive multiple of 8");
}

unsigned Blocks(std::int64_t count) {
  const std::int64_t per_block = kVector * kThreads;
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace

pawl::Status ReluSquared(const void* y, void* h, std::int64_t count, CUstream_st* stream) {
  PAWL_TRY(CheckCount(count));
  relu_squared<<<Blocks(count), kThreads, 0, stream>>>(static_cast<const Vector*>(y),
                                                       static_cast<Vector*>(h), count / kVector);
  return FromCuda(cudaGetLastError(), "relu_squared");
}

pawl::Status ReluSquaredGradient(const void* dh, const void* h, void* dy, std::int64_t count,
                                 CUstream_st* stream) {
  PAWL_TRY(CheckCount(count));
  relu_squared_gradient<<<Blocks(count), kThreads, 0, stream>>>(
      static_cast<const Vector*>(dh), static_cast<const Vector*>(h), static_cast<Vector*>(dy),
      count / kVector);
  return FromCuda(cudaGetLastError(), "relu_squared_gradient");
}

}  // namespace lab::cuda
