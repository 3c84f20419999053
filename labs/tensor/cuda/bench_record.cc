#include "tensor/cuda/bench_record.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"

namespace lab::cuda {
namespace {

// "580.159.04", which the CUDA runtime does not tell; the CUDA version it supports otherwise.
std::string DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (std::count(word.begin(), word.end(), '.') == 2) return word;
  }
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) return "unknown";
  return pawl::Format("for CUDA {}.{}", version / 1000, version % 1000 / 10);
}

pawl::Result<pawl::JsonObject> DescribeDevice() {
  int device = 0;
  cudaDeviceProp properties{};
  PAWL_TRY(FromCuda(cudaGetDevice(&device), "choosing a device"));
  PAWL_TRY(FromCuda(cudaGetDeviceProperties(&properties, device), "describing the device"));
  int runtime = 0;
  PAWL_TRY(FromCuda(cudaRuntimeGetVersion(&runtime), "asking for the CUDA version"));
  return pawl::JsonObject{
      {"gpu", properties.name},
      {"compute_capability", pawl::Format("{}.{}", properties.major, properties.minor)},
      {"multiprocessors", properties.multiProcessorCount},
      {"memory_bytes", pawl::Json::Count(properties.totalGlobalMem)},
      {"l2_bytes", properties.l2CacheSize},
      {"driver", DriverVersion()},
      {"cuda_runtime", pawl::Format("{}.{}", runtime / 1000, runtime % 1000 / 10)}};
}

struct FlopsPerSecond {
  double settled = 0;
  double sustained = 0;
};

pawl::Result<FlopsPerSecond> MeasureBf16(CUstream_st* stream) {
  constexpr std::int64_t kSide = 8192;
  MatmulSpec spec;
  spec.rows = spec.cols = spec.inner = kSide;
  spec.b = Operand::kTransposed;
  PAWL_ASSIGN(const CublasLtHandle handle, CublasLtHandle::Create());
  PAWL_ASSIGN(CublasLtMatmul product, CublasLtMatmul::Create(handle, spec));
  PAWL_ASSIGN(const DeviceMemory a, DeviceMemory::Allocate(kSide * kSide * 2));
  PAWL_ASSIGN(const DeviceMemory b, DeviceMemory::Allocate(kSide * kSide * 2));
  PAWL_ASSIGN(const DeviceMemory d, DeviceMemory::Allocate(kSide * kSide * 2));
  PAWL_ASSIGN(const DeviceMemory scratch, DeviceMemory::Allocate(kMatmulWorkspaceBytes));
  PAWL_TRY(FillUniformBf16(a.data(), kSide * kSide, 1.0F, 1, stream));
  PAWL_TRY(FillUniformBf16(b.data(), kSide * kSide, 1.0F, 2, stream));
  const MatmulArgs args{a.data(), b.data(), nullptr, d.data()};
  const MatmulWorkspace workspace{scratch.data(), scratch.size_bytes()};
  PAWL_TRY(product.Tune(args, workspace, MatmulSearch::kHeuristics, stream));
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(stream));
  PAWL_ASSIGN(const BenchTimes times,
              TimeWork(timer, [&] { return product.Run(args, workspace, stream); }));
  return FlopsPerSecond{spec.flops() / (Median(times.settled_ms) * 1e-3),
                        spec.flops() / (Median(times.sustained_ms) * 1e-3)};
}

pawl::Result<double> MeasureCopyBytesPerSecond(CUstream_st* stream) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  PAWL_ASSIGN(const DeviceMemory from, DeviceMemory::Allocate(kBytes));
  PAWL_ASSIGN(const DeviceMemory to, DeviceMemory::Allocate(kBytes));
  PAWL_TRY(FillUniformBf16(from.data(), kBytes / 2, 1.0F, 3, stream));
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(stream));
  const auto copy = [&] {
    return FromCuda(
        cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream),
        "copying within the device");
  };
  PAWL_ASSIGN(const auto samples, timer.Settled(copy));
  return 2.0 * static_cast<double>(kBytes) / (Median(samples) * 1e-3);
}

}  // namespace

pawl::Result<BenchTimes> TimeWork(const DeviceTimer& timer, const DeviceWork& work) {
  BenchTimes times;
  PAWL_ASSIGN(times.settled_ms, timer.Settled(work));
  PAWL_ASSIGN(times.sustained_ms, timer.Sustained(work));
  return times;
}

pawl::Result<BenchRecord> BenchRecord::Create(std::string bench, std::string command,
                                              CUstream_st* stream) {
  BenchRecord record;
  PAWL_ASSIGN(pawl::JsonObject machine, DescribeDevice());
  PAWL_ASSIGN(const FlopsPerSecond bf16, MeasureBf16(stream));
  record.bf16_flops_per_s_ = bf16.settled;
  PAWL_ASSIGN(record.copy_bytes_per_s_, MeasureCopyBytesPerSecond(stream));
  record.json_ = pawl::JsonObject{
      {"bench", std::move(bench)},
      {"command", std::move(command)},
      {"date", pawl::IsoUtc(pawl::UnixMicros())},
      {"machine", std::move(machine)},
      {"libraries", pawl::JsonObject{{"cublaslt", CublasLtHandle::Version()}}},
      {"ceilings", pawl::JsonObject{{"bf16_tflops", bf16.settled * 1e-12},
                                    {"bf16_tflops_sustained", bf16.sustained * 1e-12},
                                    {"copy_tb_per_s", record.copy_bytes_per_s_ * 1e-12}}},
      {"rows", pawl::JsonArray{}}};
  return record;
}

void BenchRecord::SetLibrary(std::string name, std::string version) {
  (*json_.AsObject()->Find("libraries")->AsObject())[name] = std::move(version);
}

double BenchRecord::FloorMs(double flops, double bytes) const {
  return 1e3 * std::max(flops / bf16_flops_per_s_, bytes / copy_bytes_per_s_);
}

void BenchRecord::Add(const BenchRow& row) {
  const double median_ms = Median(row.times.settled_ms);
  const double floor_ms = FloorMs(row.flops, row.bytes);
  pawl::JsonObject entry{{"name", row.name},
                         {"median_ms", median_ms},
                         {"min_ms", row.times.settled_ms.front()},
                         {"max_ms", row.times.settled_ms.back()},
                         {"sustained_ms", Median(row.times.sustained_ms)},
                         {"samples", pawl::Json::Count(row.times.settled_ms.size())},
                         {"tflops", row.flops / (median_ms * 1e9)},
                         {"tb_per_s", row.bytes / (median_ms * 1e9)},
                         {"floor_ms", floor_ms},
                         {"floor_over_median", floor_ms / median_ms}};
  for (const auto& [key, value] : row.details) entry[key] = value;
  json_.AsObject()->Find("rows")->AsArray()->emplace_back(std::move(entry));
}

pawl::Status BenchRecord::Write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json_.Pretty(false);
  file.close();
  if (!file) return pawl::MakeError(pawl::Code::kIo, "cannot write the record " + path);
  return pawl::OkStatus();
}

std::string BenchTable(const pawl::Json& record) {
  const pawl::Json* rows = record.Find("rows");
  std::string table =
      "| row | ms | sustained ms | TFLOP/s | TB/s | floor ms | of floor | note |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  if (rows == nullptr || rows->AsArray() == nullptr) return table;
  for (const pawl::Json& row : *rows->AsArray()) {
    pawl::AppendFormat(
        table, "| {} | {:.3f} | {:.3f} | {:.0f} | {:.2f} | {:.3f} | {:.0f} % | {} |\n",
        row.StringAt("name"), row.DoubleAt("median_ms"), row.DoubleAt("sustained_ms"),
        row.DoubleAt("tflops"), row.DoubleAt("tb_per_s"), row.DoubleAt("floor_ms"),
        100 * row.DoubleAt("floor_over_median"), row.StringAt("note"));
  }
  return table;
}

}  // namespace lab::cuda
