// For tests that need a device: skip where there is none, copy tensors to the host, compare.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "tensor/cuda/device_memory.h"

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
// To the nearest bf16, ties to even; for finite values.
inline std::uint16_t ToBf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
inline double RoundToBf16(double x) {
  return static_cast<double>(FromBf16(ToBf16(static_cast<float>(x))));
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

// Device memory between two guards, its bytes 0xff (NaN in bf16 and fp32) until somebody writes.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t size_bytes) : size_bytes_(size_bytes) {
    auto memory = DeviceMemory::Allocate(size_bytes + 2 * kGuardBytes);
    EXPECT_TRUE(memory.ok());
    if (!memory.ok()) return;
    memory_ = std::move(*memory);
    EXPECT_EQ(cudaMemset(memory_.data(), kGuard, memory_.size_bytes()), cudaSuccess);
    Poison();
  }
  template <class T>
  explicit GuardedMemory(const std::vector<T>& values) : GuardedMemory(values.size() * sizeof(T)) {
    Upload(values);
  }
  // The values rounded to bf16.
  static GuardedMemory Bf16(const std::vector<float>& values) {
    std::vector<std::uint16_t> rounded(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) rounded[i] = ToBf16(values[i]);
    return GuardedMemory(rounded);
  }
  template <class T>
  void Upload(const std::vector<T>& values) {
    EXPECT_EQ(values.size() * sizeof(T), size_bytes_);
    EXPECT_EQ(cudaMemcpy(data(), values.data(), size_bytes_, cudaMemcpyHostToDevice), cudaSuccess);
  }
  void Poison() { EXPECT_EQ(cudaMemset(data(), 0xff, size_bytes_), cudaSuccess); }

  void* data() const { return memory_.as<std::uint8_t>() + kGuardBytes; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  bool GuardsIntact() const {
    const auto count = static_cast<std::int64_t>(memory_.size_bytes());
    const auto bytes = HostRows<std::uint8_t>(memory_.data(), 1, count, count);
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      if (bytes[i] != kGuard || bytes[bytes.size() - 1 - i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuardBytes = 4096;
  static constexpr std::uint8_t kGuard = 0xa5;
  std::size_t size_bytes_;
  DeviceMemory memory_;
};

// Fresh values for every run, uniform in [-amplitude, amplitude].
class RandomValues {
 public:
  std::vector<float> Fp32(std::int64_t count, double amplitude = 1) {
    std::uniform_real_distribution<float> uniform(-static_cast<float>(amplitude),
                                                  static_cast<float>(amplitude));
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(engine_);
    return values;
  }
  // The same on the grid of bf16.
  std::vector<float> Bf16(std::int64_t count, double amplitude = 1) {
    std::vector<float> values = Fp32(count, amplitude);
    for (float& value : values) value = FromBf16(ToBf16(value));
    return values;
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_{std::random_device{}()};
};

// The gradient of f at x by central differences: an oracle that shares no formula with the kernels.
inline std::vector<double> NumericGradient(
    std::vector<double> x, const std::function<double(const std::vector<double>&)>& f) {
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    const double h = 1e-5 * std::max(1.0, std::abs(at));
    x[i] = at + h;
    const double above = f(x);
    x[i] = at - h;
    gradient[i] = (above - f(x)) / (2 * h);
    x[i] = at;
  }
  return gradient;
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
