// Multi-head attention in fp32: out = softmax(q k^T / sqrt(head_dim)) v.
// Tensors are dense, in the order [batch][head][token][head_dim].
#pragma once

#include <cstddef>

struct Shape {
  std::size_t batch = 0;
  std::size_t heads = 0;
  std::size_t queries = 0;
  std::size_t keys = 0;
  std::size_t head_dim = 0;
};

// Fills `out` (as large as `q`). `k` and `v` hold shape.keys tokens, `q` and `out` shape.queries.
void Attention(const Shape& shape, const float* q, const float* k, const float* v, float* out);
