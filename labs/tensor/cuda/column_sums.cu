#include "tensor/cuda/column_sums.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

constexpr int kThreads = 512;

__global__ void __launch_bounds__(kThreads)
    column_sums(const float* parts, std::int64_t rows, std::int64_t cols, bool accumulate,
                float* out, std::int64_t out_stride) {
  __shared__ float scratch[kThreads / 32];
  const std::int64_t column = blockIdx.x;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t row = threadIdx.x; row < rows; row += kThreads) {
    sum += parts[row * cols + column];
  }
  sum = SumOverBlock<kThreads>(sum, scratch);
  if (threadIdx.x != 0) return;
  float* const to = out + column * out_stride;
  *to = accumulate ? *to + sum : sum;
}

}  // namespace

pawl::Status ColumnSums(const float* parts, std::int64_t rows, std::int64_t cols, bool accumulate,
                        float* out, std::int64_t out_stride, CUstream_st* stream) {
  if (rows < 1 || cols < 1) {
    return pawl::MakeError(pawl::Code::kInvalidArgument, "column sums of " + std::to_string(rows) +
                                                             " x " + std::to_string(cols) +
                                                             ": nothing to sum");
  }
  column_sums<<<static_cast<unsigned>(cols), kThreads, 0, stream>>>(parts, rows, cols, accumulate,
                                                                    out, out_stride);
  return FromCuda(cudaGetLastError(), "column_sums");
}

}  // namespace lab::cuda
