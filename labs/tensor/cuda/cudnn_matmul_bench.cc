// cudnn_matmul_bench RECORD.json: what fusing elementwise work into the GPT lab's products through
// cuDNN's run-time compiler saves against tuned cuBLASLt products and kernels of their own.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>

#include "base/text.h"
#include "base/time.h"
#include "tensor/cuda/bench_record.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/cudnn_handle.h"
#include "tensor/cuda/cudnn_matmul.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/device_timer.h"
#include "tensor/cuda/relu_squared.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kTokens = 262144;
constexpr std::int64_t kWidest = 2048;

struct Case {
  std::string name;
  FusedMatmulSpec spec;
};

const Case kCases[] = {
    {"mlp up forward", {kTokens, 2048, 512, Operand::kTransposed, FusedEpilogue::kNone}},
    {"mlp up forward", {kTokens, 2048, 512, Operand::kTransposed, FusedEpilogue::kReluSquared}},
    {"mlp up forward",
     {kTokens, 2048, 512, Operand::kTransposed, FusedEpilogue::kRowScaleReluSquared}},
    {"mlp down dgrad", {kTokens, 2048, 512, Operand::kPlain, FusedEpilogue::kReluSquaredGradient}},
    {"qkv forward", {kTokens, 1536, 512, Operand::kTransposed, FusedEpilogue::kRowScale}},
    {"attention out forward", {kTokens, 512, 512, Operand::kTransposed, FusedEpilogue::kAdd}},
    {"mlp down forward", {kTokens, 512, 2048, Operand::kTransposed, FusedEpilogue::kAdd}},
};

struct Operands {
  DeviceMemory a, b, extra, d, scratch;
};

pawl::Result<Operands> MakeOperands() {
  Operands o;
  PAWL_ASSIGN(o.a, DeviceMemory::Allocate(kTokens * kWidest * 2));
  PAWL_ASSIGN(o.b, DeviceMemory::Allocate(kWidest * kWidest * 2));
  PAWL_ASSIGN(o.extra, DeviceMemory::Allocate(kTokens * kWidest * 2));
  PAWL_ASSIGN(o.d, DeviceMemory::Allocate(kTokens * kWidest * 2));
  PAWL_ASSIGN(o.scratch, DeviceMemory::Allocate(kMatmulWorkspaceBytes));
  PAWL_TRY(FillUniformBf16(o.a.data(), kTokens * kWidest, 1.0F, 1, nullptr));
  PAWL_TRY(FillUniformBf16(o.b.data(), kWidest * kWidest, 1.0F, 2, nullptr));
  PAWL_TRY(FillUniformBf16(o.extra.data(), kTokens * kWidest, 1.0F, 3, nullptr));
  PAWL_TRY(ReluSquared(o.extra.data(), o.extra.data(), kTokens * kWidest, nullptr));
  return o;
}

double BytesMoved(const FusedMatmulSpec& spec) {
  const double rows = static_cast<double>(spec.rows);
  const bool reads_matrix =
      spec.epilogue == FusedEpilogue::kReluSquaredGradient || spec.epilogue == FusedEpilogue::kAdd;
  return 2.0 *
         (rows * static_cast<double>(spec.inner) + static_cast<double>(spec.inner * spec.cols) +
          (reads_matrix ? 2 : 1) * rows * static_cast<double>(spec.cols));
}

class FusedBench {
 public:
  FusedBench(const CudnnHandle& cudnn, const CublasLtHandle& cublaslt, const DeviceTimer& timer,
             const Operands& operands, BenchRecord& record)
      : cudnn_(cudnn), cublaslt_(cublaslt), timer_(timer), o_(operands), record_(record) {}

  pawl::Status Fused(const Case& c) {
    const FusedMatmulArgs args{o_.a.data(), o_.b.data(), o_.extra.data(), o_.d.data()};
    const MatmulWorkspace workspace{o_.scratch.data(), o_.scratch.size_bytes()};
    const auto start = pawl::Monotonic::now();
    PAWL_ASSIGN(const CudnnMatmul product,
                CudnnMatmul::CreateTuned(cudnn_, c.spec, args, workspace, nullptr));
    const double tuning_s = pawl::SecondsSince(start);
    const auto run = [&] { return product.Run(args, workspace.data, nullptr); };
    return Report(c, "fused",
                  pawl::Format("cuDNN {}, tuned in {:.1f} s", product.Describe(), tuning_s), run);
  }

  // The same result from a tuned product and, where cuBLASLt has no such epilogue, a second kernel.
  // A row scale has no counterpart here: unfused, it is part of the norm's kernel.
  pawl::Status Unfused(const Case& c) {
    MatmulSpec spec;
    spec.rows = c.spec.rows, spec.cols = c.spec.cols, spec.inner = c.spec.inner;
    spec.b = c.spec.b;
    spec.add_c = c.spec.epilogue == FusedEpilogue::kAdd;
    PAWL_ASSIGN(CublasLtMatmul product, CublasLtMatmul::Create(cublaslt_, spec));
    const MatmulArgs args{o_.a.data(), o_.b.data(), o_.extra.data(), o_.d.data()};
    const MatmulWorkspace workspace{o_.scratch.data(), o_.scratch.size_bytes()};
    PAWL_TRY(product.Tune(args, workspace, MatmulSearch::kNeighbours, nullptr));
    const auto run = [&]() -> pawl::Status {
      PAWL_TRY(product.Run(args, workspace, nullptr));
      const std::int64_t count = spec.rows * spec.cols;
      switch (c.spec.epilogue) {
        case FusedEpilogue::kReluSquared:
        case FusedEpilogue::kRowScaleReluSquared:
          return ReluSquared(o_.d.data(), o_.d.data(), count, nullptr);
        case FusedEpilogue::kReluSquaredGradient:
          return ReluSquaredGradient(o_.d.data(), o_.extra.data(), o_.d.data(), count, nullptr);
        default:
          return pawl::OkStatus();
      }
    };
    return Report(c, "apart", "cuBLASLt " + product.Describe(), run);
  }

 private:
  pawl::Status Report(const Case& c, const std::string& how, const std::string& detail,
                      const DeviceWork& run) {
    PAWL_ASSIGN(const BenchTimes times, TimeWork(timer_, run));
    const double flops = 2.0 * static_cast<double>(c.spec.rows) * static_cast<double>(c.spec.cols) *
                         static_cast<double>(c.spec.inner);
    record_.Add({pawl::Format("{}, {}: {}", c.name, FusedEpilogueName(c.spec.epilogue), how),
                 times,
                 flops,
                 BytesMoved(c.spec),
                 {{"note", detail}}});
    return pawl::OkStatus();
  }

  const CudnnHandle& cudnn_;
  const CublasLtHandle& cublaslt_;
  const DeviceTimer& timer_;
  const Operands& o_;
  BenchRecord& record_;
};

pawl::Status Bench(const std::string& command, const std::string& path) {
  PAWL_ASSIGN(BenchRecord record, BenchRecord::Create("cudnn_matmul", command, nullptr));
  record.SetLibrary("cudnn", CudnnHandle::Version());
  PAWL_ASSIGN(const CudnnHandle cudnn, CudnnHandle::Create());
  PAWL_ASSIGN(const CublasLtHandle cublaslt, CublasLtHandle::Create());
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(nullptr));
  PAWL_ASSIGN(const Operands operands, MakeOperands());
  FusedBench bench(cudnn, cublaslt, timer, operands, record);
  for (const Case& c : kCases) {
    PAWL_TRY(bench.Fused(c));
    PAWL_TRY(bench.Unfused(c));
  }
  std::fputs(BenchTable(record.json()).c_str(), stdout);
  return record.Write(path);
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  return lab::cuda::BenchMain(argc, argv, "cudnn_matmul_bench", &lab::cuda::Bench);
}
