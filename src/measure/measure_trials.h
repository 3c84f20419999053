// How many synthetic experiments a test runs: a sample that can fail by default, ten times as many
// with PAWL_TEST_ALL.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace pawl::measure {

inline std::uint32_t Trials(std::uint32_t sample) {
  const char* all = std::getenv("PAWL_TEST_ALL");  // NOLINT(concurrency-mt-unsafe)
  return all != nullptr && *all != '\0' ? 10 * sample : sample;
}

}  // namespace pawl::measure
