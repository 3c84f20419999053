#include <cmath>

#include "tensor/cuda/adamw.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/vector8.cuh"

namespace lab::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kVector = 8;

template <class T>
__global__ void __launch_bounds__(kThreads) adamw(AdamWArgs args) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kVector;
  if (at >= args.count) return;
  auto* const parameter = static_cast<T*>(args.parameter) + at;
  auto* const first = static_cast<T*>(args.first_moment) + at;
  auto* const second = static_cast<T*>(args.second_moment) + at;
  Floats8 p = LoadFloats(parameter);
  Floats8 m = LoadFloats(first);
  Floats8 v = LoadFloats(second);
  const Floats8 g = LoadFloats(args.gradient + at);
  const AdamWStep s = *args.step;
  const float keep = 1.0F - s.learning_rate * s.weight_decay;
  const float rate = s.learning_rate / s.correction1;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    m.at[j] = s.beta1 * m.at[j] + (1.0F - s.beta1) * g.at[j];
    v.at[j] = s.beta2 * v.at[j] + (1.0F - s.beta2) * g.at[j] * g.at[j];
    const float denominator = sqrtf(v.at[j] / s.correction2) + s.epsilon;
    p.at[j] = p.at[j] * keep - rate * m.at[j] / denominator;
  }
  StoreFloats(parameter, p);
  StoreFloats(first, m);
  StoreFloats(second, v);
  if (args.bf16_copy != nullptr) StoreFloats(static_cast<__nv_bfloat16*>(args.bf16_copy) + at, p);
}

}  // namespace

AdamWStep MakeAdamWStep(double learning_rate, double beta1, double beta2, double epsilon,
                        double weight_decay, std::int64_t t) {
  const auto correction = [t](double beta) {
    return static_cast<float>(1 - std::pow(beta, static_cast<double>(t)));
  };
  return {static_cast<float>(learning_rate),
          static_cast<float>(beta1),
          static_cast<float>(beta2),
          static_cast<float>(epsilon),
          static_cast<float>(weight_decay),
          correction(beta1),
          correction(beta2)};
}

pawl::Status AdamW(const AdamWArgs& args, CUstream_st* stream) {
  if (args.count < 1 || args.count % kVector != 0) {
    return pawl::MakeError(pawl::Code::kInvalidArgument,
                           "AdamW of " + std::to_string(args.count) +
                               " parameters: the count must be a positive multiple of 8");
  }
  const auto blocks = static_cast<unsigned>((args.count / kVector + kThreads - 1) / kThreads);
  if (args.state == AdamWState::kFp32) {
    adamw<float><<<blocks, kThreads, 0, stream>>>(args);
  } else {
    adamw<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(args);
  }
  return FromCuda(cudaGetLastError(), "adamw");
}

}  // namespace lab::cuda
