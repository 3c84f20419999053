// cudnn_attention_bench RECORD.json: times windowed attention at the GPT lab's shape and answers
// whether cuDNN skips what the window hides or only masks it.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "tensor/cuda/bench_record.h"
#include "tensor/cuda/cudnn_attention.h"
#include "tensor/cuda/cudnn_handle.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/device_timer.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kTokens = 2048;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kWidth = kHeads * kHeadDim;

struct Case {
  std::int64_t window = 0;
  std::int64_t qkv_pitch = 3 * kWidth;
  std::int64_t slice = kBatch;  // rows of the batch that one call takes
  int engine = 0;
};

struct Tensors {
  DeviceMemory qkv, d_qkv, out, d_out, lse, workspace;
};

pawl::Result<Tensors> MakeTensors(std::size_t workspace_bytes) {
  constexpr std::int64_t kPositions = kBatch * kTokens;
  Tensors t;
  PAWL_ASSIGN(t.qkv, DeviceMemory::Allocate(kPositions * 3 * kWidth * 2));
  PAWL_ASSIGN(t.d_qkv, DeviceMemory::Allocate(kPositions * 3 * kWidth * 2));
  PAWL_ASSIGN(t.out, DeviceMemory::Allocate(kPositions * kWidth * 2));
  PAWL_ASSIGN(t.d_out, DeviceMemory::Allocate(kPositions * kWidth * 2));
  PAWL_ASSIGN(t.lse, DeviceMemory::Allocate(kPositions * kHeads * 4));
  PAWL_ASSIGN(t.workspace, DeviceMemory::Allocate(workspace_bytes));
  PAWL_TRY(FillUniformBf16(t.qkv.data(), kPositions * 3 * kWidth, 1.732F, 1, nullptr));
  PAWL_TRY(FillUniformBf16(t.d_out.data(), kPositions * kWidth, 1.0F, 2, nullptr));
  return t;
}

std::uint16_t* At(const DeviceMemory& memory, std::int64_t element) {
  return memory.as<std::uint16_t>() + element;
}

class AttentionBench {
 public:
  AttentionBench(const CudnnHandle& handle, const DeviceTimer& timer, BenchRecord& record)
      : handle_(handle), timer_(timer), record_(record) {}

  pawl::Status Measure(const Case& c) {
    AttentionSpec spec{
        c.slice,  kHeads,      kTokens, kHeadDim,
        c.window, c.qkv_pitch, kWidth,  1.0F / std::sqrt(static_cast<float>(kHeadDim))};
    auto attention = CudnnAttention::Create(handle_, spec, {c.engine, c.engine});
    if (!attention.ok()) {
      std::printf("window %ld engine %d: %s\n", static_cast<long>(c.window), c.engine,
                  attention.error().Text().c_str());
      return pawl::OkStatus();
    }
    PAWL_ASSIGN(const Tensors t, MakeTensors(std::max(attention->forward_workspace_bytes(),
                                                      attention->backward_workspace_bytes())));
    const auto forward = [&] { return Forward(*attention, c, t); };
    const auto backward = [&] { return Backward(*attention, c, t); };
    PAWL_ASSIGN(const BenchTimes forward_times, TimeWork(timer_, forward));
    PAWL_ASSIGN(const BenchTimes backward_times, TimeWork(timer_, backward));
    spec.batch = kBatch;
    Report("forward", spec, c, AttentionPass::kForward, forward_times, 4.0, *attention);
    Report("backward", spec, c, AttentionPass::kBackward, backward_times, 8.0, *attention);
    return pawl::OkStatus();
  }

 private:
  // Element offset of q, k or v (0, 1, 2) of the first row of a slice.
  static std::int64_t Offset(const Case& c, std::int64_t first_row, int third) {
    const std::int64_t tensor =
        c.qkv_pitch == kWidth ? third * kBatch * kTokens * kWidth : third * kWidth;
    return tensor + first_row * kTokens * c.qkv_pitch;
  }

  static pawl::Status Forward(const CudnnAttention& attention, const Case& c, const Tensors& t) {
    for (std::int64_t row = 0; row < kBatch; row += c.slice) {
      const AttentionForwardArgs args{
          At(t.qkv, Offset(c, row, 0)), At(t.qkv, Offset(c, row, 1)), At(t.qkv, Offset(c, row, 2)),
          At(t.out, row * kTokens * kWidth), t.lse.as<float>() + row * kTokens * kHeads};
      PAWL_TRY(attention.Forward(args, t.workspace.data(), nullptr));
    }
    return pawl::OkStatus();
  }

  static pawl::Status Backward(const CudnnAttention& attention, const Case& c, const Tensors& t) {
    for (std::int64_t row = 0; row < kBatch; row += c.slice) {
      const std::int64_t position = row * kTokens;
      const AttentionBackwardArgs args{
          At(t.qkv, Offset(c, row, 0)),   At(t.qkv, Offset(c, row, 1)),
          At(t.qkv, Offset(c, row, 2)),   At(t.out, position * kWidth),
          At(t.d_out, position * kWidth), t.lse.as<float>() + position * kHeads,
          At(t.d_qkv, Offset(c, row, 0)), At(t.d_qkv, Offset(c, row, 1)),
          At(t.d_qkv, Offset(c, row, 2))};
      PAWL_TRY(attention.Backward(args, t.workspace.data(), nullptr));
    }
    return pawl::OkStatus();
  }

  void Report(const std::string& pass_name, const AttentionSpec& spec, const Case& c,
              AttentionPass pass, const BenchTimes& times, double tensors_moved,
              const CudnnAttention& attention) {
    const double tensor_bytes = 2.0 * static_cast<double>(kBatch * kTokens * kWidth);
    std::string name = pass_name + (c.window == 0 ? " full" : pawl::Format(" w{}", c.window));
    if (c.qkv_pitch == kWidth) name += " dense";
    if (c.slice != kBatch) name += pawl::Format(" {} x {} rows", kBatch / c.slice, c.slice);
    if (c.engine != 0) name += pawl::Format(" engine choice {}", c.engine);
    double& full_ms = pass == AttentionPass::kForward ? full_forward_ms_ : full_backward_ms_;
    const double median_ms = Median(times.settled_ms);
    if (full_ms == 0) full_ms = median_ms;
    AttentionSpec full = spec;
    full.window = 0;
    const double work = AttentionFlops(spec, pass) / AttentionFlops(full, pass);
    record_.Add({name,
                 times,
                 AttentionFlops(spec, pass),
                 tensors_moved * tensor_bytes,
                 {{"window", c.window},
                  {"qkv_pitch", c.qkv_pitch},
                  {"rows_per_call", c.slice},
                  {"engines", attention.Describe()},
                  {"time_over_full", median_ms / full_ms},
                  {"work_over_full", work},
                  {"note", pawl::Format("{:.2f} of the full time for {:.2f} of the work; {}",
                                        median_ms / full_ms, work, attention.Describe())}}});
  }

  const CudnnHandle& handle_;
  const DeviceTimer& timer_;
  BenchRecord& record_;
  double full_forward_ms_ = 0;
  double full_backward_ms_ = 0;
};

pawl::Status Bench(const std::string& command, const std::string& path) {
  PAWL_ASSIGN(BenchRecord record, BenchRecord::Create("cudnn_attention", command, nullptr));
  record.SetLibrary("cudnn", CudnnHandle::Version());
  PAWL_ASSIGN(const CudnnHandle handle, CudnnHandle::Create());
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(nullptr));
  AttentionBench bench(handle, timer, record);
  for (const std::int64_t window : {0, 1025, 513, 257, 129}) {
    PAWL_TRY(bench.Measure({window}));
    PAWL_TRY(bench.Measure({window, 3 * kWidth, kBatch, 1}));
  }
  for (const std::int64_t window : {0, 1025}) {
    PAWL_TRY(bench.Measure({window, kWidth}));
  }
  for (const std::int64_t window : {0, 1025}) {
    for (const std::int64_t slice : {16, 32, 64}) {
      PAWL_TRY(bench.Measure({window, 3 * kWidth, slice}));
    }
  }
  std::fputs(BenchTable(record.json()).c_str(), stdout);
  return record.Write(path);
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  return lab::cuda::BenchMain(argc, argv, "cudnn_attention_bench", &lab::cuda::Bench);
}
