// Cross entropy behind a soft cap, in one pass over the logits of a chunk of rows: each is read
// once and overwritten by its gradient (karpathy/autoresearch 228791f, train.py: GPT.forward).
//
//   l = c tanh(z / c),  loss = log(sum_j exp(l_j)) - l_target,
//   dz_j = s (softmax(l)_j - [j = target]) (1 - tanh(z_j / c)^2).
// The cap bounds l, so no maximum is needed before the sum. With r = 1 / (1 + exp(2 z / c)):
// l = c - 2 c r and 1 - tanh^2 = 4 r (1 - r), both without a cancellation that shows in l.
//
// z is bf16 [rows, vocab], everything else fp32. Deterministic; nothing allocates or waits.
// Bytes that must move: 4 rows vocab with gradient, 2 rows vocab without; a chunk that the product
// before it left in the L2 cache need not cross device memory at all.
#pragma once

#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

struct CrossEntropyShape {
  std::int64_t rows = 0;
  std::int64_t vocab = 0;  // a multiple of 8, at most 32768
  float softcap = 15;      // at most 40
};

// loss[row] in nats; 0, and a zero gradient, where the target is negative, and NaN where it is no
// token of the vocabulary. `logits` become s * gradient, s = `gradient_scale`, usually 1 / rows of
// the whole batch.
pawl::Status CrossEntropy(void* logits, const std::int32_t* targets, float* loss,
                          float gradient_scale, const CrossEntropyShape& shape,
                          CUstream_st* stream);

// The losses alone, for evaluation; leaves the logits as they are.
pawl::Status CrossEntropyLoss(const void* logits, const std::int32_t* targets, float* loss,
                              const CrossEntropyShape& shape, CUstream_st* stream);

}  // namespace lab::cuda
