// AdamW over one flat range of parameters in one pass (Loshchilov and Hutter, arXiv 1711.05101,
// with the order of karpathy/autoresearch 228791f, train.py: adamw_step_fused):
//
//   p <- p (1 - lr decay),  m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2,
//   p <- p - lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + epsilon).
//
// Gradients are fp32. Parameter and moments are all fp32, or all bf16 as the original keeps its
// embeddings; arithmetic is fp32. What changes from step to step lies on the device, so the launch
// can be part of a CUDA graph. Deterministic; nothing allocates or waits.
//
// Bytes that must move per parameter: 28 in fp32, 30 with a bf16 copy, 16 in bf16.
#pragma once

#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

struct AdamWStep {
  float learning_rate = 0;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float weight_decay = 0;
  float correction1 = 1;  // 1 - beta1^t, t from 1
  float correction2 = 1;  // 1 - beta2^t
};
// With the corrections of step t.
AdamWStep MakeAdamWStep(double learning_rate, double beta1, double beta2, double epsilon,
                        double weight_decay, std::int64_t t);

enum class AdamWState : std::uint8_t { kFp32, kBf16 };

struct AdamWArgs {
  AdamWState state = AdamWState::kFp32;
  std::int64_t count = 0;  // a multiple of 8; all pointers aligned to 16 bytes
  void* parameter = nullptr;
  void* first_moment = nullptr;
  void* second_moment = nullptr;
  const float* gradient = nullptr;
  void* bf16_copy = nullptr;        // of the parameter, for the products; may be null
  const AdamWStep* step = nullptr;  // on the device
};
pawl::Status AdamW(const AdamWArgs& args, CUstream_st* stream);

}  // namespace lab::cuda
