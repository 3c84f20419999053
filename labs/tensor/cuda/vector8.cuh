// Device code shared by the memory-bound kernels: eight bf16 values moved as 16 bytes, and sums
// over lanes in a fixed order, so that equal inputs give equal bits.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace lab::cuda {

struct alignas(16) Vector8 {
  __nv_bfloat162 pairs[4];
};

struct Floats8 {
  float at[8];
};

__device__ inline Floats8 ToFloats(const Vector8& v) {
  Floats8 f;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float2 pair = __bfloat1622float2(v.pairs[j]);
    f.at[2 * j] = pair.x;
    f.at[2 * j + 1] = pair.y;
  }
  return f;
}

__device__ inline Vector8 ToVector(const Floats8& f) {
  Vector8 v;
#pragma unroll
  for (int j = 0; j < 4; ++j) v.pairs[j] = __floats2bfloat162_rn(f.at[2 * j], f.at[2 * j + 1]);
  return v;
}

// The eight values at `from`, which is aligned to 16 bytes.
__device__ inline Floats8 LoadFloats(const __nv_bfloat16* from) {
  return ToFloats(*reinterpret_cast<const Vector8*>(from));
}
__device__ inline Floats8 LoadFloats(const float* from) {
  const float4 a = reinterpret_cast<const float4*>(from)[0];
  const float4 b = reinterpret_cast<const float4*>(from)[1];
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}
__device__ inline void StoreFloats(__nv_bfloat16* to, const Floats8& f) {
  *reinterpret_cast<Vector8*>(to) = ToVector(f);
}
__device__ inline void StoreFloats(float* to, const Floats8& f) {
  reinterpret_cast<float4*>(to)[0] = make_float4(f.at[0], f.at[1], f.at[2], f.at[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(f.at[4], f.at[5], f.at[6], f.at[7]);
}

__device__ inline float Dot(const Floats8& a, const Floats8& b) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum = fmaf(a.at[j], b.at[j], sum);
  return sum;
}

// The sum over a group of `kLanes` neighbouring lanes, in all of them. All lanes of `mask` call it.
template <int kLanes>
__device__ float SumOverLanes(float x, unsigned mask = 0xffffffffU) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(mask, x, distance);
  }
  return x;
}

// The sum over a block of `kThreads` threads, in all of them. `scratch` holds kThreads / 32 floats
// and must not be in use; it may be used again after the next barrier.
template <int kThreads>
__device__ float SumOverBlock(float x, float* scratch) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  x = SumOverLanes<32>(x);
  if (threadIdx.x % 32 == 0) scratch[warp] = x;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum += scratch[i];
  return sum;
}

}  // namespace lab::cuda
