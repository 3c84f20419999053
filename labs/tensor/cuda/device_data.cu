#include <cuda_bf16.h>

#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"

namespace lab::cuda {
namespace {

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

// The finaliser of SplitMix64: neighbouring counters give unrelated words.
__device__ std::uint64_t Mix(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15ULL;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

__global__ void fill_uniform_bf16(__nv_bfloat16* data, std::int64_t count, float amplitude,
                                  std::uint64_t seed) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const std::uint64_t word = Mix(seed ^ Mix(static_cast<std::uint64_t>(i)));
    const float unit = static_cast<float>(word >> 40) * 0x1p-24F;
    data[i] = __float2bfloat16(amplitude * (2.0F * unit - 1.0F));
  }
}

template <class T>
__global__ void count_non_finite(const T* data, std::int64_t count, unsigned long long* total) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    if (!isfinite(static_cast<float>(data[i]))) ++mine;
  }
  if (mine > 0) atomicAdd(total, mine);
}

template <class T>
pawl::Result<std::int64_t> CountNonFinite(const void* data, std::int64_t count,
                                          CUstream_st* stream) {
  PAWL_ASSIGN(DeviceMemory total, DeviceMemory::Allocate(sizeof(unsigned long long)));
  PAWL_TRY(FromCuda(cudaMemsetAsync(total.data(), 0, total.size_bytes(), stream), "clearing"));
  count_non_finite<<<kBlocks, kThreads, 0, stream>>>(static_cast<const T*>(data), count,
                                                     total.as<unsigned long long>());
  PAWL_TRY(FromCuda(cudaGetLastError(), "count_non_finite"));
  unsigned long long result = 0;
  PAWL_TRY(FromCuda(
      cudaMemcpyAsync(&result, total.data(), sizeof(result), cudaMemcpyDeviceToHost, stream),
      "copying the count"));
  PAWL_TRY(FromCuda(cudaStreamSynchronize(stream), "count_non_finite"));
  return static_cast<std::int64_t>(result);
}

}  // namespace

pawl::Status FillUniformBf16(void* data, std::int64_t count, float amplitude, std::uint64_t seed,
                             CUstream_st* stream) {
  fill_uniform_bf16<<<kBlocks, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(data), count,
                                                      amplitude, seed);
  return FromCuda(cudaGetLastError(), "fill_uniform_bf16");
}

pawl::Result<std::int64_t> CountNonFiniteBf16(const void* data, std::int64_t count,
                                              CUstream_st* stream) {
  return CountNonFinite<__nv_bfloat16>(data, count, stream);
}

pawl::Result<std::int64_t> CountNonFiniteFp32(const void* data, std::int64_t count,
                                              CUstream_st* stream) {
  return CountNonFinite<float>(data, count, stream);
}

}  // namespace lab::cuda
