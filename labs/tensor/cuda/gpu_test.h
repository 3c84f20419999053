// For tests that need a device: skip where there is none, copy tensors to the host, compare.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#define SKIP_WITHOUT_GPU()                                               \
  do {                                                                   \
    int gpu_count = 0;                                                   \
    if (cudaGetDeviceCount(&gpu_count) != cudaSuccess || gpu_count == 0) \
      GTEST_SKIP() << "no CUDA device on this machine";                  \
  } while (false)

// Asserts that a Status or Result is ok and shows its text if not.
#define ASSERT_OK(expression)                                                \
  do {                                                                       \
    const auto& assert_ok_outcome = (expression);                            \
    ASSERT_TRUE(assert_ok_outcome.ok()) << assert_ok_outcome.error().Text(); \
  } while (false)

namespace lab::cuda {

inline float FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// `rows` rows of `width` elements that lie `pitch` elements apart on the device.
template <class T>
std::vector<T> HostRows(const void* data, std::int64_t rows, std::int64_t width,
                        std::int64_t pitch) {
  std::vector<T> host(static_cast<std::size_t>(rows * width));
  const std::size_t row_bytes = static_cast<std::size_t>(width) * sizeof(T);
  EXPECT_EQ(cudaMemcpy2D(host.data(), row_bytes, data, static_cast<std::size_t>(pitch) * sizeof(T),
                         row_bytes, static_cast<std::size_t>(rows), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return host;
}

inline std::vector<float> HostBf16(const void* data, std::int64_t rows, std::int64_t width,
                                   std::int64_t pitch) {
  const auto raw = HostRows<std::uint16_t>(data, rows, width, pitch);
  std::vector<float> values(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) values[i] = FromBf16(raw[i]);
  return values;
}
inline std::vector<float> HostBf16(const void* data, std::int64_t count) {
  return HostBf16(data, 1, count, count);
}
inline std::vector<float> HostFp32(const void* data, std::int64_t count) {
  return HostRows<float>(data, 1, count, count);
}

// ||got - want|| / ||want||; infinite where want is zero and got is not, NaN when got holds one.
inline double RelativeError(const std::vector<float>& got,
                            const std::function<double(std::size_t)>& want) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double wanted = want(i);
    const double d = static_cast<double>(got[i]) - wanted;
    difference += d * d;
    norm += wanted * wanted;
  }
  return std::sqrt(difference / norm);
}

// Runs `enqueue` once under capture, in the mode that refuses whatever would allocate or wait, and
// hands a launcher of the graph to `check`.
inline void WithCapturedGraph(const std::function<void(cudaStream_t)>& enqueue,
                              const std::function<void(const std::function<void()>&)>& check) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  enqueue(stream);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  check([&] {
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  });
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace lab::cuda
