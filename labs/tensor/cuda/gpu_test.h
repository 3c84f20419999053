// For tests that need a device: skip where there is none, fail on any error of a library.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#define SKIP_WITHOUT_GPU()                                                             \
  do {                                                                                 \
    int gpu_count = 0;                                                                 \
    if (cudaGetDeviceCount(&gpu_count) != cudaSuccess || gpu_count == 0)               \
      GTEST_SKIP() << "no CUDA device on this machine";                                \
  } while (false)

// Asserts that a Status or Result is ok and shows its text if not.
#define ASSERT_OK(expression)                                          \
  do {                                                                 \
    const auto& assert_ok_outcome = (expression);                      \
    ASSERT_TRUE(assert_ok_outcome.ok()) << assert_ok_outcome.error().Text(); \
  } while (false)
