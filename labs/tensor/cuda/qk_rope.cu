// Eight lanes own a head of a token: each holds columns 8 l .. 8 l + 7 and their partners 64
// further on, so a rotation needs no other lane and a norm three exchanges.
#include <bit>
#include <cmath>

#include "tensor/cuda/column_sums.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/qk_rope.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kLanes = 8;
constexpr int kHalf = static_cast<int>(kRopeHeadDim) / 2;
constexpr int kGateRowsPerBlock = 256;

struct Head {
  Floats8 low, high;  // columns 8 l .. and 64 + 8 l ..
};

__device__ Head LoadHead(const Bf16* at) {
  const Vector8 low = *reinterpret_cast<const Vector8*>(at);
  const Vector8 high = *reinterpret_cast<const Vector8*>(at + kHalf);
  return {ToFloats(low), ToFloats(high)};
}

__device__ void StoreHead(Bf16* at, const Head& head) {
  StoreFloats(at, head.low);
  StoreFloats(at + kHalf, head.high);
}

// By -theta, or back with sine = -1.
__device__ Head Rotated(const Head& x, const Floats8& cos, const Floats8& sin, float sine) {
  Head y;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float s = sine * sin.at[j];
    y.low.at[j] = x.low.at[j] * cos.at[j] + x.high.at[j] * s;
    y.high.at[j] = x.high.at[j] * cos.at[j] - x.low.at[j] * s;
  }
  return y;
}

__device__ float DotHeads(const Head& a, const Head& b) {
  return SumOverLanes<kLanes>(Dot(a.low, b.low) + Dot(a.high, b.high));
}

// x * factor + y * other
__device__ Head Combined(const Head& x, float factor, const Head& y, float other) {
  Head out;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    out.low.at[j] = x.low.at[j] * factor + y.low.at[j] * other;
    out.high.at[j] = x.high.at[j] * factor + y.high.at[j] * other;
  }
  return out;
}

// Which head of which token the lane works on. Lanes past the end repeat the last head, so that all
// take part in exchanges, and store nothing.
struct Place {
  bool inside;
  std::int64_t row;
  int slot;    // q heads, then k heads, then v heads
  int column;  // of the lane in the lower half of the head
};

__device__ Place FindPlace(std::int64_t rows, int slots) {
  // Below 2^31, which CheckShape makes sure of: a division of 64 bits would cost more than the
  // rest.
  const auto group = (blockIdx.x * unsigned{kThreads} + threadIdx.x) / unsigned{kLanes};
  const auto count = static_cast<unsigned>(rows) * static_cast<unsigned>(slots);
  const unsigned clamped = min(group, count - 1);
  const unsigned row = clamped / static_cast<unsigned>(slots);
  Place place;
  place.inside = group < count;
  place.row = row;
  place.slot = static_cast<int>(clamped - row * static_cast<unsigned>(slots));
  place.column = static_cast<int>(threadIdx.x % kLanes) * 8;
  return place;
}

// The lane's cosines; the sines lie tokens * kHalf further on.
__device__ const Bf16* AngleOf(const Bf16* rope, const Place& place, int tokens) {
  const int token = static_cast<int>(place.row) % tokens;
  return rope + token * kHalf + place.column;
}

__device__ float GateOf(const ValueEmbedding& values, const Place& place, int head) {
  constexpr int kPerLane = static_cast<int>(kGateColumns) / kLanes;
  const int at = place.column / 8 * kPerLane;
  const auto* const u = static_cast<const Bf16*>(values.u) + place.row * values.u_pitch + at;
  const auto* const w = static_cast<const Bf16*>(values.gate_weight) + head * kGateColumns + at;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kPerLane; j += 2) {
    const float2 a = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(u + j));
    const float2 b = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(w + j));
    sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
  }
  return 2.0F / (1.0F + expf(-SumOverLanes<kLanes>(sum)));
}

struct Forward {
  Bf16* qkv;
  const Bf16* rope;
  float* inverse_rms;
  ValueEmbedding values;
  std::int64_t rows;
  int tokens;
  int heads;
  float epsilon;
};

template <bool kValues>
__global__ void __launch_bounds__(kThreads) qk_rope(Forward f) {
  const Place place = FindPlace(f.rows, (kValues ? 3 : 2) * f.heads);
  Bf16* const at =
      f.qkv + place.row * 3 * f.heads * kRopeHeadDim + place.slot * kRopeHeadDim + place.column;
  const Head x = LoadHead(at);
  if constexpr (kValues) {
    // Whole warps may mix q, k and v, so the gate's exchange is made by all.
    const int head = place.slot % f.heads;
    const bool is_value = place.slot >= 2 * f.heads;
    if (__any_sync(0xffffffffU, is_value)) {
      const std::int32_t id = f.values.ids[place.row];
      const float gate = GateOf(f.values, place, head);
      if (is_value) {
        const bool known = id >= 0 && id < f.values.vocab;
        const auto* const table = static_cast<const Bf16*>(f.values.table);
        const Head embedded = LoadHead(
            table + (std::int64_t{known ? id : 0} * f.heads + head) * kRopeHeadDim + place.column);
        if (place.inside) {
          StoreHead(at, Combined(x, 1.0F, embedded, known ? gate : nanf("")));
          if (place.column == 0) f.values.gate[place.row * f.heads + head] = gate;
        }
      }
      if (__all_sync(0xffffffffU, is_value)) return;
    }
  }
  const Bf16* const angle = AngleOf(f.rope, place, f.tokens);
  const Head y =
      Rotated(x, LoadFloats(angle), LoadFloats(angle + std::int64_t{f.tokens} * kHalf), 1.0F);
  const float r = rsqrtf(DotHeads(y, y) / static_cast<float>(kRopeHeadDim) + f.epsilon);
  if (!place.inside || place.slot >= 2 * f.heads) return;
  StoreHead(at, Combined(y, r, y, 0.0F));
  if (place.column == 0) f.inverse_rms[place.row * 2 * f.heads + place.slot] = r;
}

__global__ void __launch_bounds__(kThreads)
    qk_rope_backward(const Bf16* qkv, const Bf16* rope, const float* inverse_rms, Bf16* d_qkv,
                     std::int64_t rows, int tokens, int heads) {
  const Place place = FindPlace(rows, 2 * heads);
  const std::int64_t at =
      place.row * 3 * heads * kRopeHeadDim + place.slot * kRopeHeadDim + place.column;
  const Head y = LoadHead(qkv + at);
  const Head d_y = LoadHead(d_qkv + at);
  const Bf16* const angle = AngleOf(rope, place, tokens);
  const Floats8 cos = LoadFloats(angle);
  const Floats8 sin = LoadFloats(angle + std::int64_t{tokens} * kHalf);
  const float r = inverse_rms[place.row * 2 * heads + place.slot];
  const float mean = DotHeads(d_y, y) / static_cast<float>(kRopeHeadDim);
  const Head d_rotated = Combined(d_y, r, y, -r * mean);
  if (place.inside) StoreHead(d_qkv + at, Rotated(d_rotated, cos, sin, -1.0F));
}

// A thread owns one element of the weight over the rows of its block.
__global__ void gate_weight_gradient(const float* d_gate, const Bf16* u, std::int64_t u_pitch,
                                     std::int64_t rows, int heads, float* parts) {
  const int head = static_cast<int>(threadIdx.x) / static_cast<int>(kGateColumns);
  const int column = static_cast<int>(threadIdx.x) % static_cast<int>(kGateColumns);
  const std::int64_t first = std::int64_t{blockIdx.x} * kGateRowsPerBlock;
  const int count = static_cast<int>(min(std::int64_t{kGateRowsPerBlock}, rows - first));
  float sum = 0;
#pragma unroll 16
  for (int i = 0; i < count; ++i) {
    sum = fmaf(d_gate[(first + i) * heads + head],
               __bfloat162float(u[(first + i) * u_pitch + column]), sum);
  }
  parts[std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x] = sum;
}

pawl::Status CheckShape(const QkRopeShape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 27;  // of rows times slots times lanes: 2^31
  const bool known = shape.rows >= 1 && shape.rows <= kMost && shape.tokens >= 1 &&
                     shape.tokens <= kMost / kHalf && shape.heads >= 1 && shape.heads <= 1024 &&
                     3 * shape.rows * shape.heads <= kMost;
  if (known) return pawl::OkStatus();
  return pawl::MakeError(pawl::Code::kInvalidArgument,
                         "rotation of " + std::to_string(shape.rows) + " rows, " +
                             std::to_string(shape.tokens) + " tokens, " +
                             std::to_string(shape.heads) +
                             " heads: none may be empty, nor 3 rows heads above 2^27");
}

unsigned Blocks(std::int64_t heads) {
  constexpr std::int64_t kPerBlock = kThreads / kLanes;
  return static_cast<unsigned>((heads + kPerBlock - 1) / kPerBlock);
}

std::int64_t GateBlocks(std::int64_t rows) {
  return (rows + kGateRowsPerBlock - 1) / kGateRowsPerBlock;
}

std::uint16_t ToBf16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace

std::vector<std::uint16_t> RopeTable(std::int64_t tokens, double base) {
  std::vector<std::uint16_t> table(static_cast<std::size_t>(2 * tokens * kHalf));
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = 0; j < kHalf; ++j) {
      const double angle = static_cast<double>(t) / std::pow(base, static_cast<double>(j) / kHalf);
      const auto at = static_cast<std::size_t>(t * kHalf + j);
      table[at] = ToBf16(std::cos(angle));
      table[at + static_cast<std::size_t>(tokens * kHalf)] = ToBf16(std::sin(angle));
    }
  }
  return table;
}

pawl::Status QkRope(void* qkv, const void* rope, float* inverse_rms, const ValueEmbedding& values,
                    const QkRopeShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  const Forward f{static_cast<Bf16*>(qkv),
                  static_cast<const Bf16*>(rope),
                  inverse_rms,
                  values,
                  shape.rows,
                  static_cast<int>(shape.tokens),
                  static_cast<int>(shape.heads),
                  shape.epsilon};
  if (values.table == nullptr) {
    qk_rope<false><<<Blocks(shape.rows * 2 * shape.heads), kThreads, 0, stream>>>(f);
  } else {
    qk_rope<true><<<Blocks(shape.rows * 3 * shape.heads), kThreads, 0, stream>>>(f);
  }
  return FromCuda(cudaGetLastError(), "qk_rope");
}

pawl::Status QkRopeBackward(const void* qkv, const void* rope, const float* inverse_rms,
                            void* d_qkv, const QkRopeShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  qk_rope_backward<<<Blocks(shape.rows * 2 * shape.heads), kThreads, 0, stream>>>(
      static_cast<const Bf16*>(qkv), static_cast<const Bf16*>(rope), inverse_rms,
      static_cast<Bf16*>(d_qkv), shape.rows, static_cast<int>(shape.tokens),
      static_cast<int>(shape.heads));
  return FromCuda(cudaGetLastError(), "qk_rope_backward");
}

pawl::Status GateWeightGradient(const float* d_gate, const void* u, std::int64_t u_pitch,
                                std::int64_t rows, std::int64_t heads, bool accumulate,
                                float* d_gate_weight, void* scratch, CUstream_st* stream) {
  if (rows < 1 || heads < 1 || heads > 32) {
    return pawl::MakeError(pawl::Code::kInvalidArgument,
                           "gate gradient of " + std::to_string(rows) + " rows and " +
                               std::to_string(heads) + " heads: 1 to 32 heads are supported");
  }
  const std::int64_t blocks = GateBlocks(rows);
  const std::int64_t elements = heads * kGateColumns;
  auto* const parts = static_cast<float*>(scratch);
  gate_weight_gradient<<<static_cast<unsigned>(blocks), static_cast<unsigned>(elements), 0,
                         stream>>>(d_gate, static_cast<const Bf16*>(u), u_pitch, rows,
                                   static_cast<int>(heads), parts);
  PAWL_TRY(FromCuda(cudaGetLastError(), "gate_weight_gradient"));
  return ColumnSums(parts, blocks, elements, accumulate, d_gate_weight, 1, stream);
}

std::size_t GateScratchBytes(std::int64_t rows, std::int64_t heads) {
  return static_cast<std::size_t>(GateBlocks(rows) * heads * kGateColumns) * sizeof(float);
}

}  // namespace lab::cuda
