// Rows of a table by token id, and the table's gradient as sums over tokens sorted by id.
//
// Tables are bf16 [vocab, width], gradients fp32 of the same shape; width is a multiple of 128, at
// most 2048. The sums run over fixed chunks of the sorted order, so the result is deterministic,
// and a token that owns a large share of the batch does not hold the others up. Nothing allocates
// or waits.
//
// Bytes that must move, with D = 2 rows width: gather 1 D (the table stays in the L2 cache), the
// gradient 1 D and 4 vocab width once (twice when it is added to).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

struct EmbeddingShape {
  std::int64_t rows = 0;  // tokens
  std::int64_t width = 0;
  std::int64_t vocab = 0;
};

// out[row] = table[ids[row]]; an id outside the vocabulary makes its row NaN.
pawl::Status EmbeddingGather(const void* table, const std::int32_t* ids, void* out,
                             const EmbeddingShape& shape, CUstream_st* stream);

// The tokens of a batch by id, made on the host beside the batch itself.
struct TokenOrder {
  std::vector<std::int32_t> positions;  // ascending by id, then by position
  std::vector<std::int32_t> offsets;    // [vocab + 1]: where the positions of an id begin
};
// kInvalidArgument names the first id that is outside the vocabulary.
pawl::Result<TokenOrder> OrderTokens(std::span<const std::int32_t> ids, std::int64_t vocab);

struct SortedTokens {                       // on the device
  const std::int32_t* ids = nullptr;        // [rows], in the order of the batch
  const std::int32_t* positions = nullptr;  // as in TokenOrder
  const std::int32_t* offsets = nullptr;
};

struct EmbeddingGradientArgs {
  const void* d_out = nullptr;  // bf16, rows d_out_pitch elements apart
  std::int64_t d_out_pitch = 0;
  SortedTokens tokens;
  float* d_table = nullptr;
  bool accumulate = false;  // add to d_table
  void* scratch = nullptr;  // EmbeddingScratchBytes
};
// d_table[id] = sum of d_out over the tokens of that id.
pawl::Status EmbeddingGradient(const EmbeddingGradientArgs& args, const EmbeddingShape& shape,
                               CUstream_st* stream);
std::size_t EmbeddingScratchBytes(const EmbeddingShape& shape);

// The backward pass of v += g table[id] (qk_rope.h), reading d_v once: d_table[id] = sum of g d_v,
// and per head of 128 columns d_gate = g (1 - g / 2) (d_v . table[id]), the gradient of the gate's
// logit.
struct ValueGradientArgs {
  EmbeddingGradientArgs embedding;  // d_out is d_v
  const void* table = nullptr;
  const float* gate = nullptr;  // g, [rows, width / 128]
  float* d_gate = nullptr;      // [rows, width / 128]
};
pawl::Status ValueEmbeddingGradient(const ValueGradientArgs& args, const EmbeddingShape& shape,
                                    CUstream_st* stream);

}  // namespace lab::cuda
