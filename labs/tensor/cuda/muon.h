// One Muon step over a stack of equal matrices [count, rows, cols] (Jordan et al., "Muon"; the
// polar-express coefficients of Amsel et al., arXiv 2505.16932; variance reduction and cautious
// decay as in karpathy/autoresearch 228791f, train.py: muon_step_fused).
//
// After momentum and normalisation, five iterations on X in bf16 through batched products,
//   A = X X',  B = b A + c A A,  X <- a X + B X   (rows <= cols; else from the other side),
// whose sums are parts of the products; then the lines are evened out and the weights updated. The
// step's products and kernels only enqueue work and can be captured into a CUDA graph.
#pragma once

#include <array>
#include <cstddef>

#include "base/result.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/muon_kernels.h"

struct CUstream_st;

namespace lab::cuda {

struct PolarCoefficients {
  float a, b, c;
};
inline constexpr std::array<PolarCoefficients, 5> kPolarExpress{{
    {8.156554524902461F, -22.48329292557795F, 15.878769915207462F},
    {4.042929935166739F, -2.808917465908714F, 0.5000178451051316F},
    {3.8916678022926607F, -2.772484153217685F, 0.5060648178503393F},
    {3.285753657755655F, -2.3681294933425376F, 0.46449024233003106F},
    {2.3465413258596377F, -1.7097828382687081F, 0.42323551169305323F},
}};

struct MuonArgs {
  const float* gradient = nullptr;
  float* moment = nullptr;         // [count, rows, cols], starts as zeros
  float* second_moment = nullptr;  // [count, lines()], starts as zeros
  float* parameter = nullptr;
  void* bf16_copy = nullptr;       // may be null
  const MuonStep* step = nullptr;  // on the device
};

class Muon {
 public:
  static pawl::Result<Muon> Create(const CublasLtHandle& handle, const MuonShape& shape);

  // Chooses the products' algorithms by timing; overwrites the scratch; waits for the stream.
  pawl::Status Tune(void* scratch, CUstream_st* stream);
  // `scratch` holds scratch_bytes(), aligned to 256 bytes; nothing lives in it between steps.
  pawl::Status Step(const MuonArgs& args, void* scratch, CUstream_st* stream) const;

  // The iterations alone: X, normalised, in the first of two stacks of bf16 matrices; the result's
  // stack is returned.
  pawl::Result<void*> Orthogonalise(void* x, void* other, void* scratch, CUstream_st* stream) const;

  std::size_t scratch_bytes() const { return layout_.size_bytes; }
  // Of the products of one step.
  double flops() const;

 private:
  struct Layout {  // offsets in the scratch
    std::size_t x = 0, other = 0, a = 0, b = 0, squares = 0, lines = 0, factors = 0, products = 0;
    std::size_t size_bytes = 0;
  };
  static Layout MakeLayout(const MuonShape& shape);
  Muon(const MuonShape& shape, CublasLtMatmul gram, CublasLtMatmul square, CublasLtMatmul apply);

  MuonShape shape_;
  Layout layout_;
  CublasLtMatmul gram_;    // A
  CublasLtMatmul square_;  // B
  CublasLtMatmul apply_;   // X
};

}  // namespace lab::cuda
