// The elementwise parts of Muon over a stack of equal matrices [count, rows, cols], row-major
// (karpathy/autoresearch 228791f, train.py: muon_step_fused); muon.h puts them and the products
// together. rows * cols is a multiple of 8, cols too. What changes from step to step lies on the
// device. All sums are deterministic; nothing allocates or waits.
//
// Bytes that must move per element: momentum 14, normalisation 4 (X is often still in the L2
// cache), line squares 2, update 12 (p read and written in fp32, X read, the bf16 copy written).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

struct MuonShape {
  std::int64_t count = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  std::int64_t elements() const { return rows * cols; }
  // Second moments are kept per row, or per column where that is the longer side.
  bool per_row() const { return rows >= cols; }
  std::int64_t lines() const { return per_row() ? rows : cols; }
};

struct MuonStep {
  float learning_rate = 0;  // with the factor sqrt(max(1, rows / cols))
  float momentum = 0;
  float beta2 = 0;
  float weight_decay = 0;
};

// m <- mu m + (1 - mu) g; x = bf16((1 - mu) g + mu m); and, in `squares`, parts of the sums of x^2
// of each matrix: fp32, MuonSquaresBytes.
pawl::Status MuonMomentum(const float* gradient, float* moment, void* x, float* squares,
                          const MuonStep* step, const MuonShape& shape, CUstream_st* stream);
std::size_t MuonSquaresBytes(const MuonShape& shape);

// x <- x / (1.02 ||x|| + 1e-6), matrix by matrix, with the norm from `squares`.
pawl::Status MuonNormalise(void* x, const float* squares, const MuonShape& shape,
                           CUstream_st* stream);

// Evens out the lines of x: with q the mean of x^2 along each line of length R,
//   s <- b2 s + (1 - b2) q,  w = 1 / sqrt(max(s, 1e-10)),
//   factor = w sqrt(R sum q) / max(sqrt(R sum(q w^2)), 1e-10),
// which keeps the Frobenius norm of x * factor. `second_moment` and `factor` are fp32 [count,
// lines]; scratch holds MuonLineScratchBytes.
pawl::Status MuonLineFactors(const void* x, float* second_moment, float* factor, void* scratch,
                             const MuonStep* step, const MuonShape& shape, CUstream_st* stream);
std::size_t MuonLineScratchBytes(const MuonShape& shape);

// p <- p - lr y - lr decay p [y p >= 0] with y = x * factor: decay only where the update shrinks
// p. Writes p to `bf16_copy`, too, unless that is null.
pawl::Status MuonUpdate(const void* x, const float* factor, float* parameter, void* bf16_copy,
                        const MuonStep* step, const MuonShape& shape, CUstream_st* stream);

}  // namespace lab::cuda
