#include "tensor/cuda/gpt_bench_parts.h"

#include <cuda_runtime_api.h>

#include <string>

#include "base/text.h"
#include "tensor/cuda/adamw.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/muon.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kVocab = 8192;

// fp32 values whose upper halves are random bf16 values and whose lower halves vary, too.
pawl::Result<DeviceMemory> RandomFp32(std::int64_t count, float amplitude) {
  PAWL_ASSIGN(DeviceMemory memory, DeviceMemory::Allocate(static_cast<std::size_t>(count) * 4));
  PAWL_TRY(FillUniformBf16(memory.data(), 2 * count, amplitude, 11, nullptr));
  return memory;
}

template <class T>
pawl::Result<DeviceMemory> UploadOne(const T& value) {
  PAWL_ASSIGN(DeviceMemory memory, DeviceMemory::Allocate(sizeof(T)));
  PAWL_TRY(
      FromCuda(cudaMemcpy(memory.data(), &value, sizeof(T), cudaMemcpyHostToDevice), "uploading"));
  return memory;
}

pawl::Status BenchAdamW(const DeviceTimer& timer, BenchRecord& record, const std::string& name,
                        AdamWState state, std::int64_t count, bool copy) {
  const std::size_t state_bytes = static_cast<std::size_t>(count) * 4;
  PAWL_ASSIGN(const DeviceMemory parameter, DeviceMemory::AllocateZeros(state_bytes));
  PAWL_ASSIGN(const DeviceMemory first, DeviceMemory::AllocateZeros(state_bytes));
  PAWL_ASSIGN(const DeviceMemory second, DeviceMemory::AllocateZeros(state_bytes));
  PAWL_ASSIGN(const DeviceMemory gradient, RandomFp32(count, 0.01F));
  PAWL_ASSIGN(const DeviceMemory bf16_copy, DeviceMemory::AllocateZeros(state_bytes));
  PAWL_ASSIGN(const DeviceMemory step, UploadOne(MakeAdamWStep(1e-4, 0.8, 0.95, 1e-10, 0.01, 9)));
  AdamWArgs args{state,
                 count,
                 parameter.data(),
                 first.data(),
                 second.data(),
                 gradient.as<float>(),
                 copy ? bf16_copy.data() : nullptr,
                 step.as<AdamWStep>()};
  PAWL_ASSIGN(const BenchTimes times, TimeWork(timer, [&] { return AdamW(args, nullptr); }));
  const double per_parameter = state == AdamWState::kBf16 ? 16 : copy ? 30 : 28;
  const double bytes = per_parameter * static_cast<double>(count);
  record.Add({name, times, 0, bytes, {{"note", pawl::Format("{} parameters", count)}}});
  return pawl::OkStatus();
}

pawl::Status BenchMuon(const DeviceTimer& timer, BenchRecord& record, const CublasLtHandle& handle,
                       const MuonShape& shape) {
  const std::int64_t count = shape.count * shape.elements();
  const std::size_t state_bytes = static_cast<std::size_t>(count) * 4;
  PAWL_ASSIGN(Muon muon, Muon::Create(handle, shape));
  PAWL_ASSIGN(const DeviceMemory scratch, DeviceMemory::Allocate(muon.scratch_bytes()));
  PAWL_ASSIGN(const DeviceMemory gradient, RandomFp32(count, 0.01F));
  PAWL_ASSIGN(const DeviceMemory moment, DeviceMemory::AllocateZeros(state_bytes));
  PAWL_ASSIGN(
      const DeviceMemory second_moment,
      DeviceMemory::AllocateZeros(static_cast<std::size_t>(shape.count * shape.lines()) * 4));
  PAWL_ASSIGN(const DeviceMemory parameter, DeviceMemory::AllocateZeros(state_bytes));
  PAWL_ASSIGN(const DeviceMemory copy, DeviceMemory::AllocateZeros(state_bytes / 2));
  PAWL_ASSIGN(const DeviceMemory step, UploadOne(MuonStep{1e-4F, 0.95F, 0.95F, 0.1F}));
  PAWL_TRY(muon.Tune(scratch.data(), nullptr));
  const MuonArgs args{gradient.as<float>(),  moment.as<float>(), second_moment.as<float>(),
                      parameter.as<float>(), copy.data(),        step.as<MuonStep>()};
  const std::string name = pawl::Format("muon, {} of {}x{}", shape.count, shape.rows, shape.cols);
  PAWL_ASSIGN(const BenchTimes times,
              TimeWork(timer, [&] { return muon.Step(args, scratch.data(), nullptr); }));
  // Elementwise floor of muon_kernels.h; what the products move is smaller than their arithmetic.
  record.Add({name,
              times,
              muon.flops(),
              32.0 * static_cast<double>(count),
              {{"note", "15 products and 5 kernels"}}});
  PAWL_ASSIGN(const DeviceMemory x, DeviceMemory::Allocate(static_cast<std::size_t>(count) * 2));
  PAWL_ASSIGN(const DeviceMemory squares, DeviceMemory::Allocate(MuonSquaresBytes(shape)));
  PAWL_ASSIGN(const DeviceMemory lines, DeviceMemory::Allocate(MuonLineScratchBytes(shape)));
  PAWL_ASSIGN(const DeviceMemory factors, DeviceMemory::Allocate(second_moment.size_bytes()));
  const auto elementwise = [&]() -> pawl::Status {
    PAWL_TRY(MuonMomentum(args.gradient, args.moment, x.data(), squares.as<float>(), args.step,
                          shape, nullptr));
    PAWL_TRY(MuonNormalise(x.data(), squares.as<float>(), shape, nullptr));
    PAWL_TRY(MuonLineFactors(x.data(), args.second_moment, factors.as<float>(), lines.data(),
                             args.step, shape, nullptr));
    return MuonUpdate(x.data(), factors.as<float>(), args.parameter, args.bf16_copy, args.step,
                      shape, nullptr);
  };
  PAWL_ASSIGN(const BenchTimes apart, TimeWork(timer, elementwise));
  record.Add({name + ", elementwise",
              apart,
              0,
              32.0 * static_cast<double>(count),
              {{"note", "of it, the 5 kernels"}}});
  return pawl::OkStatus();
}

}  // namespace

pawl::Status BenchOptimizers(const DeviceTimer& timer, BenchRecord& record) {
  constexpr std::int64_t kTable = kVocab * kWidth;
  PAWL_TRY(
      BenchAdamW(timer, record, "adamw, embeddings, fp32", AdamWState::kFp32, 5 * kTable, true));
  PAWL_TRY(
      BenchAdamW(timer, record, "adamw, embeddings, bf16", AdamWState::kBf16, 5 * kTable, false));
  PAWL_TRY(BenchAdamW(timer, record, "adamw, head, fp32", AdamWState::kFp32, kTable, true));
  PAWL_TRY(BenchAdamW(timer, record, "adamw, scalars", AdamWState::kFp32, 8, false));
  PAWL_ASSIGN(const CublasLtHandle handle, CublasLtHandle::Create());
  for (const MuonShape& shape : {MuonShape{32, 512, 512}, MuonShape{8, 2048, 512},
                                 MuonShape{8, 512, 2048}, MuonShape{4, 4, 32}}) {
    PAWL_TRY(BenchMuon(timer, record, handle, shape));
  }
  return pawl::OkStatus();
}

}  // namespace lab::cuda
