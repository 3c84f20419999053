// Matrix products through cuBLASLt with an algorithm that was chosen by timing, not by trust.
//
// D[rows, cols] = alpha op(A)[rows, inner] op(B)[inner, cols] (+ beta C). All matrices are
// row-major and dense; a transposed operand is stored the other way round: A as [inner, rows], B as
// [cols, inner]. A and B are bf16, sums are fp32. All pointers are device pointers aligned to 16
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct CUstream_st;
struct cublasLtContext;

namespace lab::cuda {

enum class Operand : std::uint8_t { kPlain, kTransposed };
enum class MatmulOutput : std::uint8_t { kBf16, kFp32 };
enum class MatmulEpilogue : std::uint8_t { kNone, kRelu };

struct MatmulSpec {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;
  Operand a = Operand::kPlain;
  Operand b = Operand::kPlain;
  MatmulOutput output = MatmulOutput::kBf16;
  bool add_c = false;  // add beta C, C of the type and shape of D; C may be D
  MatmulEpilogue epilogue = MatmulEpilogue::kNone;
  int sm_count = 0;  // multiprocessors to use; 0 = all
  // So many products at once, of matrices that follow each other without gaps.
  std::int64_t batch = 1;

  // "262144x512x2048 nt bf16", the key under which a tuned algorithm is stored.
  std::string Key() const;
  double flops() const;
};

// The three products of a linear layer y = x W' over `rows` rows, W stored [out, in]:
// y [rows, out], dx = dy W [rows, in], dW = dy' x [out, in].
struct LinearSpecs {
  MatmulSpec forward, input_gradient, weight_gradient;
};
LinearSpecs SpecsOfLinear(std::int64_t rows, std::int64_t out, std::int64_t in);

struct MatmulArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // read only when add_c
  void* d = nullptr;
  float alpha = 1;  // of the product
  float beta = 1;   // of C
};

// Scratch for the algorithms; products on one stream may share it.
struct MatmulWorkspace {
  void* data = nullptr;
  std::size_t size_bytes = 0;
};
inline constexpr std::size_t kMatmulWorkspaceBytes = std::size_t{64} << 20;

class CublasLtHandle {
 public:
  static pawl::Result<CublasLtHandle> Create();
  ~CublasLtHandle();
  CublasLtHandle(CublasLtHandle&& other) noexcept;
  CublasLtHandle& operator=(CublasLtHandle&& other) noexcept;
  cublasLtContext* get() const { return handle_; }
  // "13.1.0".
  static std::string Version();

 private:
  CublasLtHandle() = default;
  cublasLtContext* handle_ = nullptr;
};

enum class MatmulSearch : std::uint8_t {
  kHeuristics,  // the 32 best guesses of the library
  kNeighbours,  // and other tiles, clusters and orders of the best among them: some seconds
};

struct MatmulTuning {
  MatmulSearch search = MatmulSearch::kHeuristics;
  int candidates = 0;   // timed
  double first_ms = 0;  // the library's own first choice
  double best_ms = 0;   // the one that is now in use
};

// One product. Run only enqueues work: no device allocation, no wait; it can be captured into a
// CUDA graph. Thread-compatible.
class CublasLtMatmul {
 public:
  // With the library's first choice. kUnsupported when it has no algorithm for the spec.
  static pawl::Result<CublasLtMatmul> Create(const CublasLtHandle& handle, const MatmulSpec& spec,
                                             std::size_t workspace_bytes = kMatmulWorkspaceBytes);
  ~CublasLtMatmul();
  CublasLtMatmul(CublasLtMatmul&&) noexcept;
  CublasLtMatmul& operator=(CublasLtMatmul&&) noexcept;

  pawl::Status Run(const MatmulArgs& args, const MatmulWorkspace& workspace,
                   CUstream_st* stream) const;

  // Times the candidates on these operands, which should hold data of the real kind, and keeps the
  // fastest. Overwrites d; waits for the stream.
  pawl::Result<MatmulTuning> Tune(const MatmulArgs& args, const MatmulWorkspace& workspace,
                                  MatmulSearch search, CUstream_st* stream);

  // The algorithm in use as 128 hexadecimal digits, valid for the same device and library version,
  // and its way back. kInvalidArgument when the text is malformed or the library refuses it.
  std::string SaveAlgorithm() const;
  pawl::Status RestoreAlgorithm(std::string_view text);

  const MatmulSpec& spec() const;
  // "algo 66 tile 36 stages 37 cluster 3 split 1 swizzle 0": the library's numbers.
  std::string Describe() const;

 private:
  struct Impl;
  class Search;
  explicit CublasLtMatmul(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lab::cuda
