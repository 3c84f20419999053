// Data for tests and benches made and examined on the device: fresh random tensors, and a search
// for elements that nobody wrote.
#pragma once

#include <cstdint>

#include "base/result.h"

struct CUstream_st;

namespace lab::cuda {

// bf16 values, uniform in [-amplitude, amplitude]; equal seeds give equal data.
pawl::Status FillUniformBf16(void* data, std::int64_t count, float amplitude, std::uint64_t seed,
                             CUstream_st* stream);

// How many elements are NaN or infinite; waits for the stream.
pawl::Result<std::int64_t> CountNonFiniteBf16(const void* data, std::int64_t count,
                                              CUstream_st* stream);
pawl::Result<std::int64_t> CountNonFiniteFp32(const void* data, std::int64_t count,
                                              CUstream_st* stream);

}  // namespace lab::cuda
