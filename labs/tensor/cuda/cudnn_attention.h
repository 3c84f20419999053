// Causal attention with an optional sliding window, forward and backward, on cuDNN's fused engines.
//
// q, k, v, out and their gradients are bf16 of logical shape [batch, tokens, heads, head_dim];
// element (b, t, h, d) lies at (b * tokens + t) * pitch + h * head_dim + d. A pitch of
// heads * head_dim is a dense tensor, 3 * heads * head_dim a third of a packed [q | k | v] row.
// All pointers are device pointers aligned to 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

class CudnnHandle;

struct AttentionSpec {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;    // per row of the batch
  std::int64_t head_dim = 0;  // a multiple of 8, at most 128
  // Keys that a query sees, itself included: query t sees keys t - window + 1 .. t. 0, or at least
  // `tokens`, is full causal attention.
  std::int64_t window = 0;
  std::int64_t qkv_pitch = 0;  // elements from token to token in q, k, v, dq, dk and dv
  std::int64_t out_pitch = 0;  // the same in out and d_out
  float scale = 0;             // of the scores, usually 1 / sqrt(head_dim)
};

struct AttentionForwardArgs {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* out = nullptr;
  // Natural log of the sum of exp(scale * score) of each row, fp32 [batch, heads, tokens].
  float* log_sum_exp = nullptr;
};

struct AttentionBackwardArgs {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* out = nullptr;
  const void* d_out = nullptr;
  const float* log_sum_exp = nullptr;  // of the forward pass
  void* dq = nullptr;                  // overwritten, as dk and dv
  void* dk = nullptr;
  void* dv = nullptr;
};

// Which of the engines that cuDNN proposes to use, best first; for benches.
struct AttentionEngines {
  int forward = 0;
  int backward = 0;
};

// Compiled once for a spec. Forward and Backward only enqueue work on the stream: they neither
// allocate device memory nor wait, and can be captured into a CUDA graph. Thread-compatible, and
// not to be used beside other plans of the same handle from another thread.
//
// out, log_sum_exp, dk and dv are deterministic; dq is summed with atomics and is not.
class CudnnAttention {
 public:
  // kInvalidArgument for a spec that makes no sense, kUnsupported when cuDNN has no engine.
  static pawl::Result<CudnnAttention> Create(const CudnnHandle& handle, const AttentionSpec& spec,
                                             const AttentionEngines& engines = {});
  ~CudnnAttention();
  CudnnAttention(CudnnAttention&&) noexcept;
  CudnnAttention& operator=(CudnnAttention&&) noexcept;

  // What the two passes need as scratch, 256-byte aligned; nothing lives in it between calls.
  std::size_t forward_workspace_bytes() const;
  std::size_t backward_workspace_bytes() const;

  pawl::Status Forward(const AttentionForwardArgs& args, void* workspace,
                       CUstream_st* stream) const;
  pawl::Status Backward(const AttentionBackwardArgs& args, void* workspace,
                        CUstream_st* stream) const;

  // "forward engine 2, backward engine 6", for logs and records.
  std::string Describe() const;

 private:
  struct Impl;
  explicit CudnnAttention(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

enum class AttentionPass : std::uint8_t { kForward, kBackward };

// How many engines cuDNN proposes for that pass on a device described by `device_json` (see
// CudnnHandle::DeviceJson). Needs no GPU.
pawl::Result<int> CountAttentionEngines(const AttentionSpec& spec, AttentionPass pass,
                                        std::string_view device_json);

// Floating-point operations of one pass: two per multiply-add, only visible (query, key) pairs; the
// backward pass does 2.5 times the forward's, recomputed scores included.
double AttentionFlops(const AttentionSpec& spec, AttentionPass pass);

}  // namespace lab::cuda
