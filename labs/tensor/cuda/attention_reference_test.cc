#include "tensor/cuda/attention_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lab::cuda {
namespace {

AttentionHead RandomHead(std::int64_t tokens, std::int64_t head_dim, std::int64_t window) {
  AttentionHead head{tokens, head_dim, window, 1.0 / std::sqrt(static_cast<double>(head_dim)),
                     {},     {},       {},     {}};
  std::mt19937 random(static_cast<unsigned>(tokens * 131 + window));
  std::normal_distribution<float> normal;
  for (auto* tensor : {&head.q, &head.k, &head.v, &head.d_out}) {
    tensor->resize(static_cast<std::size_t>(tokens * head_dim));
    for (float& value : *tensor) value = normal(random);
  }
  return head;
}

// The scalar whose gradient the backward pass computes: the sum of out * d_out.
double Objective(const AttentionHead& head) {
  const AttentionHeadResult result = ReferenceAttention(head);
  double sum = 0;
  for (std::size_t i = 0; i < result.out.size(); ++i) {
    sum += result.out[i] * static_cast<double>(head.d_out[i]);
  }
  return sum;
}

TEST(AttentionReference, GradientsAgreeWithCentralDifferences) {
  for (const std::int64_t window : {0, 1, 3, 12}) {
    AttentionHead head = RandomHead(12, 4, window);
    const AttentionHeadResult result = ReferenceAttention(head);
    const auto check = [&](std::vector<float>& input, const std::vector<double>& gradient) {
      for (std::size_t i = 0; i < input.size(); i += 5) {
        const float kept = input[i];
        // A power of two keeps both steps exact in fp32.
        input[i] = kept + 0x1p-10F;
        const float above = input[i];
        const double up = Objective(head);
        input[i] = kept - 0x1p-10F;
        const double down = Objective(head);
        const double step = static_cast<double>(above) - static_cast<double>(input[i]);
        input[i] = kept;
        EXPECT_NEAR((up - down) / step, gradient[i], 1e-4) << "window " << window << " at " << i;
      }
    };
    check(head.q, result.dq);
    check(head.k, result.dk);
    check(head.v, result.dv);
  }
}

TEST(AttentionReference, WindowOfOneReturnsOwnValue) {
  const AttentionHead head = RandomHead(7, 8, 1);
  const AttentionHeadResult result = ReferenceAttention(head);
  for (std::size_t i = 0; i < result.out.size(); ++i) {
    EXPECT_DOUBLE_EQ(result.out[i], static_cast<double>(head.v[i]));
  }
}

TEST(AttentionReference, WindowAsLongAsTheRowIsFullAttention) {
  AttentionHead head = RandomHead(9, 8, 9);
  const AttentionHeadResult windowed = ReferenceAttention(head);
  head.window = 0;
  EXPECT_EQ(windowed.dk, ReferenceAttention(head).dk);
}

}  // namespace
}  // namespace lab::cuda
