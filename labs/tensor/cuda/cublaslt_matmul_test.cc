// Against fp64 sums on the CPU, on fresh random data, with the output poisoned beforehand.
#include "tensor/cuda/cublaslt_matmul.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {
namespace {

// Operands on the device and a copy on the host.
struct Problem {
  MatmulSpec spec;
  DeviceMemory a, b, d, scratch;
  std::vector<float> host_a, host_b, host_c;

  MatmulArgs args() const { return {a.data(), b.data(), d.data(), d.data()}; }
  MatmulWorkspace workspace() const { return {scratch.data(), scratch.size_bytes()}; }
  std::vector<float> Output() const {
    const std::int64_t count = spec.rows * spec.cols;
    return spec.output == MatmulOutput::kBf16 ? HostBf16(d.data(), count)
                                              : HostFp32(d.data(), count);
  }
  // C lies in D: both when it must be accumulated and, then overwritten, when not.
  pawl::Status ResetOutput() {
    if (!spec.add_c) return d.Poison();
    const std::size_t size = spec.output == MatmulOutput::kBf16 ? 2 : 4;
    std::vector<std::byte> bytes(host_c.size() * size);
    for (std::size_t i = 0; i < host_c.size(); ++i) {
      const auto word = std::bit_cast<std::uint32_t>(host_c[i]);
      if (size == 4) std::memcpy(&bytes[4 * i], &word, 4);
      if (size == 2) {
        const auto half = static_cast<std::uint16_t>(word >> 16);
        std::memcpy(&bytes[2 * i], &half, 2);
      }
    }
    EXPECT_EQ(cudaMemcpy(d.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
              cudaSuccess);
    return pawl::OkStatus();
  }
};

pawl::Result<Problem> MakeProblem(const MatmulSpec& spec) {
  Problem p;
  p.spec = spec;
  std::random_device random;
  const std::int64_t count_a = spec.rows * spec.inner;
  const std::int64_t count_b = spec.inner * spec.cols;
  const std::int64_t count_d = spec.rows * spec.cols;
  PAWL_ASSIGN(p.a, DeviceMemory::Allocate(static_cast<std::size_t>(count_a) * 2));
  PAWL_ASSIGN(p.b, DeviceMemory::Allocate(static_cast<std::size_t>(count_b) * 2));
  PAWL_ASSIGN(p.d, DeviceMemory::Allocate(static_cast<std::size_t>(count_d) * 4));
  PAWL_ASSIGN(p.scratch, DeviceMemory::Allocate(kMatmulWorkspaceBytes));
  PAWL_TRY(FillUniformBf16(p.a.data(), count_a, 1.0F, random(), nullptr));
  PAWL_TRY(FillUniformBf16(p.b.data(), count_b, 1.0F, random(), nullptr));
  PAWL_TRY(FillUniformBf16(p.d.data(), count_d, 8.0F, random(), nullptr));
  p.host_a = HostBf16(p.a.data(), count_a);
  p.host_b = HostBf16(p.b.data(), count_b);
  p.host_c = HostBf16(p.d.data(), count_d);
  return p;
}

double Expected(const Problem& p, std::int64_t row, std::int64_t col) {
  const MatmulSpec& s = p.spec;
  double sum = 0;
  for (std::int64_t k = 0; k < s.inner; ++k) {
    const auto a = s.a == Operand::kPlain ? row * s.inner + k : k * s.rows + row;
    const auto b = s.b == Operand::kPlain ? k * s.cols + col : col * s.inner + k;
    sum += static_cast<double>(p.host_a[static_cast<std::size_t>(a)]) *
           static_cast<double>(p.host_b[static_cast<std::size_t>(b)]);
  }
  if (s.add_c) sum += static_cast<double>(p.host_c[static_cast<std::size_t>(row * s.cols + col)]);
  return s.epilogue == MatmulEpilogue::kRelu ? std::max(sum, 0.0) : sum;
}

double ErrorOf(const Problem& p) {
  return RelativeError(p.Output(), [&](std::size_t i) {
    const auto index = static_cast<std::int64_t>(i);
    return Expected(p, index / p.spec.cols, index % p.spec.cols);
  });
}

double Tolerance(const MatmulSpec& spec) {
  return spec.output == MatmulOutput::kFp32 ? 1e-5 : 4e-3;
}

MatmulSpec Small(Operand a, Operand b, MatmulOutput output, bool add_c) {
  MatmulSpec spec;
  spec.rows = 264;
  spec.cols = 136;
  spec.inner = 328;
  spec.a = a;
  spec.b = b;
  spec.output = output;
  spec.add_c = add_c;
  return spec;
}

TEST(CublasLtMatmul, EqualsReferenceForEveryOperandOrderAndOutput) {
  SKIP_WITHOUT_GPU();
  const auto handle = CublasLtHandle::Create();
  ASSERT_OK(handle);
  for (const Operand a : {Operand::kPlain, Operand::kTransposed}) {
    for (const Operand b : {Operand::kPlain, Operand::kTransposed}) {
      for (const MatmulOutput output : {MatmulOutput::kBf16, MatmulOutput::kFp32}) {
        for (const bool add_c : {false, true}) {
          auto problem = MakeProblem(Small(a, b, output, add_c));
          ASSERT_OK(problem);
          const auto product = CublasLtMatmul::Create(*handle, problem->spec);
          ASSERT_OK(product);
          ASSERT_OK(problem->ResetOutput());
          ASSERT_OK(product->Run(problem->args(), problem->workspace(), nullptr));
          EXPECT_LT(ErrorOf(*problem), Tolerance(problem->spec)) << problem->spec.Key();
        }
      }
    }
  }
}

TEST(CublasLtMatmul, ReluKeepsThePositivePart) {
  SKIP_WITHOUT_GPU();
  const auto handle = CublasLtHandle::Create();
  ASSERT_OK(handle);
  MatmulSpec spec = Small(Operand::kPlain, Operand::kTransposed, MatmulOutput::kBf16, false);
  spec.epilogue = MatmulEpilogue::kRelu;
  auto problem = MakeProblem(spec);
  ASSERT_OK(problem);
  const auto product = CublasLtMatmul::Create(*handle, spec);
  ASSERT_OK(product);
  ASSERT_OK(problem->ResetOutput());
  ASSERT_OK(product->Run(problem->args(), problem->workspace(), nullptr));
  EXPECT_LT(ErrorOf(*problem), Tolerance(spec));
}

TEST(CublasLtMatmul, TunedAlgorithmIsRightAndSurvivesSaving) {
  SKIP_WITHOUT_GPU();
  const auto handle = CublasLtHandle::Create();
  ASSERT_OK(handle);
  auto problem =
      MakeProblem(Small(Operand::kTransposed, Operand::kPlain, MatmulOutput::kFp32, true));
  ASSERT_OK(problem);
  auto product = CublasLtMatmul::Create(*handle, problem->spec);
  ASSERT_OK(product);
  const auto tuning =
      product->Tune(problem->args(), problem->workspace(), MatmulSearch::kNeighbours, nullptr);
  ASSERT_OK(tuning);
  EXPECT_GT(tuning->candidates, 1);
  EXPECT_LE(tuning->best_ms, tuning->first_ms);

  auto restored = CublasLtMatmul::Create(*handle, problem->spec);
  ASSERT_OK(restored);
  ASSERT_OK(restored->RestoreAlgorithm(product->SaveAlgorithm()));
  EXPECT_EQ(restored->Describe(), product->Describe());
  ASSERT_OK(problem->ResetOutput());
  ASSERT_OK(restored->Run(problem->args(), problem->workspace(), nullptr));
  EXPECT_LT(ErrorOf(*problem), Tolerance(problem->spec));
}

TEST(CublasLtMatmul, RefusesAStoredAlgorithmThatIsDamaged) {
  SKIP_WITHOUT_GPU();
  const auto handle = CublasLtHandle::Create();
  ASSERT_OK(handle);
  auto product = CublasLtMatmul::Create(
      *handle, Small(Operand::kPlain, Operand::kPlain, MatmulOutput::kBf16, false));
  ASSERT_OK(product);
  const std::string good = product->SaveAlgorithm();
  for (const std::string& bad :
       {std::string(), good.substr(1), "x" + good.substr(1), std::string(good.size(), 'f')}) {
    const pawl::Status status = product->RestoreAlgorithm(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().code, pawl::Code::kInvalidArgument);
  }
  EXPECT_EQ(product->SaveAlgorithm(), good);
}

TEST(CublasLtMatmul, RunsFromACudaGraph) {
  SKIP_WITHOUT_GPU();
  const auto handle = CublasLtHandle::Create();
  ASSERT_OK(handle);
  auto problem =
      MakeProblem(Small(Operand::kPlain, Operand::kTransposed, MatmulOutput::kBf16, false));
  ASSERT_OK(problem);
  const auto product = CublasLtMatmul::Create(*handle, problem->spec);
  ASSERT_OK(product);
  WithCapturedGraph(
      [&](cudaStream_t stream) {
        ASSERT_OK(product->Run(problem->args(), problem->workspace(), stream));
      },
      [&](const std::function<void()>& launch) {
        ASSERT_OK(problem->ResetOutput());
        launch();
        EXPECT_LT(ErrorOf(*problem), Tolerance(problem->spec));
      });
}

TEST(MatmulSpec, KeysDifferWhereverTheProductDiffers) {
  MatmulSpec spec;
  spec.rows = 8, spec.cols = 16, spec.inner = 32;
  EXPECT_EQ(spec.Key(), "8x16x32 nn bf16");
  spec.a = Operand::kTransposed;
  spec.output = MatmulOutput::kFp32;
  spec.add_c = true;
  EXPECT_EQ(spec.Key(), "8x16x32 tn fp32 +c");
  EXPECT_DOUBLE_EQ(spec.flops(), 8192);
}

}  // namespace
}  // namespace lab::cuda
