// The gradient in two launches. First a block sums each run of equal ids inside its chunk of the
// sorted order: a run that is a whole segment goes to the table at once, one that a chunk's edge
// cuts goes to scratch. Then the parts of cut segments are added in the order of their chunks.
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/embedding.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kChunk = 32;
constexpr int kInFlight = 8;  // rows whose loads are issued before the first is used
constexpr int kHeadLanes = 16;
constexpr int kHeadDim = 128;
constexpr int kMaxHeads = 16;
constexpr int kGatherThreads = 256;

__global__ void __launch_bounds__(kGatherThreads)
    embedding_gather(const Bf16* table, const std::int32_t* ids, Bf16* out, std::int64_t vectors,
                     int per_row, std::int64_t vocab) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kGatherThreads + threadIdx.x;
  if (i >= vectors) return;
  // 32 bits: a division of 64 would cost more than the rest.
  const unsigned row = static_cast<unsigned>(i) / static_cast<unsigned>(per_row);
  const unsigned column = (static_cast<unsigned>(i) - row * static_cast<unsigned>(per_row)) * 8;
  const std::int64_t id = ids[row];
  Floats8 values;
  if (id >= 0 && id < vocab) {
    values = LoadFloats(table + id * per_row * 8 + column);
  } else {
    for (float& value : values.at) value = nanf("");
  }
  StoreFloats(out + i * 8, values);
}

struct Sums {
  const Bf16* d_out;
  std::int64_t d_out_pitch;
  SortedTokens tokens;
  float* d_table;
  bool accumulate;
  float* parts;  // [chunks][2][width]: of a segment begun in an earlier chunk, begun in this one
  std::int64_t rows;
  int width;
  const Bf16* table;  // the rest only with a gate
  const float* gate;
  float* d_gate;
};

__device__ void AddTo(float* to, const Floats8& sum, bool accumulate) {
  Floats8 total = sum;
  if (accumulate) {
    const Floats8 before = LoadFloats(to);
#pragma unroll
    for (int j = 0; j < 8; ++j) total.at[j] += before.at[j];
  }
  StoreFloats(to, total);
}

// What a block knows of its chunk.
struct Chunk {
  std::int32_t position[kChunk];
  std::int32_t id[kChunk];
  std::int32_t id_before, id_after;  // of the neighbours in sorted order, -1 at the ends
  float gate[kChunk][kMaxHeads];
};

template <bool kGated>
__device__ int LoadChunk(const Sums& s, Chunk& chunk) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kChunk;
  const int count = static_cast<int>(min(std::int64_t{kChunk}, s.rows - first));
  const auto id_at = [&](std::int64_t i) {
    return i < 0 || i >= s.rows ? -1 : s.tokens.ids[s.tokens.positions[i]];
  };
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    chunk.position[i] = s.tokens.positions[first + i];
    chunk.id[i] = s.tokens.ids[chunk.position[i]];
  }
  if (threadIdx.x == 0) {
    chunk.id_before = id_at(first - 1);
    chunk.id_after = id_at(first + count);
  }
  __syncthreads();
  if constexpr (kGated) {
    const int heads = s.width / kHeadDim;
    for (int i = static_cast<int>(threadIdx.x); i < count * heads;
         i += static_cast<int>(blockDim.x)) {
      const int row = i / heads;
      chunk.gate[row][i - row * heads] =
          s.gate[std::int64_t{chunk.position[row]} * heads + (i - row * heads)];
    }
    __syncthreads();
  }
  return count;
}

// A run of rows first .. end - 1 of the chunk with one id.
__device__ void StoreRun(const Sums& s, const Chunk& chunk, int first, bool reaches_end,
                         const Floats8& sum, int column) {
  const std::int32_t id = chunk.id[first];
  const bool begun_before = first == 0 && chunk.id_before == id;
  const bool goes_on = reaches_end && chunk.id_after == id;
  if (!begun_before && !goes_on) {
    AddTo(s.d_table + std::int64_t{id} * s.width + column, sum, s.accumulate);
    return;
  }
  const std::int64_t part = 2 * std::int64_t{blockIdx.x} + (begun_before ? 0 : 1);
  StoreFloats(s.parts + part * s.width + column, sum);
}

// d_gate of one row; all 16 lanes of a head call it.
__device__ void StoreGateGradient(const Sums& s, std::int64_t position, float gate,
                                  const Floats8& d_v, const Floats8& embedded) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned mask = 0xffffU << (lane & kHeadLanes);
  const float dot = SumOverLanes<kHeadLanes>(Dot(d_v, embedded), mask);
  if (lane % kHeadLanes != 0) return;
  const int heads = s.width / kHeadDim;
  s.d_gate[position * heads + static_cast<int>(threadIdx.x) / kHeadLanes] =
      gate * (1.0F - 0.5F * gate) * dot;
}

// One thread per 8 columns.
template <bool kGated>
__global__ void sum_runs(Sums s) {
  __shared__ Chunk chunk;
  const int count = LoadChunk<kGated>(s, chunk);
  const int column = static_cast<int>(threadIdx.x) * 8;
  Floats8 sum{};
  Floats8 embedded{};
  int run = 0;
  const auto begin_run = [&](int i) {
    run = i;
    sum = Floats8{};
    if constexpr (kGated) {
      embedded = LoadFloats(s.table + std::int64_t{chunk.id[i]} * s.width + column);
    }
  };
  begin_run(0);
  for (int base = 0; base < count; base += kInFlight) {
    Vector8 raw[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int i = min(base + k, count - 1);
      raw[k] = *reinterpret_cast<const Vector8*>(
          s.d_out + std::int64_t{chunk.position[i]} * s.d_out_pitch + column);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int i = base + k;
      if (i >= count) break;
      if (chunk.id[i] != chunk.id[run]) {
        StoreRun(s, chunk, run, false, sum, column);
        begin_run(i);
      }
      const Floats8 d = ToFloats(raw[k]);
      float gate = 1.0F;
      if constexpr (kGated) {
        gate = chunk.gate[i][threadIdx.x / kHeadLanes];
        StoreGateGradient(s, chunk.position[i], gate, d, embedded);
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) sum.at[j] = fmaf(gate, d.at[j], sum.at[j]);
    }
  }
  StoreRun(s, chunk, run, true, sum, column);
}

// One block per id: nothing to do for most, zeros for an id without tokens.
__global__ void join_parts(Sums s) {
  const std::int64_t id = blockIdx.x;
  const int begin = s.tokens.offsets[id];
  const int end = s.tokens.offsets[id + 1];
  const int column = static_cast<int>(threadIdx.x) * 4;
  auto* const to = reinterpret_cast<float4*>(s.d_table + id * s.width + column);
  if (begin == end) {
    if (!s.accumulate) *to = float4{};
    return;
  }
  const int first_chunk = begin / kChunk;
  const int last_chunk = (end - 1) / kChunk;
  if (first_chunk == last_chunk) return;
  const auto part = [&](int chunk, int begun_in_it) {
    return *reinterpret_cast<const float4*>(
        s.parts + (2 * std::int64_t{chunk} + begun_in_it) * s.width + column);
  };
  float4 sum = part(first_chunk, 1);
  // Unrolled no further: registers would cost more blocks in flight than the few ids with hundreds
  // of parts gain (0.171 against 0.199 ms at 262,144 tokens).
#pragma unroll 4
  for (int chunk = first_chunk + 1; chunk <= last_chunk; ++chunk) {
    const float4 more = part(chunk, 0);
    sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
  }
  if (s.accumulate) {
    const float4 before = *to;
    sum = make_float4(sum.x + before.x, sum.y + before.y, sum.z + before.z, sum.w + before.w);
  }
  *to = sum;
}

pawl::Status CheckShape(const EmbeddingShape& shape) {
  if (shape.rows >= 1 && shape.rows < std::int64_t{1} << 23 && shape.vocab >= 1 &&
      shape.width >= kHeadDim && shape.width % kHeadDim == 0 &&
      shape.width <= kMaxHeads * kHeadDim) {
    return pawl::OkStatus();
  }
  return pawl::MakeError(pawl::Code::kInvalidArgument,
                         "embedding of " + std::to_string(shape.rows) + " tokens, " +
                             std::to_string(shape.vocab) + " x " + std::to_string(shape.width) +
                             ": at most 2^23 tokens, and the width must be a multiple of 128, at "
                             "most 2048");
}

std::int64_t Chunks(const EmbeddingShape& shape) {
  return (shape.rows + kChunk - 1) / kChunk;
}

Sums SumsOf(const EmbeddingGradientArgs& args, const EmbeddingShape& shape) {
  return {static_cast<const Bf16*>(args.d_out),
          args.d_out_pitch,
          args.tokens,
          args.d_table,
          args.accumulate,
          static_cast<float*>(args.scratch),
          shape.rows,
          static_cast<int>(shape.width),
          nullptr,
          nullptr,
          nullptr};
}

pawl::Status JoinParts(const Sums& sums, const EmbeddingShape& shape, CUstream_st* stream) {
  PAWL_TRY(FromCuda(cudaGetLastError(), "sum_runs"));
  join_parts<<<static_cast<unsigned>(shape.vocab), static_cast<unsigned>(shape.width / 4), 0,
               stream>>>(sums);
  return FromCuda(cudaGetLastError(), "join_parts");
}

}  // namespace

pawl::Status EmbeddingGather(const void* table, const std::int32_t* ids, void* out,
                             const EmbeddingShape& shape, CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  const std::int64_t per_row = shape.width / 8;
  const std::int64_t vectors = shape.rows * per_row;
  embedding_gather<<<static_cast<unsigned>((vectors + kGatherThreads - 1) / kGatherThreads),
                     kGatherThreads, 0, stream>>>(static_cast<const Bf16*>(table), ids,
                                                  static_cast<Bf16*>(out), vectors,
                                                  static_cast<int>(per_row), shape.vocab);
  return FromCuda(cudaGetLastError(), "embedding_gather");
}

pawl::Result<TokenOrder> OrderTokens(std::span<const std::int32_t> ids, std::int64_t vocab) {
  TokenOrder order;
  order.offsets.assign(static_cast<std::size_t>(vocab) + 1, 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab) {
      return pawl::MakeError(pawl::Code::kInvalidArgument,
                             "token " + std::to_string(i) + " is " + std::to_string(ids[i]) +
                                 ", the vocabulary ends at " + std::to_string(vocab - 1));
    }
    ++order.offsets[static_cast<std::size_t>(ids[i]) + 1];
  }
  for (std::size_t v = 1; v < order.offsets.size(); ++v) order.offsets[v] += order.offsets[v - 1];
  std::vector<std::int32_t> next(order.offsets.begin(), order.offsets.end() - 1);
  order.positions.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::int32_t& at = next[static_cast<std::size_t>(ids[i])];
    order.positions[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(i);
  }
  return order;
}

pawl::Status EmbeddingGradient(const EmbeddingGradientArgs& args, const EmbeddingShape& shape,
                               CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  const Sums sums = SumsOf(args, shape);
  sum_runs<false>
      <<<static_cast<unsigned>(Chunks(shape)), static_cast<unsigned>(shape.width / 8), 0, stream>>>(
          sums);
  return JoinParts(sums, shape, stream);
}

pawl::Status ValueEmbeddingGradient(const ValueGradientArgs& args, const EmbeddingShape& shape,
                                    CUstream_st* stream) {
  PAWL_TRY(CheckShape(shape));
  Sums sums = SumsOf(args.embedding, shape);
  sums.table = static_cast<const Bf16*>(args.table);
  sums.gate = args.gate;
  sums.d_gate = args.d_gate;
  sum_runs<true>
      <<<static_cast<unsigned>(Chunks(shape)), static_cast<unsigned>(shape.width / 8), 0, stream>>>(
          sums);
  return JoinParts(sums, shape, stream);
}

std::size_t EmbeddingScratchBytes(const EmbeddingShape& shape) {
  return static_cast<std::size_t>(2 * Chunks(shape) * shape.width) * sizeof(float);
}

}  // namespace lab::cuda
