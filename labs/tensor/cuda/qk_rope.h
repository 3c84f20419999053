// Between the QKV product and attention: rotary positions, the norm of queries and keys, and value
// embeddings behind a gate, in place on packed rows [q heads | k heads | v heads] of bf16, as
// CudnnAttention takes them. From karpathy/autoresearch 228791f, train.py: apply_rotary_emb, norm
// and the value embedding of CausalSelfAttention.
//
// Per head of q and k, with t the token's position in its row of the batch and theta = t /
// base^(j / 64), j < 64:
//   y_j = x_j cos(theta) + x_j+64 sin(theta),  y_j+64 = -x_j sin(theta) + x_j+64 cos(theta),
//   out = y / sqrt(mean(y^2) + epsilon).
// Per head of v, in layers with value embeddings, u being the row that the product read:
//   g = 2 sigmoid(u[0:32] . gate_weight[head]),  v += g table[id].
//
// Arithmetic is fp32, rounded once to bf16. All is deterministic; nothing allocates or waits.
// Bytes that must move, in D = 2 rows heads 128: forward 4 (6 with value embeddings, whose table
// stays in the L2 cache), backward 6. The value path's backward is in embedding.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

inline constexpr std::int64_t kRopeHeadDim = 128;
inline constexpr std::int64_t kGateColumns = 32;

struct QkRopeShape {
  std::int64_t rows = 0;    // batch x tokens, a row of the batch after the other
  std::int64_t tokens = 0;  // per row of the batch
  std::int64_t heads = 0;   // of q, k and v each
  float epsilon = 1.1920929e-7F;
};

// bf16 [tokens, 64] of cosines, then the same of sines: what `rope` points to on the device.
std::vector<std::uint16_t> RopeTable(std::int64_t tokens, double base = 10000);

struct ValueEmbedding {
  const void* table = nullptr;  // bf16 [vocab, heads * 128]; null: the layer has none
  std::int64_t vocab = 0;
  const std::int32_t* ids = nullptr;  // [rows]; one outside the vocabulary makes its row NaN
  const void* u = nullptr;            // bf16, rows u_pitch elements apart (a multiple of 4)
  std::int64_t u_pitch = 0;
  const void* gate_weight = nullptr;  // bf16 [heads, 32]
  float* gate = nullptr;              // out: g, [rows, heads]
};

// `inverse_rms` (out, fp32 [rows, 2 * heads]) is what the backward pass needs beside qkv itself.
pawl::Status QkRope(void* qkv, const void* rope, float* inverse_rms, const ValueEmbedding& values,
                    const QkRopeShape& shape, CUstream_st* stream);

// Turns the gradients of the outputs in d_qkv into those of the inputs, q and k alone. `qkv` is the
// forward pass's output.
pawl::Status QkRopeBackward(const void* qkv, const void* rope, const float* inverse_rms,
                            void* d_qkv, const QkRopeShape& shape, CUstream_st* stream);

// d_gate_weight (fp32 [heads, 32]) = (accumulate ? itself : 0) + d_gate' u[:, 0:32], d_gate being
// fp32 [rows, heads]: the gradient of the gate's logits, from ValueEmbeddingGradient. heads at most
// 32; `scratch` holds GateScratchBytes.
pawl::Status GateWeightGradient(const float* d_gate, const void* u, std::int64_t u_pitch,
                                std::int64_t rows, std::int64_t heads, bool accumulate,
                                float* d_gate_weight, void* scratch, CUstream_st* stream);
std::size_t GateScratchBytes(std::int64_t rows, std::int64_t heads);

}  // namespace lab::cuda
