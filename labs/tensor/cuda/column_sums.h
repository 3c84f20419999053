// The second stage of sums that must not depend on the order in which blocks run.
#pragma once

#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

// out[c * out_stride] = (accumulate ? itself : 0) + sum of parts[r * cols + c] over the `rows`,
// fp32, in an order that depends on `rows` alone.
pawl::Status ColumnSums(const float* parts, std::int64_t rows, std::int64_t cols, bool accumulate,
                        float* out, std::int64_t out_stride, CUstream_st* stream);

}  // namespace lab::cuda
