// A block owns a row and keeps it in registers between the sum and the gradient.
#include "tensor/cuda/cross_entropy.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kVectors = 4;  // that a thread holds
constexpr float kLog2E = 1.4426950408889634F;

__device__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ float Reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

struct Cap {
  float softcap;
  float to_exponent;  // 2 log2(e) / softcap
  float scale;        // softcap * log2(e)
};

// r of the header.
__device__ float Squash(float z, const Cap& cap) {
  return Reciprocal(1.0F + Exp2(z * cap.to_exponent));
}
// exp(l)
__device__ float ExpCapped(float r, const Cap& cap) {
  return Exp2(fmaf(-2.0F * cap.scale, r, cap.scale));
}

template <int kThreads, bool kGradient>
__global__ void __launch_bounds__(kThreads)
    cross_entropy(Bf16* logits, const std::int32_t* targets, float* loss, float gradient_scale,
                  int vocab, Cap cap) {
  __shared__ float scratch[kThreads / 32];
  __shared__ float target_r;
  Bf16* const row = logits + std::int64_t{blockIdx.x} * vocab;
  const int target = targets[blockIdx.x];
  const auto column = [&](int i) { return (i * kThreads + static_cast<int>(threadIdx.x)) * 8; };
  Vector8 raw[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    raw[i] = column(i) < vocab ? *reinterpret_cast<const Vector8*>(row + column(i)) : Vector8{};
  }
  float sum = 0;
  Floats8 weighted[kVectors];  // exp(l) (1 - tanh^2)
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (column(i) >= vocab) break;
    const Floats8 z = ToFloats(raw[i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float r = Squash(z.at[j], cap);
      const float e = ExpCapped(r, cap);
      sum += e;
      weighted[i].at[j] = e * (4.0F * r) * (1.0F - r);
      if (column(i) + j == target) target_r = r;
    }
  }
  // Its barrier also publishes target_r.
  sum = SumOverBlock<kThreads>(sum, scratch);
  const bool counts = target >= 0;
  const bool known = counts && target < vocab;
  const float r = known ? target_r : 0.0F;
  if (threadIdx.x == 0) {
    const float capped = cap.softcap * (1.0F - 2.0F * r);
    loss[blockIdx.x] = !counts ? 0.0F : known ? logf(sum) - capped : nanf("");
  }
  if constexpr (kGradient) {
    const float scale = counts ? gradient_scale : 0.0F;
    const float factor = scale / sum;
    const float at_target = scale * (4.0F * r) * (1.0F - r);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (column(i) >= vocab) break;
      Floats8 d;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        d.at[j] = factor * weighted[i].at[j] - (column(i) + j == target ? at_target : 0.0F);
      }
      StoreFloats(row + column(i), d);
    }
  }
}

template <bool kGradient>
pawl::Status Launch(Bf16* logits, const std::int32_t* targets, float* loss, float gradient_scale,
                    const CrossEntropyShape& shape, CUstream_st* stream) {
  if (shape.rows < 1 || shape.vocab < 8 || shape.vocab % 8 != 0 || shape.vocab > 32768 ||
      !(shape.softcap > 0 && shape.softcap <= 40)) {
    return pawl::MakeError(pawl::Code::kInvalidArgument,
                           "cross entropy of " + std::to_string(shape.rows) + " x " +
                               std::to_string(shape.vocab) + ", softcap " +
                               std::to_string(shape.softcap) +
                               ": needs rows, a vocabulary that is a multiple of 8 and at most "
                               "32768, and a cap in (0, 40]");
  }
  const Cap cap{shape.softcap, 2 * kLog2E / shape.softcap, kLog2E * shape.softcap};
  const auto launch = [&](auto threads) {
    cross_entropy<threads, kGradient><<<static_cast<unsigned>(shape.rows), threads(), 0, stream>>>(
        logits, targets, loss, gradient_scale, static_cast<int>(shape.vocab), cap);
  };
  constexpr std::int64_t kPerThread = 8 * kVectors;
  if (shape.vocab <= 128 * kPerThread) {
    launch(std::integral_constant<int, 128>{});
  } else if (shape.vocab <= 256 * kPerThread) {
    launch(std::integral_constant<int, 256>{});
  } else if (shape.vocab <= 512 * kPerThread) {
    launch(std::integral_constant<int, 512>{});
  } else {
    launch(std::integral_constant<int, 1024>{});
  }
  return FromCuda(cudaGetLastError(), "cross_entropy");
}

}  // namespace

pawl::Status CrossEntropy(void* logits, const std::int32_t* targets, float* loss,
                          float gradient_scale, const CrossEntropyShape& shape,
                          CUstream_st* stream) {
  return Launch<true>(static_cast<Bf16*>(logits), targets, loss, gradient_scale, shape, stream);
}

pawl::Status CrossEntropyLoss(const void* logits, const std::int32_t* targets, float* loss,
                              const CrossEntropyShape& shape, CUstream_st* stream) {
  // The kernel without gradient only reads.
  return Launch<false>(static_cast<Bf16*>(const_cast<void*>(logits)), targets, loss, 0.0F, shape,
                       stream);
}

}  // namespace lab::cuda
