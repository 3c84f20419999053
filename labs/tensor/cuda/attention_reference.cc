#include "tensor/cuda/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lab::cuda {
namespace {

double Dot(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

template <class Source>
void AddScaled(double factor, const Source* source, double* target, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) target[i] += factor * static_cast<double>(source[i]);
}

}  // namespace

AttentionHeadResult ReferenceAttention(const AttentionHead& head) {
  const auto tokens = static_cast<std::size_t>(head.tokens);
  const auto dim = static_cast<std::size_t>(head.head_dim);
  const auto window = head.window > 0 ? static_cast<std::size_t>(head.window) : tokens;
  AttentionHeadResult result;
  for (auto* gradient : {&result.out, &result.dq, &result.dk, &result.dv}) {
    gradient->assign(tokens * dim, 0.0);
  }
  result.log_sum_exp.resize(tokens);

  std::vector<double> weights(tokens);
  std::vector<double> d_weights(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::size_t first = t + 1 > window ? t + 1 - window : 0;
    const float* const q = &head.q[t * dim];
    const float* const d_out = &head.d_out[t * dim];
    double highest = -INFINITY;
    for (std::size_t j = first; j <= t; ++j) {
      weights[j] = head.scale * Dot(q, &head.k[j * dim], dim);
      highest = std::max(highest, weights[j]);
    }
    double sum = 0;
    for (std::size_t j = first; j <= t; ++j) sum += std::exp(weights[j] - highest);
    result.log_sum_exp[t] = highest + std::log(sum);

    double mean_d_weight = 0;
    for (std::size_t j = first; j <= t; ++j) {
      weights[j] = std::exp(weights[j] - result.log_sum_exp[t]);
      AddScaled(weights[j], &head.v[j * dim], &result.out[t * dim], dim);
      d_weights[j] = Dot(d_out, &head.v[j * dim], dim);
      mean_d_weight += weights[j] * d_weights[j];
    }
    for (std::size_t j = first; j <= t; ++j) {
      const double d_score = head.scale * weights[j] * (d_weights[j] - mean_d_weight);
      AddScaled(weights[j], d_out, &result.dv[j * dim], dim);
      AddScaled(d_score, &head.k[j * dim], &result.dq[t * dim], dim);
      AddScaled(d_score, q, &result.dk[j * dim], dim);
    }
  }
  return result;
}

}  // namespace lab::cuda
