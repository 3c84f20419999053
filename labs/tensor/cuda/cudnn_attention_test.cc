// Against the fp64 reference, on fresh random data, with every output poisoned beforehand.
#include "tensor/cuda/cudnn_attention.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <future>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tensor/cuda/attention_reference.h"
#include "tensor/cuda/cudnn_handle.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kWidth = kHeads * kHeadDim;
constexpr std::int64_t kDense = kWidth;
constexpr std::int64_t kPacked = 3 * kWidth;

std::string NameOf(const AttentionSpec& spec) {
  return "Batch" + std::to_string(spec.batch) + "Tokens" + std::to_string(spec.tokens) + "Window" +
         std::to_string(spec.window) + (spec.qkv_pitch == kPacked ? "Packed" : "Dense");
}

AttentionSpec Spec(std::int64_t batch, std::int64_t tokens, std::int64_t window,
                   std::int64_t qkv_pitch) {
  AttentionSpec spec;
  spec.batch = batch;
  spec.heads = kHeads;
  spec.tokens = tokens;
  spec.head_dim = kHeadDim;
  spec.window = window;
  spec.qkv_pitch = qkv_pitch;
  spec.out_pitch = kWidth;
  spec.scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
  return spec;
}

// q, k, v, their gradients and the rest for one spec. A packed pitch puts q, k and v into one
// buffer, side by side.
class Tensors {
 public:
  explicit Tensors(const AttentionSpec& spec) : spec_(spec) {}

  pawl::Status Allocate(const CudnnAttention& attention, std::uint64_t seed) {
    const std::int64_t positions = spec_.batch * spec_.tokens;
    qkv_count_ = positions * kPacked;  // three dense tensors or one packed: the same size
    out_count_ = positions * kWidth;
    lse_count_ = positions * kHeads;
    const auto bytes = [](std::int64_t count, std::size_t size) {
      return static_cast<std::size_t>(count) * size;
    };
    PAWL_ASSIGN(qkv_, DeviceMemory::Allocate(bytes(qkv_count_, 2)));
    PAWL_ASSIGN(d_qkv_, DeviceMemory::Allocate(bytes(qkv_count_, 2)));
    PAWL_ASSIGN(out_, DeviceMemory::Allocate(bytes(out_count_, 2)));
    PAWL_ASSIGN(d_out_, DeviceMemory::Allocate(bytes(out_count_, 2)));
    PAWL_ASSIGN(lse_, DeviceMemory::Allocate(bytes(lse_count_, 4)));
    PAWL_ASSIGN(workspace_, DeviceMemory::Allocate(std::max(attention.forward_workspace_bytes(),
                                                            attention.backward_workspace_bytes())));
    // Amplitude sqrt(3) is variance 1, what normalised queries and keys have.
    PAWL_TRY(FillUniformBf16(qkv_.data(), qkv_count_, 1.732F, seed, nullptr));
    return FillUniformBf16(d_out_.data(), out_count_, 1.0F, seed + 1, nullptr);
  }

  pawl::Status Poison() {
    for (DeviceMemory* memory : {&d_qkv_, &out_, &lse_, &workspace_}) PAWL_TRY(memory->Poison());
    return pawl::OkStatus();
  }

  pawl::Status Run(const CudnnAttention& attention, cudaStream_t stream) const {
    const AttentionForwardArgs forward{Third(qkv_, 0), Third(qkv_, 1), Third(qkv_, 2), out_.data(),
                                       lse_.as<float>()};
    PAWL_TRY(attention.Forward(forward, workspace_.data(), stream));
    const AttentionBackwardArgs backward{Third(qkv_, 0),   Third(qkv_, 1),   Third(qkv_, 2),
                                         out_.data(),      d_out_.data(),    lse_.as<float>(),
                                         Third(d_qkv_, 0), Third(d_qkv_, 1), Third(d_qkv_, 2)};
    return attention.Backward(backward, workspace_.data(), stream);
  }

  pawl::Result<std::int64_t> CountUnwritten() const {
    std::int64_t unwritten = 0;
    PAWL_ASSIGN(const std::int64_t in_out, CountNonFiniteBf16(out_.data(), out_count_, nullptr));
    PAWL_ASSIGN(const std::int64_t in_qkv, CountNonFiniteBf16(d_qkv_.data(), qkv_count_, nullptr));
    PAWL_ASSIGN(const std::int64_t in_lse, CountNonFiniteFp32(lse_.data(), lse_count_, nullptr));
    unwritten += in_out + in_qkv + in_lse;
    return unwritten;
  }

  // One head of the tensor at `base`, rows `pitch` apart.
  std::vector<float> Head(const void* base, std::int64_t pitch, std::int64_t batch,
                          std::int64_t head) const {
    const auto* start =
        static_cast<const std::uint16_t*>(base) + batch * spec_.tokens * pitch + head * kHeadDim;
    return HostBf16(start, spec_.tokens, kHeadDim, pitch);
  }
  std::vector<float> HeadOf(const DeviceMemory& memory, int third, std::int64_t b,
                            std::int64_t h) const {
    return Head(Third(memory, third), spec_.qkv_pitch, b, h);
  }
  std::vector<float> LogSumExp(std::int64_t batch, std::int64_t head) const {
    return HostFp32(lse_.as<float>() + (batch * kHeads + head) * spec_.tokens, spec_.tokens);
  }
  AttentionHead Inputs(std::int64_t b, std::int64_t h) const {
    return {spec_.tokens,          spec_.head_dim,
            spec_.window,          static_cast<double>(spec_.scale),
            HeadOf(qkv_, 0, b, h), HeadOf(qkv_, 1, b, h),
            HeadOf(qkv_, 2, b, h), Head(d_out_.data(), kWidth, b, h)};
  }

  const DeviceMemory& d_qkv() const { return d_qkv_; }
  const DeviceMemory& out() const { return out_; }

 private:
  void* Third(const DeviceMemory& memory, int index) const {
    const std::int64_t offset =
        spec_.qkv_pitch == kPacked ? index * kWidth : index * spec_.batch * spec_.tokens * kWidth;
    return memory.as<std::uint16_t>() + offset;
  }

  AttentionSpec spec_;
  std::int64_t qkv_count_ = 0, out_count_ = 0, lse_count_ = 0;
  DeviceMemory qkv_, d_qkv_, out_, d_out_, lse_, workspace_;
};

// bf16 operands with fp32 sums: the errors seen are 2e-3 to 4e-3.
constexpr double kTolerance = 1e-2;

struct Errors {
  double out, dq, dk, dv, log_sum_exp;
};

std::function<double(std::size_t)> Of(const std::vector<double>& values) {
  return [&values](std::size_t i) { return values[i]; };
}

Errors Compare(const Tensors& tensors, const AttentionHead& inputs, std::int64_t b,
               std::int64_t h) {
  const AttentionHeadResult want = ReferenceAttention(inputs);
  Errors errors{RelativeError(tensors.Head(tensors.out().data(), kWidth, b, h), Of(want.out)),
                RelativeError(tensors.HeadOf(tensors.d_qkv(), 0, b, h), Of(want.dq)),
                RelativeError(tensors.HeadOf(tensors.d_qkv(), 1, b, h), Of(want.dk)),
                RelativeError(tensors.HeadOf(tensors.d_qkv(), 2, b, h), Of(want.dv)), 0};
  const std::vector<float> got = tensors.LogSumExp(b, h);
  for (std::size_t t = 0; t < got.size(); ++t) {
    errors.log_sum_exp =
        std::max(errors.log_sum_exp, std::abs(static_cast<double>(got[t]) - want.log_sum_exp[t]));
  }
  return errors;
}

void ExpectEqualToReference(const AttentionSpec& spec, const Tensors& tensors) {
  std::vector<std::future<void>> checks;
  for (const auto& [b, h] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                             {spec.batch - 1, kHeads - 1},
                             {spec.batch / 2, 1}}) {
    checks.push_back(std::async(std::launch::async, [&, b = b, h = h] {
      const Errors errors = Compare(tensors, tensors.Inputs(b, h), b, h);
      SCOPED_TRACE(::testing::Message() << "batch " << b << " head " << h);
      EXPECT_LT(errors.out, kTolerance);
      EXPECT_LT(errors.dq, kTolerance);
      EXPECT_LT(errors.dk, kTolerance);
      EXPECT_LT(errors.dv, kTolerance);
      EXPECT_LT(errors.log_sum_exp, 1e-3);
      std::printf("  batch %ld head %ld: out %.1e dq %.1e dk %.1e dv %.1e lse %.1e\n",
                  static_cast<long>(b), static_cast<long>(h), errors.out, errors.dq, errors.dk,
                  errors.dv, errors.log_sum_exp);
    }));
  }
  for (auto& check : checks) check.get();
}

}  // namespace

// GoogleTest and ctest name tests after it.
static void PrintTo(const AttentionSpec& spec, std::ostream* out) {
  *out << NameOf(spec);
}

namespace {

class CudnnAttentionTest : public ::testing::TestWithParam<AttentionSpec> {};

TEST_P(CudnnAttentionTest, EqualsReference) {
  SKIP_WITHOUT_GPU();
  const auto handle = CudnnHandle::Create();
  ASSERT_OK(handle);
  const auto attention = CudnnAttention::Create(*handle, GetParam());
  ASSERT_OK(attention);
  Tensors tensors(GetParam());
  ASSERT_OK(tensors.Allocate(*attention, std::random_device{}()));
  ASSERT_OK(tensors.Poison());
  ASSERT_OK(tensors.Run(*attention, nullptr));
  const auto unwritten = tensors.CountUnwritten();
  ASSERT_OK(unwritten);
  EXPECT_EQ(*unwritten, 0);
  ExpectEqualToReference(GetParam(), tensors);
}

std::string SpecName(const ::testing::TestParamInfo<AttentionSpec>& info) {
  return NameOf(info.param);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudnnAttentionTest,
    ::testing::Values(Spec(128, 2048, 0, kPacked), Spec(128, 2048, 1025, kPacked),
                      Spec(128, 2048, 257, kPacked), Spec(128, 2048, 0, kDense),
                      Spec(128, 2048, 1025, kDense), Spec(2, 512, 129, kPacked),
                      Spec(3, 256, 2, kPacked), Spec(3, 256, 255, kPacked),
                      Spec(2, 200, 64, kPacked), Spec(1, 64, 0, kDense)),
    SpecName);

TEST(CudnnAttention, ComparisonSeesAWindowThatIsOffByOne) {
  SKIP_WITHOUT_GPU();
  const AttentionSpec spec = Spec(1, 512, 129, kPacked);
  const auto handle = CudnnHandle::Create();
  ASSERT_OK(handle);
  const auto attention = CudnnAttention::Create(*handle, spec);
  ASSERT_OK(attention);
  Tensors tensors(spec);
  ASSERT_OK(tensors.Allocate(*attention, 5));
  ASSERT_OK(tensors.Run(*attention, nullptr));
  for (const std::int64_t wrong : {spec.window - 1, spec.window + 1}) {
    AttentionHead inputs = tensors.Inputs(0, 2);
    inputs.window = wrong;
    const Errors errors = Compare(tensors, inputs, 0, 2);
    EXPECT_GT(errors.out, kTolerance);
    EXPECT_GT(errors.dq, kTolerance);
    EXPECT_GT(errors.dk, kTolerance);
    EXPECT_GT(errors.dv, kTolerance);
  }
}

TEST(CudnnAttention, ReplaysFromACudaGraph) {
  SKIP_WITHOUT_GPU();
  const AttentionSpec spec = Spec(4, 1024, 513, kPacked);
  const auto handle = CudnnHandle::Create();
  ASSERT_OK(handle);
  const auto attention = CudnnAttention::Create(*handle, spec);
  ASSERT_OK(attention);
  Tensors tensors(spec);
  ASSERT_OK(tensors.Allocate(*attention, std::random_device{}()));

  WithCapturedGraph([&](cudaStream_t stream) { ASSERT_OK(tensors.Run(*attention, stream)); },
                    [&](const std::function<void()>& launch) {
                      for (int replay = 0; replay < 2; ++replay) {
                        ASSERT_OK(tensors.Poison());
                        launch();
                        ExpectEqualToReference(spec, tensors);
                      }
                    });
}

TEST(CudnnAttention, RefusesSpecsThatMakeNoSense) {
  SKIP_WITHOUT_GPU();
  const auto handle = CudnnHandle::Create();
  ASSERT_OK(handle);
  const auto code = [&](AttentionSpec spec) {
    const auto attention = CudnnAttention::Create(*handle, spec);
    return attention.ok() ? pawl::Code::kInternal : attention.error().code;
  };
  AttentionSpec spec = Spec(1, 64, 0, kDense);
  spec.head_dim = 100;
  EXPECT_EQ(code(spec), pawl::Code::kInvalidArgument);
  spec = Spec(1, 64, 0, kDense - 8);
  EXPECT_EQ(code(spec), pawl::Code::kInvalidArgument);
  spec = Spec(1, 64, -1, kDense);
  EXPECT_EQ(code(spec), pawl::Code::kInvalidArgument);
  spec = Spec(0, 64, 0, kDense);
  EXPECT_EQ(code(spec), pawl::Code::kInvalidArgument);
}

TEST(AttentionFlops, CountsVisiblePairsOnly) {
  AttentionSpec spec = Spec(1, 4, 0, kDense);
  spec.heads = 1;
  const double per_pair = 2.0 * kHeadDim;
  EXPECT_DOUBLE_EQ(AttentionFlops(spec, AttentionPass::kForward), 2 * 10 * per_pair);
  spec.window = 2;  // 1 + 2 + 2 + 2
  EXPECT_DOUBLE_EQ(AttentionFlops(spec, AttentionPass::kForward), 2 * 7 * per_pair);
  EXPECT_DOUBLE_EQ(AttentionFlops(spec, AttentionPass::kBackward), 5 * 7 * per_pair);
}

}  // namespace
}  // namespace lab::cuda
