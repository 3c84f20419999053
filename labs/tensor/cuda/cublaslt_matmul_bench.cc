// cublaslt_matmul_bench RECORD.json [heuristics|neighbours]: tunes and times every matrix product
// of the GPT lab's micro-batch (262,144 tokens, width 512) forward, for the input's gradient and
// for the weight's gradient.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tensor/cuda/bench_record.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/device_timer.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kTokens = 262144;

struct Case {
  std::string name;
  MatmulSpec spec;
};

std::vector<Case> CasesOfLayer(const std::string& layer, std::int64_t out, std::int64_t in) {
  const auto [forward, input_gradient, weight_gradient] = SpecsOfLinear(kTokens, out, in);
  MatmulSpec accumulated = weight_gradient;
  accumulated.output = MatmulOutput::kFp32;
  accumulated.add_c = true;
  return {{layer + " forward", forward},
          {layer + " dgrad", input_gradient},
          {layer + " wgrad bf16", weight_gradient},
          {layer + " wgrad fp32, added", accumulated}};
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  const auto append = [&](std::vector<Case> more) {
    cases.insert(cases.end(), more.begin(), more.end());
  };
  append(CasesOfLayer("qkv", 1536, 512));
  append(CasesOfLayer("attention out", 512, 512));
  append(CasesOfLayer("mlp up", 2048, 512));
  append(CasesOfLayer("mlp down", 512, 2048));
  append(CasesOfLayer("head", 8192, 512));
  // The residual stream as C, and a relu on the way out.
  for (const std::int64_t inner : {512, 2048}) {
    MatmulSpec spec;
    spec.rows = kTokens, spec.cols = 512, spec.inner = inner;
    spec.b = Operand::kTransposed;
    spec.add_c = true;
    cases.push_back(
        {inner == 512 ? "attention out forward + residual" : "mlp down forward + residual", spec});
  }
  MatmulSpec relu;
  relu.rows = kTokens, relu.cols = 2048, relu.inner = 512;
  relu.b = Operand::kTransposed;
  relu.epilogue = MatmulEpilogue::kRelu;
  cases.push_back({"mlp up forward, relu", relu});
  return cases;
}

double BytesMoved(const MatmulSpec& spec) {
  const double output_size = spec.output == MatmulOutput::kFp32 ? 4 : 2;
  const auto product = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y);
  };
  return 2 * product(spec.rows, spec.inner) + 2 * product(spec.inner, spec.cols) +
         (spec.add_c ? 2 : 1) * output_size * product(spec.rows, spec.cols);
}

struct Operands {
  DeviceMemory a, b, c, d, scratch;
};

// Large enough for every case; the widest is the head's 262,144 x 8,192.
pawl::Result<Operands> MakeOperands() {
  constexpr std::int64_t kWide = kTokens * 8192;
  Operands o;
  PAWL_ASSIGN(o.a, DeviceMemory::Allocate(kWide * 2));
  PAWL_ASSIGN(o.b, DeviceMemory::Allocate(kTokens * 2048 * 2));
  PAWL_ASSIGN(o.c, DeviceMemory::Allocate(kTokens * 2048 * 2));
  PAWL_ASSIGN(o.d, DeviceMemory::Allocate(kWide * 2));
  PAWL_ASSIGN(o.scratch, DeviceMemory::Allocate(kMatmulWorkspaceBytes));
  PAWL_TRY(FillUniformBf16(o.a.data(), kWide, 1.0F, 1, nullptr));
  PAWL_TRY(FillUniformBf16(o.b.data(), kTokens * 2048, 1.0F, 2, nullptr));
  PAWL_TRY(FillUniformBf16(o.c.data(), kTokens * 2048, 1.0F, 3, nullptr));
  PAWL_TRY(FillUniformBf16(o.d.data(), kWide, 1.0F, 4, nullptr));
  return o;
}

pawl::Status Measure(const CublasLtHandle& handle, const DeviceTimer& timer, const Case& c,
                     const Operands& o, MatmulSearch search, BenchRecord& record) {
  PAWL_ASSIGN(CublasLtMatmul product, CublasLtMatmul::Create(handle, c.spec));
  // A gradient accumulates in place; a residual is read from beside the output.
  const void* const addend = c.spec.output == MatmulOutput::kFp32 ? o.d.data() : o.c.data();
  const MatmulArgs args{o.a.data(), o.b.data(), addend, o.d.data()};
  const MatmulWorkspace workspace{o.scratch.data(), o.scratch.size_bytes()};
  const std::string first = product.Describe();
  PAWL_ASSIGN(const MatmulTuning tuning, product.Tune(args, workspace, search, nullptr));
  PAWL_ASSIGN(const BenchTimes times,
              TimeWork(timer, [&] { return product.Run(args, workspace, nullptr); }));
  record.Add({c.name,
              times,
              c.spec.flops(),
              BytesMoved(c.spec),
              {{"key", c.spec.Key()},
               {"algorithm", product.Describe()},
               {"algorithm_bytes", product.SaveAlgorithm()},
               {"first_choice", first},
               {"first_choice_ms", tuning.first_ms},
               {"candidates", tuning.candidates},
               {"note", pawl::Format("{}; first choice {:.3f} ms, {} tried; {}", c.spec.Key(),
                                     tuning.first_ms, tuning.candidates, product.Describe())}}});
  return pawl::OkStatus();
}

pawl::Status Bench(const std::string& command, const std::string& path, MatmulSearch search) {
  PAWL_ASSIGN(BenchRecord record, BenchRecord::Create("cublaslt_matmul", command, nullptr));
  PAWL_ASSIGN(const CublasLtHandle handle, CublasLtHandle::Create());
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(nullptr));
  PAWL_ASSIGN(const Operands operands, MakeOperands());
  for (const Case& c : AllCases()) {
    PAWL_TRY(Measure(handle, timer, c, operands, search, record));
  }
  std::fputs(BenchTable(record.json()).c_str(), stdout);
  return record.Write(path);
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  using lab::cuda::MatmulSearch;
  const std::string_view search = argc == 3 ? argv[2] : "heuristics";
  if (argc < 2 || argc > 3 || (search != "heuristics" && search != "neighbours")) {
    std::fputs("usage: cublaslt_matmul_bench RECORD.json [heuristics|neighbours]\n", stderr);
    return 2;
  }
  const auto status = lab::cuda::Bench(
      pawl::Format("cublaslt_matmul_bench {} {}", argv[1], search), argv[1],
      search == "neighbours" ? MatmulSearch::kNeighbours : MatmulSearch::kHeuristics);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return 1;
}
