#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/muon_kernels.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr std::int64_t kVector = 8;
constexpr int kRowsPerSlice = 16;  // of a sum along columns
constexpr int kFactorThreads = 1024;

// Blocks (x) of a matrix (y): one vector per thread.
dim3 MatrixGrid(const MuonShape& shape) {
  const std::int64_t per_block = kThreads * kVector;
  return {static_cast<unsigned>((shape.elements() + per_block - 1) / per_block),
          static_cast<unsigned>(shape.count)};
}

__device__ std::int64_t ElementOfMatrix() {
  return (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kVector;
}

__global__ void __launch_bounds__(kThreads)
    muon_momentum(const float* gradient, float* moment, Bf16* x, float* squares,
                  const MuonStep* step, std::int64_t elements) {
  __shared__ float scratch[kThreads / 32];
  const std::int64_t in_matrix = ElementOfMatrix();
  float sum = 0;
  if (in_matrix < elements) {
    const std::int64_t at = blockIdx.y * elements + in_matrix;
    const Floats8 g = LoadFloats(gradient + at);
    Floats8 m = LoadFloats(moment + at);
    Floats8 mixed;
    const float mu = step->momentum;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      m.at[j] = mu * m.at[j] + (1.0F - mu) * g.at[j];
      mixed.at[j] = (1.0F - mu) * g.at[j] + mu * m.at[j];
    }
    StoreFloats(moment + at, m);
    const Vector8 rounded = ToVector(mixed);
    *reinterpret_cast<Vector8*>(x + at) = rounded;
    const Floats8 r = ToFloats(rounded);
    sum = Dot(r, r);
  }
  sum = SumOverBlock<kThreads>(sum, scratch);
  if (threadIdx.x == 0) squares[std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    muon_normalise(Bf16* x, const float* squares, std::int64_t elements) {
  __shared__ float scratch[kThreads / 32];
  // Every block of the matrix adds the same parts in the same order.
  float sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) {
    sum += squares[std::int64_t{blockIdx.y} * gridDim.x + i];
  }
  const float norm = sqrtf(SumOverBlock<kThreads>(sum, scratch));
  const std::int64_t in_matrix = ElementOfMatrix();
  if (in_matrix >= elements) return;
  Bf16* const at = x + blockIdx.y * elements + in_matrix;
  Floats8 values = LoadFloats(at);
  const float factor = 1.0F / (1.02F * norm + 1e-6F);
#pragma unroll
  for (float& value : values.at) value *= factor;
  StoreFloats(at, values);
}

// A warp sums a row: sums[matrix][row].
__global__ void __launch_bounds__(kThreads)
    row_squares(const Bf16* x, float* sums, std::int64_t all_rows, std::int64_t cols) {
  const std::int64_t row = std::int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= all_rows) return;
  float sum = 0;
  for (std::int64_t c = (threadIdx.x % 32) * kVector; c < cols; c += 32 * kVector) {
    const Floats8 values = LoadFloats(x + row * cols + c);
    sum += Dot(values, values);
  }
  sum = SumOverLanes<32>(sum);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

// A thread sums eight columns over a slice (y) of the rows of a matrix (z):
// sums[matrix][slice][col].
__global__ void __launch_bounds__(kThreads)
    column_squares(const Bf16* x, float* sums, std::int64_t rows, std::int64_t cols) {
  const std::int64_t column = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kVector;
  if (column >= cols) return;
  const std::int64_t first = std::int64_t{blockIdx.y} * kRowsPerSlice;
  const std::int64_t end = min(first + kRowsPerSlice, rows);
  const Bf16* const matrix = x + blockIdx.z * rows * cols;
  Floats8 sum{};
#pragma unroll 8
  for (std::int64_t row = first; row < end; ++row) {
    const Floats8 values = LoadFloats(matrix + row * cols + column);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum.at[j] = fmaf(values.at[j], values.at[j], sum.at[j]);
  }
  StoreFloats(sums + (std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * cols + column, sum);
}

// One block per matrix. `length` is that of a line.
__global__ void __launch_bounds__(kFactorThreads)
    line_factors(const float* sums, float* second_moment, float* factor, const MuonStep* step,
                 int lines, int slices, float length) {
  __shared__ float scratch[2][kFactorThreads / 32];
  const std::int64_t matrix = blockIdx.x;
  const float beta2 = step->beta2;
  float sum_q = 0;
  float sum_weighted = 0;
  for (int line = static_cast<int>(threadIdx.x); line < lines; line += kFactorThreads) {
    float squares = 0;
#pragma unroll 8
    for (int slice = 0; slice < slices; ++slice) {
      squares += sums[(matrix * slices + slice) * lines + line];
    }
    const float q = squares / length;
    float& state = second_moment[matrix * lines + line];
    state = beta2 * state + (1.0F - beta2) * q;
    const float w = rsqrtf(fmaxf(state, 1e-10F));
    factor[matrix * lines + line] = w;
    sum_q += q;
    sum_weighted += q * w * w;
  }
  const float before = sqrtf(length * SumOverBlock<kFactorThreads>(sum_q, scratch[0]));
  const float after = sqrtf(length * SumOverBlock<kFactorThreads>(sum_weighted, scratch[1]));
  const float scale = before / fmaxf(after, 1e-10F);
  for (int line = static_cast<int>(threadIdx.x); line < lines; line += kFactorThreads) {
    factor[matrix * lines + line] *= scale;
  }
}

__device__ Floats8 FactorsOf(const float* factor, std::int64_t in_matrix, int cols, bool per_row) {
  const int row = static_cast<int>(in_matrix) / cols;
  if (!per_row) return LoadFloats(factor + (static_cast<int>(in_matrix) - row * cols));
  Floats8 same;
  for (float& value : same.at) value = factor[row];
  return same;
}

__global__ void __launch_bounds__(kThreads)
    muon_update(const Bf16* x, const float* factor, float* parameter, Bf16* bf16_copy,
                const MuonStep* step, std::int64_t elements, int cols, bool per_row, int lines) {
  const std::int64_t in_matrix = ElementOfMatrix();
  if (in_matrix >= elements) return;
  const std::int64_t at = blockIdx.y * elements + in_matrix;
  const Floats8 values = LoadFloats(x + at);
  Floats8 p = LoadFloats(parameter + at);
  const Floats8 factors =
      FactorsOf(factor + std::int64_t{blockIdx.y} * lines, in_matrix, cols, per_row);
  const float rate = step->learning_rate;
  const float decay = rate * step->weight_decay;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float y = values.at[j] * factors.at[j];
    const float shrink = y * p.at[j] >= 0.0F ? decay * p.at[j] : 0.0F;
    p.at[j] = p.at[j] - rate * y - shrink;
  }
  StoreFloats(parameter + at, p);
  if (bf16_copy != nullptr) StoreFloats(bf16_copy + at, p);
}

pawl::Status CheckShape(const MuonShape& shape) {
  const bool known = shape.count >= 1 && shape.count <= 65535 && shape.rows >= 1 &&
                     shape.cols >= 8 && shape.cols % kVector == 0 &&
                     shape.elements() < std::int64_t{1} << 31;
  if (known) return pawl::OkStatus();
  return pawl::MakeError(pawl::Code::kInvalidArgument,
                         "Muon over " + std::to_string(shape.count) + " matrices of " +
                             std::to_string(shape.rows) + " x " + std::to_string(shape.cols) +
                             ": the columns must be a multiple of 8");
}

std::int64_t Slices(const MuonShape& shape) {
  return shape.per_row() ? 1 : (shape.rows + kRowsPerSlice - 1) / kRowsPerSlice;
}

}  // namespace

pawl::Status MuonMomentum(const float* gradient, float* moment, void* x, float* squares,
                          const MuonStep* step, const MuonShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  muon_momentum<<<MatrixGrid(shape), kThreads, 0, stream>>>(gradient, moment, static_cast<Bf16*>(x),
                                                            squares, step, shape.elements());
  return FromCuda(cudaGetLastError(), "muon_momentum");
}

std::size_t MuonSquaresBytes(const MuonShape& shape) {
  const dim3 grid = MatrixGrid(shape);
  return std::size_t{grid.x} * grid.y * sizeof(float);
}

pawl::Status MuonNormalise(void* x, const float* squares, const MuonShape& shape,
                           CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  muon_normalise<<<MatrixGrid(shape), kThreads, 0, stream>>>(static_cast<Bf16*>(x), squares,
                                                             shape.elements());
  return FromCuda(cudaGetLastError(), "muon_normalise");
}

pawl::Status MuonLineFactors(const void* x, float* second_moment, float* factor, void* scratch,
                             const MuonStep* step, const MuonShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  auto* const sums = static_cast<float*>(scratch);
  const auto* const matrices = static_cast<const Bf16*>(x);
  if (shape.per_row()) {
    const std::int64_t all_rows = shape.count * shape.rows;
    constexpr std::int64_t kWarps = kThreads / 32;
    row_squares<<<static_cast<unsigned>((all_rows + kWarps - 1) / kWarps), kThreads, 0, stream>>>(
        matrices, sums, all_rows, shape.cols);
  } else {
    const std::int64_t per_block = kThreads * kVector;
    const dim3 grid{static_cast<unsigned>((shape.cols + per_block - 1) / per_block),
                    static_cast<unsigned>(Slices(shape)), static_cast<unsigned>(shape.count)};
    column_squares<<<grid, kThreads, 0, stream>>>(matrices, sums, shape.rows, shape.cols);
  }
  PAWL_TRY(FromCuda(cudaGetLastError(), "summing the squares of lines"));
  const std::int64_t length = shape.per_row() ? shape.cols : shape.rows;
  line_factors<<<static_cast<unsigned>(shape.count), kFactorThreads, 0, stream>>>(
      sums, second_moment, factor, step, static_cast<int>(shape.lines()),
      static_cast<int>(Slices(shape)), static_cast<float>(length));
  return FromCuda(cudaGetLastError(), "line_factors");
}

std::size_t MuonLineScratchBytes(const MuonShape& shape) {
  return static_cast<std::size_t>(shape.count * Slices(shape) * shape.lines()) * sizeof(float);
}

pawl::Status MuonUpdate(const void* x, const float* factor, float* parameter, void* bf16_copy,
                        const MuonStep* step, const MuonShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  muon_update<<<MatrixGrid(shape), kThreads, 0, stream>>>(
      static_cast<const Bf16*>(x), factor, parameter, static_cast<Bf16*>(bf16_copy), step,
      shape.elements(), static_cast<int>(shape.cols), shape.per_row(),
      static_cast<int>(shape.lines()));
  return FromCuda(cudaGetLastError(), "muon_update");
}

}  // namespace lab::cuda
