// Against fp64 on the CPU, gradients by central differences, with poisoned outputs between guards.
#include "tensor/cuda/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {

// GoogleTest and ctest name tests after it.
static void PrintTo(const NormShape& shape, std::ostream* out) {
  *out << std::to_string(shape.rows) + "x" + std::to_string(shape.width);
}

namespace {

constexpr double kTolerance = 4e-3;  // of results rounded to bf16
constexpr std::int64_t kGateHeads = 3;

std::vector<double> RowOf(const std::vector<float>& values, std::int64_t row, std::int64_t width) {
  const auto begin = values.begin() + row * width;
  return {begin, begin + width};
}

std::vector<double> Norm(const std::vector<double>& x, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double r = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  std::vector<double> u(x);
  for (double& value : u) value *= r;
  return u;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// J' d_u at x.
std::vector<double> NormGradient(const std::vector<double>& x, const std::vector<double>& d_u,
                                 double epsilon) {
  return NumericGradient(
      x, [&](const std::vector<double>& at) { return Dot(Norm(at, epsilon), d_u); });
}

class RmsNormTest : public ::testing::TestWithParam<NormShape> {
 protected:
  std::int64_t rows() const { return GetParam().rows; }
  std::int64_t width() const { return GetParam().width; }
  std::int64_t count() const { return rows() * width(); }
  double epsilon() const { return static_cast<double>(GetParam().epsilon); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * 2; }
  // Compares a bf16 tensor with rows of fp64.
  void ExpectRows(const GuardedMemory& got, const std::vector<std::vector<double>>& want) const {
    const auto per_row = static_cast<std::size_t>(width());
    EXPECT_LT(RelativeError(HostBf16(got.data(), count()),
                            [&](std::size_t i) { return want[i / per_row][i % per_row]; }),
              kTolerance);
    EXPECT_TRUE(got.GuardsIntact());
  }
  RandomValues random_;
};

TEST_P(RmsNormTest, ForwardEqualsReference) {
  SKIP_WITHOUT_GPU();
  const auto host_x = random_.Bf16(count(), 3);
  const auto x = GuardedMemory::Bf16(host_x);
  const GuardedMemory u(bytes());
  ASSERT_OK(RmsNorm(x.data(), u.data(), GetParam(), nullptr));
  std::vector<std::vector<double>> want;
  for (std::int64_t row = 0; row < rows(); ++row) {
    want.push_back(Norm(RowOf(host_x, row, width()), epsilon()));
  }
  ExpectRows(u, want);
  ASSERT_OK(RmsNorm(x.data(), x.data(), GetParam(), nullptr));  // in place
  ExpectRows(x, want);
}

TEST_P(RmsNormTest, BackwardEqualsCentralDifferences) {
  SKIP_WITHOUT_GPU();
  const auto host_x = random_.Bf16(count(), 3);
  const auto host_d_u = random_.Bf16(count());
  const auto host_residual = random_.Bf16(count());
  const auto x = GuardedMemory::Bf16(host_x);
  const auto d_u = GuardedMemory::Bf16(host_d_u);
  const auto residual = GuardedMemory::Bf16(host_residual);
  const GuardedMemory d_x(bytes());
  ASSERT_OK(RmsNormBackward(x.data(), d_u.data(), nullptr, d_x.data(), GetParam(), nullptr));
  std::vector<std::vector<double>> want;
  for (std::int64_t row = 0; row < rows(); ++row) {
    want.push_back(
        NormGradient(RowOf(host_x, row, width()), RowOf(host_d_u, row, width()), epsilon()));
  }
  ExpectRows(d_x, want);

  ASSERT_OK(
      RmsNormBackward(x.data(), d_u.data(), residual.data(), residual.data(), GetParam(), nullptr));
  for (std::int64_t row = 0; row < rows(); ++row) {
    const auto added = RowOf(host_residual, row, width());
    auto& sum = want[static_cast<std::size_t>(row)];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
  }
  ExpectRows(residual, want);
}

// One mix on the device and what fp64 makes of it.
struct Mix {
  std::int64_t rows, width;
  double epsilon;
  std::vector<float> before, x0, d_u, d_x, d_x0, d_gate, gate_weight;
  double x_scale = 0.75, x0_scale = -0.375;  // exact in bf16

  Mix(RandomValues& random, const NormShape& shape)
      : rows(shape.rows), width(shape.width), epsilon(static_cast<double>(shape.epsilon)) {
    for (auto* tensor : {&before, &x0, &d_u, &d_x, &d_x0}) {
      *tensor = random.Bf16(rows * width, 2);
    }
    d_gate = random.Fp32(rows * kGateHeads);
    gate_weight = random.Bf16(kGateHeads * 32);
  }
  std::vector<double> Mixed(std::int64_t row) const {
    std::vector<double> x = RowOf(before, row, width);
    const auto other = RowOf(x0, row, width);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = RoundToBf16(x_scale * x[i] + x0_scale * other[i]);
    }
    return x;
  }
  std::vector<double> GradientOfU(std::int64_t row, bool gated) const {
    std::vector<double> d = RowOf(d_u, row, width);
    if (!gated) return d;
    for (std::int64_t head = 0; head < kGateHeads; ++head) {
      const auto weights = RowOf(gate_weight, head, 32);
      const double factor =
          static_cast<double>(d_gate[static_cast<std::size_t>(row * kGateHeads + head)]);
      for (std::size_t c = 0; c < 32; ++c) d[c] += factor * weights[c];
    }
    return d;
  }
  std::vector<double> Total(std::int64_t row, bool gated) const {
    std::vector<double> t = NormGradient(Mixed(row), GradientOfU(row, gated), epsilon);
    const auto direct = RowOf(d_x, row, width);
    for (std::size_t i = 0; i < t.size(); ++i) t[i] += direct[i];
    return t;
  }
};

TEST_P(RmsNormTest, MixForwardEqualsReference) {
  SKIP_WITHOUT_GPU();
  const Mix mix(random_, GetParam());
  const auto before = GuardedMemory::Bf16(mix.before);
  const auto x0 = GuardedMemory::Bf16(mix.x0);
  const GuardedMemory scales(
      std::vector<float>{static_cast<float>(mix.x_scale), static_cast<float>(mix.x0_scale)});
  const GuardedMemory x(bytes());
  const GuardedMemory u(bytes());
  ASSERT_OK(MixNorm(
      {before.data(), x0.data(), scales.as<float>(), scales.as<float>() + 1, x.data(), u.data()},
      GetParam(), nullptr));
  std::vector<std::vector<double>> want_x;
  std::vector<std::vector<double>> want_u;
  for (std::int64_t row = 0; row < rows(); ++row) {
    want_x.push_back(mix.Mixed(row));
    want_u.push_back(Norm(want_x.back(), epsilon()));
  }
  ExpectRows(x, want_x);
  ExpectRows(u, want_u);
}

struct BackwardCase {
  bool gated, first_layer, accumulate;
};

void ExpectScale(float got, double before, double sum, double sum_of_sizes) {
  EXPECT_NEAR(static_cast<double>(got), before + sum, 1e-5 * sum_of_sizes + 1e-5);
}

TEST_P(RmsNormTest, MixBackwardEqualsCentralDifferences) {
  SKIP_WITHOUT_GPU();
  const bool room_for_gate = width() >= 32;
  for (const BackwardCase c : {BackwardCase{false, false, false},
                               {room_for_gate, false, true},
                               {room_for_gate, true, true},
                               {false, true, false}}) {
    SCOPED_TRACE(::testing::Message() << "gated " << c.gated << " first layer " << c.first_layer
                                      << " accumulate " << c.accumulate);
    Mix mix(random_, GetParam());
    if (c.first_layer) mix.before = mix.x0;
    const auto before = GuardedMemory::Bf16(mix.before);
    const auto x0 = GuardedMemory::Bf16(mix.x0);
    const auto d_u = GuardedMemory::Bf16(mix.d_u);
    const auto d_x = GuardedMemory::Bf16(mix.d_x);
    const GuardedMemory d_x_before(bytes());
    const GuardedMemory d_x0 =
        c.accumulate ? GuardedMemory::Bf16(mix.d_x0) : GuardedMemory(bytes());
    const GuardedMemory d_gate(mix.d_gate);
    const auto gate_weight = GuardedMemory::Bf16(mix.gate_weight);
    const GuardedMemory scales(
        std::vector<float>{static_cast<float>(mix.x_scale), static_cast<float>(mix.x0_scale)});
    const GuardedMemory d_scales(std::vector<float>{4, 7});
    const GuardedMemory scratch(MixNormScratchBytes(rows()));
    MixNormBackwardArgs args;
    args.x_before = before.data(), args.x0 = x0.data();
    args.x_scale = scales.as<float>(), args.x0_scale = scales.as<float>() + 1;
    args.d_u = d_u.data(), args.d_x = d_x.data();
    if (c.gated) {
      args.d_gate = d_gate.as<float>(), args.gate_weight = gate_weight.data();
      args.gate_heads = kGateHeads;
    }
    args.d_x_before = c.first_layer ? nullptr : d_x_before.data();
    args.d_x0 = d_x0.data(), args.add_to_d_x0 = c.accumulate;
    args.d_x_scale = d_scales.as<float>(), args.d_x0_scale = d_scales.as<float>() + 1;
    args.add_to_d_scales = c.accumulate;
    args.scratch = scratch.data();
    ASSERT_OK(MixNormBackward(args, GetParam(), nullptr));

    std::vector<std::vector<double>> want_before;
    std::vector<std::vector<double>> want_x0;
    double sums[2] = {0, 0};
    double sizes[2] = {0, 0};
    for (std::int64_t row = 0; row < rows(); ++row) {
      const auto t = mix.Total(row, c.gated);
      const auto x_before_row = RowOf(mix.before, row, width());
      const auto x0_row = RowOf(mix.x0, row, width());
      auto d_before = t;
      auto d_first = c.accumulate ? RowOf(mix.d_x0, row, width()) : std::vector<double>(t.size());
      for (std::size_t i = 0; i < t.size(); ++i) {
        d_before[i] = mix.x_scale * t[i];
        d_first[i] += mix.x0_scale * t[i] + (c.first_layer ? d_before[i] : 0.0);
        sizes[0] += std::abs(t[i] * x_before_row[i]);
        sizes[1] += std::abs(t[i] * x0_row[i]);
      }
      sums[0] += Dot(t, x_before_row);
      sums[1] += Dot(t, x0_row);
      want_before.push_back(std::move(d_before));
      want_x0.push_back(std::move(d_first));
    }
    ExpectRows(d_x0, want_x0);
    if (!c.first_layer) ExpectRows(d_x_before, want_before);
    const auto got = HostFp32(d_scales.data(), 2);
    ExpectScale(got[0], c.accumulate ? 4 : 0, sums[0], sizes[0]);
    ExpectScale(got[1], c.accumulate ? 7 : 0, sums[1], sizes[1]);
    EXPECT_TRUE(d_scales.GuardsIntact());
    EXPECT_TRUE(scratch.GuardsIntact());
    EXPECT_TRUE(d_x_before.GuardsIntact());
  }
}

std::string ShapeName(const ::testing::TestParamInfo<NormShape>& info) {
  return ::testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormTest,
                         ::testing::Values(NormShape{1, 8}, NormShape{37, 512}, NormShape{9, 640},
                                           NormShape{130, 256}, NormShape{5, 1024},
                                           NormShape{3, 2048}),
                         ShapeName);

TEST(RmsNorm, MixBackwardIsDeterministicAndReplaysFromAGraph) {
  SKIP_WITHOUT_GPU();
  constexpr NormShape kShape{20000, 512};
  constexpr std::int64_t kCount = kShape.rows * kShape.width;
  RandomValues random;
  const Mix mix(random, kShape);
  const auto before = GuardedMemory::Bf16(mix.before);
  const auto x0 = GuardedMemory::Bf16(mix.x0);
  const auto d_u = GuardedMemory::Bf16(mix.d_u);
  const auto d_x = GuardedMemory::Bf16(mix.d_x);
  GuardedMemory d_x_before(kCount * 2);
  GuardedMemory d_x0(kCount * 2);
  const GuardedMemory scales(std::vector<float>{0.75F, -0.375F});
  GuardedMemory d_scales(2 * sizeof(float));
  GuardedMemory scratch(MixNormScratchBytes(kShape.rows));
  MixNormBackwardArgs args;
  args.x_before = before.data(), args.x0 = x0.data();
  args.x_scale = scales.as<float>(), args.x0_scale = scales.as<float>() + 1;
  args.d_u = d_u.data(), args.d_x = d_x.data();
  args.d_x_before = d_x_before.data(), args.d_x0 = d_x0.data();
  args.d_x_scale = d_scales.as<float>(), args.d_x0_scale = d_scales.as<float>() + 1;
  args.scratch = scratch.data();
  std::vector<std::vector<std::uint16_t>> gradients;
  std::vector<std::vector<std::uint32_t>> sums;
  WithCapturedGraph(
      [&](cudaStream_t stream) { ASSERT_OK(MixNormBackward(args, kShape, stream)); },
      [&](const std::function<void()>& launch) {
        for (int replay = 0; replay < 2; ++replay) {
          for (auto* memory : {&d_x_before, &d_x0, &d_scales, &scratch}) memory->Poison();
          launch();
          gradients.push_back(HostRows<std::uint16_t>(d_x_before.data(), 1, kCount, kCount));
          sums.push_back(HostRows<std::uint32_t>(d_scales.data(), 1, 2, 2));
        }
      });
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_TRUE(std::isfinite(std::bit_cast<float>(sums[0][0])));
}

TEST(RmsNorm, RefusesWidthsThatItCannotRead) {
  for (const std::int64_t width : {0, 12, 2056}) {
    EXPECT_EQ(RmsNorm(nullptr, nullptr, {4, width}, nullptr).error().code,
              pawl::Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lab::cuda
