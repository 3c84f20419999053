// A warp owns a row: 32 lanes of 16 bytes, as often as the width asks for.
#include "tensor/cuda/column_sums.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/qk_rope.h"
#include "tensor/cuda/rms_norm.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kStep = 256;  // columns that a warp covers at once
// Rows that a warp of the mix's backward pass takes, so that few partial sums are left to add.
constexpr int kRowsPerWarp = 8;
constexpr int kRowsPerBlock = kRowsPerWarp * kWarps;

__device__ std::int64_t WarpIndex() {
  return std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
}

template <int V>
struct Row {
  Floats8 v[V];
};

__device__ int Column(int step) {
  return step * kStep + static_cast<int>(threadIdx.x % 32) * 8;
}

template <int V>
__device__ Row<V> LoadRow(const Bf16* row, int width) {
  Vector8 raw[V];
#pragma unroll
  for (int i = 0; i < V; ++i) {
    raw[i] = Column(i) < width ? *reinterpret_cast<const Vector8*>(row + Column(i)) : Vector8{};
  }
  Row<V> r;
#pragma unroll
  for (int i = 0; i < V; ++i) r.v[i] = ToFloats(raw[i]);
  return r;
}

template <int V>
__device__ void StoreRow(Bf16* row, int width, const Row<V>& r) {
#pragma unroll
  for (int i = 0; i < V; ++i) {
    if (Column(i) < width) StoreFloats(row + Column(i), r.v[i]);
  }
}

template <int V>
__device__ float DotRows(const Row<V>& a, const Row<V>& b) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) sum += Dot(a.v[i], b.v[i]);
  return SumOverLanes<32>(sum);
}

template <int V, class F>
__device__ Row<V> Map(F f) {
  Row<V> r;
#pragma unroll
  for (int i = 0; i < V; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) r.v[i].at[j] = f(i, j);
  }
  return r;
}

__device__ float InverseRms(float sum_of_squares, int width, float epsilon) {
  return rsqrtf(sum_of_squares / static_cast<float>(width) + epsilon);
}

template <int V>
__device__ Row<V> Normalised(const Row<V>& x, int width, float epsilon) {
  const float r = InverseRms(DotRows(x, x), width, epsilon);
  return Map<V>([&](int i, int j) { return x.v[i].at[j] * r; });
}

// J' d_u; x and d_u stay in registers.
template <int V>
__device__ Row<V> NormGradient(const Row<V>& x, const Row<V>& d_u, int width, float epsilon) {
  const float r = InverseRms(DotRows(x, x), width, epsilon);
  const float c = r * r * r * DotRows(x, d_u) / static_cast<float>(width);
  return Map<V>([&](int i, int j) { return r * d_u.v[i].at[j] - c * x.v[i].at[j]; });
}

// Rounded to bf16, as the forward pass stores it.
template <int V>
__device__ Row<V> Mixed(const Row<V>& x, const Row<V>& x0, float x_scale, float x0_scale) {
  Row<V> mixed =
      Map<V>([&](int i, int j) { return x_scale * x.v[i].at[j] + x0_scale * x0.v[i].at[j]; });
#pragma unroll
  for (int i = 0; i < V; ++i) mixed.v[i] = ToFloats(ToVector(mixed.v[i]));
  return mixed;
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    rms_norm(const Bf16* x, Bf16* u, std::int64_t rows, int width, float epsilon) {
  const std::int64_t row = WarpIndex();
  if (row >= rows) return;
  StoreRow(u + row * width, width, Normalised(LoadRow<V>(x + row * width, width), width, epsilon));
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    rms_norm_backward(const Bf16* x, const Bf16* d_u, const Bf16* d_residual, Bf16* d_x,
                      std::int64_t rows, int width, float epsilon) {
  const std::int64_t row = WarpIndex();
  if (row >= rows) return;
  const std::int64_t at = row * width;
  const Row<V> x_row = LoadRow<V>(x + at, width);
  const Row<V> d_u_row = LoadRow<V>(d_u + at, width);
  Row<V> residual{};
  if (d_residual != nullptr) residual = LoadRow<V>(d_residual + at, width);
  const Row<V> gradient = NormGradient(x_row, d_u_row, width, epsilon);
  StoreRow(d_x + at, width,
           Map<V>([&](int i, int j) { return residual.v[i].at[j] + gradient.v[i].at[j]; }));
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    mix_norm(MixNormArgs args, std::int64_t rows, int width, float epsilon) {
  const std::int64_t row = WarpIndex();
  if (row >= rows) return;
  const std::int64_t at = row * width;
  const Row<V> before = LoadRow<V>(static_cast<const Bf16*>(args.x_before) + at, width);
  const Row<V> x0 = LoadRow<V>(static_cast<const Bf16*>(args.x0) + at, width);
  const Row<V> x = Mixed(before, x0, *args.x_scale, *args.x0_scale);
  StoreRow(static_cast<Bf16*>(args.x) + at, width, x);
  StoreRow(static_cast<Bf16*>(args.u) + at, width, Normalised(x, width, epsilon));
}

template <int V>
__device__ void AddGate(Row<V>& d_u, const MixNormBackwardArgs& args, std::int64_t row) {
  if (Column(0) >= kGateColumns) return;
  for (int head = 0; head < args.gate_heads; ++head) {
    const float d = args.d_gate[row * args.gate_heads + head];
    const Floats8 weight =
        LoadFloats(static_cast<const Bf16*>(args.gate_weight) + head * kGateColumns + Column(0));
#pragma unroll
    for (int j = 0; j < 8; ++j) d_u.v[0].at[j] = fmaf(d, weight.at[j], d_u.v[0].at[j]);
  }
}

template <int V>
__device__ void StoreMixGradients(const MixNormBackwardArgs& args, const Row<V>& t,
                                  const Row<V>& d_x0_before, std::int64_t at, int width,
                                  float x_scale, float x0_scale) {
  const bool first_layer = args.d_x_before == nullptr;
  const float to_x0 = first_layer ? x0_scale + x_scale : x0_scale;
  StoreRow(static_cast<Bf16*>(args.d_x0) + at, width,
           Map<V>([&](int i, int j) { return d_x0_before.v[i].at[j] + to_x0 * t.v[i].at[j]; }));
  if (first_layer) return;
  StoreRow(static_cast<Bf16*>(args.d_x_before) + at, width,
           Map<V>([&](int i, int j) { return x_scale * t.v[i].at[j]; }));
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    mix_norm_backward(MixNormBackwardArgs args, std::int64_t rows, int width, float epsilon) {
  __shared__ float parts[2][kWarps];
  const float x_scale = *args.x_scale;
  const float x0_scale = *args.x0_scale;
  float sum_x = 0;
  float sum_x0 = 0;
  for (int i = 0; i < kRowsPerWarp; ++i) {
    // Neighbouring warps take neighbouring rows.
    const std::int64_t row =
        std::int64_t{blockIdx.x} * kRowsPerBlock + i * kWarps + threadIdx.x / 32;
    if (row >= rows) break;
    const std::int64_t at = row * width;
    const Row<V> before = LoadRow<V>(static_cast<const Bf16*>(args.x_before) + at, width);
    const Row<V> x0 = LoadRow<V>(static_cast<const Bf16*>(args.x0) + at, width);
    Row<V> d_u = LoadRow<V>(static_cast<const Bf16*>(args.d_u) + at, width);
    Row<V> t = LoadRow<V>(static_cast<const Bf16*>(args.d_x) + at, width);
    Row<V> d_x0_before{};
    if (args.add_to_d_x0) d_x0_before = LoadRow<V>(static_cast<Bf16*>(args.d_x0) + at, width);
    if (args.d_gate != nullptr) AddGate(d_u, args, row);
    const Row<V> x = Mixed(before, x0, x_scale, x0_scale);
    const Row<V> gradient = NormGradient(x, d_u, width, epsilon);
    t = Map<V>([&](int k, int j) { return t.v[k].at[j] + gradient.v[k].at[j]; });
    sum_x += DotRows(t, before);
    sum_x0 += DotRows(t, x0);
    StoreMixGradients(args, t, d_x0_before, at, width, x_scale, x0_scale);
  }
  if (threadIdx.x % 32 == 0) {
    parts[0][threadIdx.x / 32] = sum_x;
    parts[1][threadIdx.x / 32] = sum_x0;
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  float sum = 0;
  for (int i = 0; i < kWarps; ++i) sum += parts[threadIdx.x][i];
  // First all sums for x_scale, then those for x0_scale.
  static_cast<float*>(args.scratch)[std::int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = sum;
}

pawl::Status CheckShape(const NormShape& shape) {
  if (shape.rows >= 1 && shape.width >= 8 && shape.width % 8 == 0 && shape.width <= 2048) {
    return pawl::OkStatus();
  }
  return pawl::MakeError(pawl::Code::kInvalidArgument,
                         "norm of " + std::to_string(shape.rows) + " rows of " +
                             std::to_string(shape.width) +
                             ": the width must be a multiple of 8, at most 2048");
}

// Calls f with the number of vectors that a lane holds, as a constant.
template <class F>
void WithVectors(std::int64_t width, F f) {
  if (width <= kStep) return f(std::integral_constant<int, 1>{});
  if (width <= 2 * kStep) return f(std::integral_constant<int, 2>{});
  if (width <= 4 * kStep) return f(std::integral_constant<int, 4>{});
  f(std::integral_constant<int, 8>{});
}

unsigned Blocks(std::int64_t rows, int rows_per_block) {
  return static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
}

}  // namespace

pawl::Status RmsNorm(const void* x, void* u, const NormShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  WithVectors(shape.width, [&](auto vectors) {
    rms_norm<vectors><<<Blocks(shape.rows, kWarps), kThreads, 0, stream>>>(
        static_cast<const Bf16*>(x), static_cast<Bf16*>(u), shape.rows,
        static_cast<int>(shape.width), shape.epsilon);
  });
  return FromCuda(cudaGetLastError(), "rms_norm");
}

pawl::Status RmsNormBackward(const void* x, const void* d_u, const void* d_residual, void* d_x,
                             const NormShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  WithVectors(shape.width, [&](auto vectors) {
    rms_norm_backward<vectors><<<Blocks(shape.rows, kWarps), kThreads, 0, stream>>>(
        static_cast<const Bf16*>(x), static_cast<const Bf16*>(d_u),
        static_cast<const Bf16*>(d_residual), static_cast<Bf16*>(d_x), shape.rows,
        static_cast<int>(shape.width), shape.epsilon);
  });
  return FromCuda(cudaGetLastError(), "rms_norm_backward");
}

pawl::Status MixNorm(const MixNormArgs& args, const NormShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  WithVectors(shape.width, [&](auto vectors) {
    mix_norm<vectors><<<Blocks(shape.rows, kWarps), kThreads, 0, stream>>>(
        args, shape.rows, static_cast<int>(shape.width), shape.epsilon);
  });
  return FromCuda(cudaGetLastError(), "mix_norm");
}

pawl::Status MixNormBackward(const MixNormBackwardArgs& args, const NormShape& shape,
                             CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  if (args.d_gate != nullptr && shape.width < kGateColumns) {
    return pawl::MakeError(
        pawl::Code::kInvalidArgument,
        "a value gate reads 32 columns, the rows have " + std::to_string(shape.width));
  }
  const unsigned blocks = Blocks(shape.rows, kRowsPerBlock);
  WithVectors(shape.width, [&](auto vectors) {
    mix_norm_backward<vectors><<<blocks, kThreads, 0, stream>>>(
        args, shape.rows, static_cast<int>(shape.width), shape.epsilon);
  });
  PAWL_TRY(FromCuda(cudaGetLastError(), "mix_norm_backward"));
  const auto* const parts = static_cast<const float*>(args.scratch);
  PAWL_TRY(ColumnSums(parts, blocks, 1, args.add_to_d_scales, args.d_x_scale, 1, stream));
  return ColumnSums(parts + blocks, blocks, 1, args.add_to_d_scales, args.d_x0_scale, 1, stream);
}

std::size_t MixNormScratchBytes(std::int64_t rows) {
  return std::size_t{2} * sizeof(float) * Blocks(rows, kRowsPerBlock);
}

}  // namespace lab::cuda
