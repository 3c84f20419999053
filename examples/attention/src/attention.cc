// The textbook three steps, one head at a time: scores, softmax, weighted sum of the values.
// Plain loops that follow the formulas; this is the starting point of the campaign.
#include "attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// One head of one batch entry.
struct Head {
  std::size_t queries;
  std::size_t keys;
  std::size_t head_dim;
  const float* q;
  const float* k;
  const float* v;
  float* out;
};

// scores[i][j] = (q_i . k_j) / sqrt(head_dim)
void Scores(const Head& head, float* scores) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(head.head_dim));
  for (std::size_t i = 0; i < head.queries; ++i) {
    for (std::size_t j = 0; j < head.keys; ++j) {
      float dot = 0.0F;
      for (std::size_t d = 0; d < head.head_dim; ++d) {
        dot += head.q[i * head.head_dim + d] * head.k[j * head.head_dim + d];
      }
      scores[i * head.keys + j] = dot * scale;
    }
  }
}

// Turns one row of scores into weights that sum to one.
// The largest score is taken off first: exp() of a large score would overflow.
void Softmax(float* row, std::size_t keys) {
  const float largest = *std::max_element(row, row + keys);
  float sum = 0.0F;
  for (std::size_t j = 0; j < keys; ++j) {
    row[j] = std::exp(row[j] - largest);
    sum += row[j];
  }
  for (std::size_t j = 0; j < keys; ++j) {
    row[j] /= sum;
  }
}

// out[i][d] = sum over j of weights[i][j] * v[j][d]
void WeightedSum(const Head& head, const float* weights) {
  for (std::size_t i = 0; i < head.queries; ++i) {
    for (std::size_t d = 0; d < head.head_dim; ++d) {
      float sum = 0.0F;
      for (std::size_t j = 0; j < head.keys; ++j) {
        sum += weights[i * head.keys + j] * head.v[j * head.head_dim + d];
      }
      head.out[i * head.head_dim + d] = sum;
    }
  }
}

// All three steps for one head.
void AttendHead(const Head& head) {
  std::vector<float> scores(head.queries * head.keys);

  Scores(head, scores.data());
  for (std::size_t i = 0; i < head.queries; ++i) {
    Softmax(scores.data() + i * head.keys, head.keys);
  }
  WeightedSum(head, scores.data());
}

}  // namespace

void Attention(const Shape& shape, const float* q, const float* k, const float* v, float* out) {
  const std::size_t q_size = shape.queries * shape.head_dim;
  const std::size_t k_size = shape.keys * shape.head_dim;
  for (std::size_t h = 0; h < shape.batch * shape.heads; ++h) {
    Head head{shape.queries,  shape.keys,     shape.head_dim,  q + h * q_size,
              k + h * k_size, v + h * k_size, out + h * q_size};
    AttendHead(head);
  }
}
