// Which of many faults a test tries.
#pragma once

#include <random>
#include <vector>

namespace pawl::fault {

// PAWL_TEST_ALL=1: every case instead of a sample.
bool TryAll();

// PAWL_TEST_SEED, or one that differs from run to run. Tests print it when they fail.
unsigned Seed();

// Every n-th of `all` from a random place on, at most about `count` of them.
template <class T>
std::vector<T> Sample(const std::vector<T>& all, std::size_t count, std::mt19937& random) {
  const std::size_t stride = (all.size() + count - 1) / count;
  if (stride <= 1) return all;
  std::vector<T> sample;
  for (std::size_t at = random() % stride; at < all.size(); at += stride) sample.push_back(all[at]);
  return sample;
}

}  // namespace pawl::fault
