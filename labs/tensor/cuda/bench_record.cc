#include "tensor/cuda/bench_record.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "os/files.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_description.h"
#include "tensor/cuda/device_memory.h"

namespace lab::cuda {
namespace {

pawl::JsonObject ToJson(const DeviceDescription& device) {
  return {{"gpu", device.name},
          {"compute_capability", device.compute_capability},
          {"multiprocessors", device.multiprocessors},
          {"memory_bytes", pawl::Json::Count(device.memory_bytes)},
          {"l2_bytes", pawl::Json::Count(device.l2_bytes)},
          {"driver", device.driver},
          {"cuda_runtime", device.cuda_runtime}};
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

const pawl::JsonArray& Rows(const pawl::Json& record) {
  static const pawl::JsonArray kNone;
  const pawl::Json* rows = record.Find("rows");
  return rows != nullptr && rows->AsArray() != nullptr ? *rows->AsArray() : kNone;
}

const pawl::Json* FindRow(const pawl::Json& record, std::string_view name) {
  for (const pawl::Json& row : Rows(record)) {
    if (row.StringAt("name") == name) return &row;
  }
  return nullptr;
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
  PAWL_ASSIGN(const DeviceDescription device, DescribeDevice());
  PAWL_ASSIGN(const FlopsPerSecond bf16, MeasureBf16(stream));
  record.bf16_flops_per_s_ = bf16.settled;
  PAWL_ASSIGN(record.copy_bytes_per_s_, MeasureCopyBytesPerSecond(stream));
  record.json_ = pawl::JsonObject{
      {"bench", std::move(bench)},
      {"command", std::move(command)},
      {"date", pawl::IsoUtc(pawl::UnixMicros())},
      {"machine", ToJson(device)},
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
  return pawl::os::WriteFileAtomic(path, json_.Pretty(false));
}

std::string BenchTable(const pawl::Json& record, const std::vector<std::string>& names) {
  std::string table =
      "| row | ms | sustained ms | TFLOP/s | TB/s | floor ms | of floor | note |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  const auto append = [&](const pawl::Json& row) {
    pawl::AppendFormat(
        table, "| {} | {:.3f} | {:.3f} | {:.0f} | {:.2f} | {:.3f} | {:.0f} % | {} |\n",
        row.StringAt("name"), row.DoubleAt("median_ms"), row.DoubleAt("sustained_ms"),
        row.DoubleAt("tflops"), row.DoubleAt("tb_per_s"), row.DoubleAt("floor_ms"),
        100 * row.DoubleAt("floor_over_median"), row.StringAt("note"));
  };
  for (const std::string& name : names) {
    if (const pawl::Json* row = FindRow(record, name)) append(*row);
  }
  if (!names.empty()) return table;
  for (const pawl::Json& row : Rows(record)) append(row);
  return table;
}

std::string ComparisonTable(const pawl::Json& ours, const pawl::Json& theirs,
                            const std::string& their_name) {
  std::string table = pawl::Format(
      "| row | ms | {0} ms | sustained ms | {0} sustained ms | sustained ratio |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: |\n",
      their_name);
  struct Times {
    double settled_ms = 0;
    double sustained_ms = 0;
  };
  const auto append = [&](std::string_view name, const Times& a, const Times& b) {
    pawl::AppendFormat(table, "| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.2f} |\n", name,
                       a.settled_ms, b.settled_ms, a.sustained_ms, b.sustained_ms,
                       a.sustained_ms / b.sustained_ms);
  };
  Times sum_ours;
  Times sum_theirs;
  for (const pawl::Json& row : Rows(ours)) {
    const pawl::Json* other = FindRow(theirs, row.StringAt("name"));
    if (other == nullptr) continue;
    const Times a{row.DoubleAt("median_ms"), row.DoubleAt("sustained_ms")};
    const Times b{other->DoubleAt("median_ms"), other->DoubleAt("sustained_ms")};
    append(row.StringAt("name"), a, b);
    sum_ours = {sum_ours.settled_ms + a.settled_ms, sum_ours.sustained_ms + a.sustained_ms};
    sum_theirs = {sum_theirs.settled_ms + b.settled_ms, sum_theirs.sustained_ms + b.sustained_ms};
  }
  append("sum", sum_ours, sum_theirs);
  return table;
}

int BenchMain(int argc, char** argv, std::string_view name,
              pawl::Status (*bench)(const std::string& command, const std::string& path)) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %.*s RECORD.json\n", static_cast<int>(name.size()), name.data());
    return 2;
  }
  const pawl::Status status = bench(pawl::Format("{} {}", name, argv[1]), argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return 1;
}

}  // namespace lab::cuda
