#include "tensor/cuda/device_timer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tensor/cuda/cuda_status.h"

namespace lab::cuda {

pawl::Result<DeviceTimer> DeviceTimer::Create(CUstream_st* stream) {
  DeviceTimer timer(stream);
  PAWL_TRY(FromCuda(cudaEventCreate(&timer.start_), "creating an event"));
  PAWL_TRY(FromCuda(cudaEventCreate(&timer.stop_), "creating an event"));
  return timer;
}

DeviceTimer::DeviceTimer(DeviceTimer&& other) noexcept
    : stream_(other.stream_),
      start_(std::exchange(other.start_, nullptr)),
      stop_(std::exchange(other.stop_, nullptr)) {}

DeviceTimer::~DeviceTimer() {
  if (start_ != nullptr) static_cast<void>(cudaEventDestroy(start_));
  if (stop_ != nullptr) static_cast<void>(cudaEventDestroy(stop_));
}

pawl::Result<std::vector<double>> DeviceTimer::Sample(const DeviceWork& work, int warm_up,
                                                      int repeats) const {
  for (int i = 0; i < warm_up; ++i) PAWL_TRY(work());
  std::vector<double> samples_ms;
  for (int i = 0; i < repeats; ++i) {
    PAWL_TRY(FromCuda(cudaEventRecord(start_, stream_), "recording an event"));
    PAWL_TRY(work());
    PAWL_TRY(FromCuda(cudaEventRecord(stop_, stream_), "recording an event"));
    PAWL_TRY(FromCuda(cudaEventSynchronize(stop_), "waiting for the device"));
    float elapsed_ms = 0;
    PAWL_TRY(FromCuda(cudaEventElapsedTime(&elapsed_ms, start_, stop_), "reading an event"));
    samples_ms.push_back(static_cast<double>(elapsed_ms));
  }
  std::sort(samples_ms.begin(), samples_ms.end());
  return samples_ms;
}

pawl::Result<std::vector<double>> DeviceTimer::Settled(const DeviceWork& work) const {
  constexpr auto kIdle = std::chrono::milliseconds(200);
  PAWL_TRY(FromCuda(cudaStreamSynchronize(stream_), "waiting for the device"));
  std::this_thread::sleep_for(kIdle);
  return Sample(work, 5, 20);
}

pawl::Result<std::vector<double>> DeviceTimer::Sustained(const DeviceWork& work) const {
  constexpr double kBusyMs = 400;
  PAWL_ASSIGN(const auto first, Sample(work, 1, 3));
  const int busy = std::clamp(static_cast<int>(kBusyMs / std::max(Median(first), 1e-3)), 20, 5000);
  PAWL_ASSIGN(auto samples, Sample(work, busy, 20));
  return samples;
}

double Median(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

}  // namespace lab::cuda
