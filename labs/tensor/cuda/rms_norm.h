// Root-mean-square norm of rows without weights, alone and behind the residual mix of the GPT lab's
// blocks: n(x) = x / sqrt(mean(x^2) + epsilon) (karpathy/autoresearch 228791f, train.py: norm() and
// Block's `resid_lambda * x + x0_lambda * x0`).
//
// Tensors are bf16 [rows, width], dense, aligned to 16 bytes; width is a multiple of 8, at most
// 2048. Sums and statistics are fp32 and never stored: the backward passes read the row anyway.
// Everything is deterministic; nothing allocates or waits.
//
// Bytes that must move, in tensors of 2 rows * width bytes ("D"): norm forward 2, backward 3 (4
// with a residual gradient), mix and norm forward 4, backward 7 (6 without an earlier d_x0).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

struct NormShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  float epsilon = 1.1920929e-7F;  // of fp32, what the original computes with
};

// u = n(x); u may be x.
pawl::Status RmsNorm(const void* x, void* u, const NormShape& shape, CUstream_st* stream);

// d_x = d_residual + J' d_u with J = dn/dx at x, that is
//   r d_u - x r^3 mean(d_u x),  r = 1 / sqrt(mean(x^2) + epsilon).
// d_residual, the gradient that reaches x on another path, may be null and may be d_x, as may d_u.
pawl::Status RmsNormBackward(const void* x, const void* d_u, const void* d_residual, void* d_x,
                             const NormShape& shape, CUstream_st* stream);

struct MixNormArgs {
  const void* x_before = nullptr;
  const void* x0 = nullptr;
  const float* x_scale = nullptr;   // one value, on the device
  const float* x0_scale = nullptr;  // one value, on the device
  void* x = nullptr;                // x_scale x_before + x0_scale x0, rounded; may be x_before
  void* u = nullptr;                // n(x)
};
pawl::Status MixNorm(const MixNormArgs& args, const NormShape& shape, CUstream_st* stream);

struct MixNormBackwardArgs {
  const void* x_before = nullptr;  // of the forward pass; x is made again from it
  const void* x0 = nullptr;
  const float* x_scale = nullptr;
  const float* x0_scale = nullptr;
  const void* d_u = nullptr;
  const void* d_x = nullptr;  // what reaches x on the residual path
  // What the value gate adds to the first 32 columns of d_u, d_gate[rows, heads] times
  // gate_weight[heads, 32] (see qk_rope.h); d_gate null: nothing.
  const float* d_gate = nullptr;
  const void* gate_weight = nullptr;  // bf16
  int gate_heads = 0;
  // With t = d_x + J' d_u: d_x_before = x_scale t, may be d_x. Null where x_before is x0, in the
  // first layer: then x_scale t is added to d_x0, too.
  void* d_x_before = nullptr;
  void* d_x0 = nullptr;  // x0_scale t, added if add_to_d_x0
  bool add_to_d_x0 = false;
  float* d_x_scale = nullptr;   // sum of t x_before, added if add_to_d_scales
  float* d_x0_scale = nullptr;  // sum of t x0
  bool add_to_d_scales = false;
  void* scratch = nullptr;  // MixNormScratchBytes(rows)
};
pawl::Status MixNormBackward(const MixNormBackwardArgs& args, const NormShape& shape,
                             CUstream_st* stream);
std::size_t MixNormScratchBytes(std::int64_t rows);

}  // namespace lab::cuda
