// Times device work with events, so that neither the host nor its queue is measured.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"

struct CUstream_st;
struct CUevent_st;

namespace lab::cuda {

using DeviceWork = std::function<pawl::Status()>;

class DeviceTimer {
 public:
  static pawl::Result<DeviceTimer> Create(CUstream_st* stream);
  ~DeviceTimer();
  DeviceTimer(DeviceTimer&& other) noexcept;
  DeviceTimer& operator=(DeviceTimer&&) = delete;

  // Milliseconds of each of `repeats` calls of `work`, sorted, after `warm_up` untimed ones. `work`
  // enqueues on the stream of the timer. Waits for the stream.
  pawl::Result<std::vector<double>> Sample(const DeviceWork& work, int warm_up, int repeats) const;
  // The same after the device has been idle for a moment, and after it has been kept busy with the
  // work itself. They differ: a chip at its power limit lowers its clock, and a training step runs
  // at the lower one.
  pawl::Result<std::vector<double>> Settled(const DeviceWork& work) const;
  pawl::Result<std::vector<double>> Sustained(const DeviceWork& work) const;

 private:
  explicit DeviceTimer(CUstream_st* stream) : stream_(stream) {}
  CUstream_st* stream_ = nullptr;
  CUevent_st* start_ = nullptr;
  CUevent_st* stop_ = nullptr;
};

// Of sorted samples.
double Median(const std::vector<double>& sorted);

}  // namespace lab::cuda
