// Causal attention of one head in double precision on the CPU, forward and backward, written from
// the definition: the oracle for every attention kernel. Slow on purpose: nothing is reused.
#pragma once

#include <cstdint>
#include <vector>

namespace lab::cuda {

struct AttentionHead {
  std::int64_t tokens = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // keys seen, the query's own included; 0 = all earlier keys
  double scale = 0;
  std::vector<float> q, k, v, d_out;  // [tokens, head_dim]
};

struct AttentionHeadResult {
  std::vector<double> out, dq, dk, dv;  // [tokens, head_dim]
  std::vector<double> log_sum_exp;      // [tokens]
};

AttentionHeadResult ReferenceAttention(const AttentionHead& head);

}  // namespace lab::cuda
