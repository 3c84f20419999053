// Two clocks that must not be mixed: monotonic for durations and limits, wall for time stamps that
// people read.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

using Monotonic = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

inline double SecondsSince(Monotonic::time_point start) {
  return Seconds(Monotonic::now() - start).count();
}

// Wall time now, in microseconds since 1970 UTC.
std::int64_t UnixMicros();
// 2026-11-30T09:08:07.123456+00:00, the form that dit-ar writes.
std::string IsoUtc(std::int64_t unix_micros);
// 20261130_090807 in local time, for names of run folders.
std::string CompactLocal(std::int64_t unix_micros);

}  // namespace pawl
