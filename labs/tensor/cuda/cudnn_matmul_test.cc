// Fused products and the kernels that do the same unfused, against fp64 sums on the CPU.
#include "tensor/cuda/cudnn_matmul.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tensor/cuda/cudnn_handle.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/gpu_test.h"
#include "tensor/cuda/relu_squared.h"

namespace lab::cuda {

// GoogleTest and ctest name tests after it.
static void PrintTo(FusedEpilogue epilogue, std::ostream* out) {
  for (const char c : FusedEpilogueName(epilogue)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) *out << c;
  }
}

namespace {

constexpr std::int64_t kRows = 384;
constexpr std::int64_t kCols = 256;
constexpr std::int64_t kInner = 320;
constexpr double kTolerance = 4e-3;

double Square(double x) {
  return x * x;
}

struct Problem {
  FusedMatmulSpec spec;
  DeviceMemory a, b, extra, d, scratch;
  std::vector<float> host_a, host_b, host_extra;

  FusedMatmulArgs args() const { return {a.data(), b.data(), extra.data(), d.data()}; }

  double Wanted(std::size_t i) const {
    const std::size_t row = i / kCols;
    const std::size_t col = i % kCols;
    double y = 0;
    for (std::size_t k = 0; k < kInner; ++k) {
      const std::size_t at = spec.b == Operand::kPlain ? k * kCols + col : col * kInner + k;
      y += static_cast<double>(host_a[row * kInner + k]) * static_cast<double>(host_b[at]);
    }
    switch (spec.epilogue) {
      case FusedEpilogue::kNone:
        return y;
      case FusedEpilogue::kReluSquared:
        return Square(std::max(y, 0.0));
      case FusedEpilogue::kReluSquaredGradient:
        return y * 2 * std::sqrt(static_cast<double>(host_extra[i]));
      case FusedEpilogue::kRowScale:
        return y * static_cast<double>(host_extra[row]);
      case FusedEpilogue::kRowScaleReluSquared:
        return Square(std::max(y * static_cast<double>(host_extra[row]), 0.0));
      case FusedEpilogue::kAdd:
        return y + static_cast<double>(host_extra[i]);
    }
    return NAN;
  }
};

pawl::Result<Problem> MakeProblem(const FusedMatmulSpec& spec) {
  Problem p;
  p.spec = spec;
  std::random_device random;
  PAWL_ASSIGN(p.a, DeviceMemory::Allocate(kRows * kInner * 2));
  PAWL_ASSIGN(p.b, DeviceMemory::Allocate(kInner * kCols * 2));
  PAWL_ASSIGN(p.extra, DeviceMemory::Allocate(kRows * kCols * 4));
  PAWL_ASSIGN(p.d, DeviceMemory::Allocate(kRows * kCols * 2));
  PAWL_TRY(FillUniformBf16(p.a.data(), kRows * kInner, 1.0F, random(), nullptr));
  PAWL_TRY(FillUniformBf16(p.b.data(), kInner * kCols, 1.0F, random(), nullptr));
  PAWL_TRY(FillUniformBf16(p.extra.data(), kRows * kCols, 2.0F, random(), nullptr));
  p.host_a = HostBf16(p.a.data(), kRows * kInner);
  p.host_b = HostBf16(p.b.data(), kInner * kCols);
  if (spec.epilogue == FusedEpilogue::kReluSquaredGradient) {
    PAWL_TRY(ReluSquared(p.extra.data(), p.extra.data(), kRows * kCols, nullptr));
  }
  p.host_extra = HostBf16(p.extra.data(), kRows * kCols);
  const bool per_row = spec.epilogue == FusedEpilogue::kRowScale ||
                       spec.epilogue == FusedEpilogue::kRowScaleReluSquared;
  if (per_row) {
    PAWL_TRY(p.extra.Poison());
    EXPECT_EQ(cudaMemcpy(p.extra.data(), p.host_extra.data(), kRows * 4, cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  return p;
}

class CudnnMatmulTest : public ::testing::TestWithParam<FusedEpilogue> {};

TEST_P(CudnnMatmulTest, EqualsReference) {
  SKIP_WITHOUT_GPU();
  const auto handle = CudnnHandle::Create();
  ASSERT_OK(handle);
  for (const Operand b : {Operand::kPlain, Operand::kTransposed}) {
    auto problem = MakeProblem({kRows, kCols, kInner, b, GetParam()});
    ASSERT_OK(problem);
    const auto product = CudnnMatmul::Create(*handle, problem->spec);
    ASSERT_OK(product);
    auto scratch = DeviceMemory::Allocate(product->workspace_bytes());
    ASSERT_OK(scratch);
    const auto wanted = [&](std::size_t i) { return problem->Wanted(i); };
    ASSERT_OK(problem->d.Poison());
    ASSERT_OK(product->Run(problem->args(), scratch->data(), nullptr));
    EXPECT_LT(RelativeError(HostBf16(problem->d.data(), kRows * kCols), wanted), kTolerance);

    WithCapturedGraph(
        [&](cudaStream_t stream) {
          ASSERT_OK(product->Run(problem->args(), scratch->data(), stream));
        },
        [&](const std::function<void()>& launch) {
          ASSERT_OK(problem->d.Poison());
          launch();
          EXPECT_LT(RelativeError(HostBf16(problem->d.data(), kRows * kCols), wanted), kTolerance);
        });
  }
}

TEST(CudnnMatmul, TunedConfigurationIsRight) {
  SKIP_WITHOUT_GPU();
  const auto handle = CudnnHandle::Create();
  ASSERT_OK(handle);
  auto problem =
      MakeProblem({kRows, kCols, kInner, Operand::kTransposed, FusedEpilogue::kReluSquared});
  ASSERT_OK(problem);
  const auto scratch = DeviceMemory::Allocate(kMatmulWorkspaceBytes);
  ASSERT_OK(scratch);
  const auto product = CudnnMatmul::CreateTuned(*handle, problem->spec, problem->args(),
                                                {scratch->data(), scratch->size_bytes()}, nullptr);
  ASSERT_OK(product);
  ASSERT_OK(problem->d.Poison());
  ASSERT_OK(product->Run(problem->args(), scratch->data(), nullptr));
  EXPECT_LT(RelativeError(HostBf16(problem->d.data(), kRows * kCols),
                          [&](std::size_t i) { return problem->Wanted(i); }),
            kTolerance);
}

std::string EpilogueName(const ::testing::TestParamInfo<FusedEpilogue>& info) {
  return ::testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(Epilogues, CudnnMatmulTest,
                         ::testing::Values(FusedEpilogue::kNone, FusedEpilogue::kReluSquared,
                                           FusedEpilogue::kReluSquaredGradient,
                                           FusedEpilogue::kRowScale,
                                           FusedEpilogue::kRowScaleReluSquared,
                                           FusedEpilogue::kAdd),
                         EpilogueName);

TEST(ReluSquared, EqualsReferenceForwardAndBackward) {
  SKIP_WITHOUT_GPU();
  constexpr std::int64_t kCount = 8 * 5003;  // the last block is not full
  auto y = DeviceMemory::Allocate(kCount * 2);
  auto h = DeviceMemory::Allocate(kCount * 2);
  auto dh = DeviceMemory::Allocate(kCount * 2);
  auto dy = DeviceMemory::Allocate(kCount * 2);
  for (auto* memory : {&y, &h, &dh, &dy}) ASSERT_OK(*memory);
  ASSERT_OK(FillUniformBf16(y->data(), kCount, 3.0F, std::random_device{}(), nullptr));
  ASSERT_OK(FillUniformBf16(dh->data(), kCount, 1.0F, std::random_device{}(), nullptr));
  ASSERT_OK(h->Poison());
  ASSERT_OK(dy->Poison());
  ASSERT_OK(ReluSquared(y->data(), h->data(), kCount, nullptr));
  ASSERT_OK(ReluSquaredGradient(dh->data(), h->data(), dy->data(), kCount, nullptr));
  const std::vector<float> host_y = HostBf16(y->data(), kCount);
  const std::vector<float> host_dh = HostBf16(dh->data(), kCount);
  const auto positive = [&](std::size_t i) {
    return std::max(0.0, static_cast<double>(host_y[i]));
  };
  EXPECT_LT(RelativeError(HostBf16(h->data(), kCount),
                          [&](std::size_t i) { return Square(positive(i)); }),
            kTolerance);
  EXPECT_LT(RelativeError(
                HostBf16(dy->data(), kCount),
                [&](std::size_t i) { return 2 * static_cast<double>(host_dh[i]) * positive(i); }),
            kTolerance);
}

TEST(ReluSquared, RefusesCountsThatAreNoMultipleOfEight) {
  EXPECT_EQ(ReluSquared(nullptr, nullptr, 12, nullptr).error().code, pawl::Code::kInvalidArgument);
  EXPECT_EQ(ReluSquaredGradient(nullptr, nullptr, nullptr, 0, nullptr).error().code,
            pawl::Code::kInvalidArgument);
}

}  // namespace
}  // namespace lab::cuda
