// Matrix products with the GPT lab's elementwise work in the epilogue, compiled at run time by
// cuDNN: what cuBLASLt cannot fuse.
//
// D[rows, cols] = epilogue(A[rows, inner] op(B)[inner, cols]), all row-major, dense, bf16, sums and
// epilogue in fp32. A transposed B is stored as [cols, inner]. Pointers are device pointers aligned
// to 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/cuda/cublaslt_matmul.h"

struct CUstream_st;

namespace lab::cuda {

class CudnnHandle;

enum class FusedEpilogue : std::uint8_t {
  kNone,
  kReluSquared,          // relu(y)^2
  kReluSquaredGradient,  // y * 2 sqrt(h), h = `extra`: bf16 [rows, cols], a result of kReluSquared
  kRowScale,             // y * r, r = `extra`: fp32 [rows]
  kRowScaleReluSquared,  // relu(y * r)^2
  kAdd,                  // y + c, c = `extra`: bf16 [rows, cols]
};
std::string_view FusedEpilogueName(FusedEpilogue epilogue);

struct FusedMatmulSpec {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;
  Operand b = Operand::kPlain;
  FusedEpilogue epilogue = FusedEpilogue::kNone;
};

struct FusedMatmulArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* extra = nullptr;  // see FusedEpilogue
  void* d = nullptr;
};

// Compiled once for a spec. Run only enqueues work and can be captured into a CUDA graph.
// Thread-compatible.
class CudnnMatmul {
 public:
  // `choice` picks among the configurations that cuDNN proposes, best first; kUnsupported when
  // there are not so many.
  static pawl::Result<CudnnMatmul> Create(const CudnnHandle& handle, const FusedMatmulSpec& spec,
                                          int choice = 0);
  ~CudnnMatmul();
  CudnnMatmul(CudnnMatmul&&) noexcept;
  CudnnMatmul& operator=(CudnnMatmul&&) noexcept;

  // Compiles every configuration that cuDNN proposes, times them on these operands, which should
  // hold data of the real kind, and returns the fastest: some seconds. Overwrites d; waits for the
  // stream. Configurations that need more scratch than the workspace has are left out.
  static pawl::Result<CudnnMatmul> CreateTuned(const CudnnHandle& handle,
                                               const FusedMatmulSpec& spec,
                                               const FusedMatmulArgs& args,
                                               const MatmulWorkspace& workspace,
                                               CUstream_st* stream);

  std::size_t workspace_bytes() const;
  pawl::Status Run(const FusedMatmulArgs& args, void* workspace, CUstream_st* stream) const;
  // "engine 4 choice 5".
  std::string Describe() const;

 private:
  struct Impl;
  explicit CudnnMatmul(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// How many configurations cuDNN proposes on a device described by `device_json`. Needs no GPU.
pawl::Result<int> CountFusedMatmulEngines(const FusedMatmulSpec& spec,
                                          std::string_view device_json);

}  // namespace lab::cuda
