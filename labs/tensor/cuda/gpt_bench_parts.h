// Two parts of gpt_kernels_bench with products in them.
#pragma once

#include "base/result.h"
#include "tensor/cuda/bench_record.h"
#include "tensor/cuda/device_timer.h"

namespace lab::cuda {

// The head of a micro-batch (logits, loss, both gradients) in chunks of several sizes: rows "head,
// chunks of N", each the time for 49,152 tokens.
pawl::Status BenchHead(const DeviceTimer& timer, BenchRecord& record);

// AdamW and Muon over the default recipe's parameters, each row once per optimizer step.
pawl::Status BenchOptimizers(const DeviceTimer& timer, BenchRecord& record);

}  // namespace lab::cuda
