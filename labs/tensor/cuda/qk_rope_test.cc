// Against fp64 on the CPU, gradients by central differences, with poisoned outputs between guards.
#include "tensor/cuda/qk_rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {

// GoogleTest and ctest name tests after it.
static void PrintTo(const QkRopeShape& shape, std::ostream* out) {
  *out << "Rows" + std::to_string(shape.rows) + "Tokens" + std::to_string(shape.tokens) + "Heads" +
              std::to_string(shape.heads);
}

namespace {

constexpr double kTolerance = 4e-3;  // of results rounded to bf16
constexpr std::size_t kDim = kRopeHeadDim;
constexpr std::size_t kHalf = kDim / 2;
constexpr std::int64_t kVocab = 50;

// The original's operations, one after the other.
std::vector<double> RotateAndNorm(const std::vector<double>& x, std::int64_t t, double epsilon) {
  std::vector<double> y(kDim);
  double squares = 0;
  for (std::size_t j = 0; j < kHalf; ++j) {
    const double angle =
        static_cast<double>(t) / std::pow(10000.0, 2 * static_cast<double>(j) / kDim);
    const double c = RoundToBf16(std::cos(angle));
    const double s = RoundToBf16(std::sin(angle));
    y[j] = x[j] * c + x[j + kHalf] * s;
    y[j + kHalf] = -x[j] * s + x[j + kHalf] * c;
  }
  for (const double value : y) squares += value * value;
  const double r = 1 / std::sqrt(squares / kDim + epsilon);
  for (double& value : y) value *= r;
  return y;
}

struct Problem {
  QkRopeShape shape;
  RandomValues random;
  std::vector<float> qkv, table, u, gate_weight;
  std::vector<std::int32_t> ids;

  explicit Problem(const QkRopeShape& s) : shape(s) {
    qkv = random.Bf16(s.rows * pitch(), 2);
    table = random.Bf16(kVocab * s.heads * kRopeHeadDim);
    u = random.Bf16(s.rows * u_pitch(), 2);
    gate_weight = random.Bf16(s.heads * kGateColumns);
    std::uniform_int_distribution<std::int32_t> any(0, kVocab - 1);
    for (std::int64_t row = 0; row < s.rows; ++row) ids.push_back(any(random.engine()));
  }
  std::int64_t pitch() const { return 3 * shape.heads * kRopeHeadDim; }
  std::int64_t u_pitch() const { return shape.heads * kRopeHeadDim; }
  std::size_t bytes() const { return qkv.size() * 2; }

  static std::vector<double> Slice(const std::vector<float>& from, std::int64_t at,
                                   std::int64_t count) {
    return {from.begin() + at, from.begin() + at + count};
  }
  std::vector<double> HeadOf(const std::vector<float>& packed, std::int64_t row,
                             std::int64_t slot) const {
    return Slice(packed, row * pitch() + slot * kRopeHeadDim, kRopeHeadDim);
  }
  double Gate(std::int64_t row, std::int64_t head) const {
    const auto a = Slice(u, row * u_pitch(), kGateColumns);
    const auto b = Slice(gate_weight, head * kGateColumns, kGateColumns);
    double z = 0;
    for (std::size_t c = 0; c < a.size(); ++c) z += a[c] * b[c];
    return 2 / (1 + std::exp(-z));
  }
  std::vector<double> WantedHead(std::int64_t row, std::int64_t slot, bool values) const {
    auto x = HeadOf(qkv, row, slot);
    if (slot < 2 * shape.heads) {
      return RotateAndNorm(x, row % shape.tokens, static_cast<double>(shape.epsilon));
    }
    if (!values) return x;
    const std::int64_t head = slot - 2 * shape.heads;
    const double gate = Gate(row, head);
    const std::int64_t id = ids[static_cast<std::size_t>(row)];
    const auto added = Slice(table, (id * shape.heads + head) * kRopeHeadDim, kRopeHeadDim);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += gate * added[i];
    return x;
  }
};

// The relative error over all heads whose slot is in [first, end).
double ErrorOfSlots(const Problem& p, const std::vector<float>& got, std::int64_t first,
                    std::int64_t end,
                    const std::function<std::vector<double>(std::int64_t, std::int64_t)>& wanted) {
  double difference = 0;
  double norm = 0;
  for (std::int64_t row = 0; row < p.shape.rows; ++row) {
    for (std::int64_t slot = first; slot < end; ++slot) {
      const auto have = p.HeadOf(got, row, slot);
      const auto want = wanted(row, slot);
      for (std::size_t i = 0; i < kDim; ++i) {
        difference += (have[i] - want[i]) * (have[i] - want[i]);
        norm += want[i] * want[i];
      }
    }
  }
  return std::sqrt(difference / norm);
}

class QkRopeTest : public ::testing::TestWithParam<QkRopeShape> {};

TEST_P(QkRopeTest, ForwardEqualsReference) {
  SKIP_WITHOUT_GPU();
  Problem p(GetParam());
  const std::int64_t heads = p.shape.heads;
  const GuardedMemory rope(RopeTable(p.shape.tokens));
  const auto table = GuardedMemory::Bf16(p.table);
  const auto u = GuardedMemory::Bf16(p.u);
  const auto gate_weight = GuardedMemory::Bf16(p.gate_weight);
  const GuardedMemory ids(p.ids);
  for (const bool values : {false, true}) {
    SCOPED_TRACE(values ? "with value embeddings" : "without");
    const auto qkv = GuardedMemory::Bf16(p.qkv);
    const GuardedMemory inverse_rms(static_cast<std::size_t>(p.shape.rows * 2 * heads) * 4);
    const GuardedMemory gate(static_cast<std::size_t>(p.shape.rows * heads) * 4);
    ValueEmbedding embedding;
    if (values) {
      embedding = {table.data(),    kVocab,      ids.as<std::int32_t>(),
                   u.data(),        p.u_pitch(), gate_weight.data(),
                   gate.as<float>()};
    }
    ASSERT_OK(
        QkRope(qkv.data(), rope.data(), inverse_rms.as<float>(), embedding, p.shape, nullptr));
    const auto got = HostBf16(qkv.data(), p.shape.rows * p.pitch());
    const auto wanted = [&](std::int64_t row, std::int64_t slot) {
      return p.WantedHead(row, slot, values);
    };
    EXPECT_LT(ErrorOfSlots(p, got, 0, 2 * heads, wanted), kTolerance);
    EXPECT_LT(ErrorOfSlots(p, got, 2 * heads, 3 * heads, wanted), values ? kTolerance : 1e-30);
    for (const float r : HostFp32(inverse_rms.data(), p.shape.rows * 2 * heads)) {
      EXPECT_TRUE(std::isfinite(r) && r > 0);
    }
    if (values) {
      EXPECT_LT(RelativeError(HostFp32(gate.data(), p.shape.rows * heads),
                              [&](std::size_t i) {
                                const auto index = static_cast<std::int64_t>(i);
                                return p.Gate(index / heads, index % heads);
                              }),
                1e-5);
    }
    for (const auto* memory : {&qkv, &inverse_rms, &gate}) EXPECT_TRUE(memory->GuardsIntact());
  }
}

TEST_P(QkRopeTest, BackwardEqualsCentralDifferences) {
  SKIP_WITHOUT_GPU();
  Problem p(GetParam());
  const std::int64_t heads = p.shape.heads;
  const auto host_d = p.random.Bf16(p.shape.rows * p.pitch());
  const GuardedMemory rope(RopeTable(p.shape.tokens));
  const auto qkv = GuardedMemory::Bf16(p.qkv);
  const auto d_qkv = GuardedMemory::Bf16(host_d);
  const GuardedMemory inverse_rms(static_cast<std::size_t>(p.shape.rows * 2 * heads) * 4);
  ASSERT_OK(QkRope(qkv.data(), rope.data(), inverse_rms.as<float>(), {}, p.shape, nullptr));
  ASSERT_OK(QkRopeBackward(qkv.data(), rope.data(), inverse_rms.as<float>(), d_qkv.data(), p.shape,
                           nullptr));
  const auto got = HostBf16(d_qkv.data(), p.shape.rows * p.pitch());
  const auto wanted = [&](std::int64_t row, std::int64_t slot) {
    const auto d = p.HeadOf(host_d, row, slot);
    if (slot >= 2 * heads) return d;
    return NumericGradient(p.HeadOf(p.qkv, row, slot), [&](const std::vector<double>& x) {
      const auto y = RotateAndNorm(x, row % p.shape.tokens, static_cast<double>(p.shape.epsilon));
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * d[i];
      return sum;
    });
  };
  EXPECT_LT(ErrorOfSlots(p, got, 0, 2 * heads, wanted), kTolerance);
  EXPECT_LT(ErrorOfSlots(p, got, 2 * heads, 3 * heads, wanted), 1e-30);
  EXPECT_TRUE(d_qkv.GuardsIntact());
}

TEST_P(QkRopeTest, GateWeightGradientEqualsReference) {
  SKIP_WITHOUT_GPU();
  Problem p(GetParam());
  const std::int64_t heads = p.shape.heads;
  const auto host_d_gate = p.random.Fp32(p.shape.rows * heads);
  const auto u = GuardedMemory::Bf16(p.u);
  const GuardedMemory d_gate(host_d_gate);
  const GuardedMemory scratch(GateScratchBytes(p.shape.rows, heads));
  for (const double before : {0.0, 3.0}) {
    const GuardedMemory out(
        std::vector<float>(static_cast<std::size_t>(heads * 32), static_cast<float>(before)));
    ASSERT_OK(GateWeightGradient(d_gate.as<float>(), u.data(), p.u_pitch(), p.shape.rows, heads,
                                 before != 0, out.as<float>(), scratch.data(), nullptr));
    EXPECT_LT(
        RelativeError(HostFp32(out.data(), heads * 32),
                      [&](std::size_t i) {
                        double sum = before;
                        for (std::int64_t row = 0; row < p.shape.rows; ++row) {
                          const auto at = row * heads + static_cast<std::int64_t>(i) / 32;
                          const auto column = row * p.u_pitch() + static_cast<std::int64_t>(i) % 32;
                          sum += static_cast<double>(host_d_gate[static_cast<std::size_t>(at)]) *
                                 static_cast<double>(p.u[static_cast<std::size_t>(column)]);
                        }
                        return sum;
                      }),
        1e-5);
    EXPECT_TRUE(out.GuardsIntact());
  }
  EXPECT_TRUE(scratch.GuardsIntact());
}

std::string ShapeName(const ::testing::TestParamInfo<QkRopeShape>& info) {
  return ::testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(Shapes, QkRopeTest,
                         ::testing::Values(QkRopeShape{210, 70, 4}, QkRopeShape{33, 11, 3},
                                           QkRopeShape{1, 1, 1}, QkRopeShape{300, 2048, 2}),
                         ShapeName);

TEST(QkRope, ATokenOutsideTheVocabularyShowsAsNan) {
  SKIP_WITHOUT_GPU();
  Problem p({4, 4, 1});
  const GuardedMemory rope(RopeTable(4));
  const auto qkv = GuardedMemory::Bf16(p.qkv);
  const auto table = GuardedMemory::Bf16(p.table);
  const auto u = GuardedMemory::Bf16(p.u);
  const auto gate_weight = GuardedMemory::Bf16(p.gate_weight);
  const GuardedMemory ids(std::vector<std::int32_t>{0, kVocab, -1, 1});
  const GuardedMemory inverse_rms(8 * sizeof(float));
  const GuardedMemory gate(4 * sizeof(float));
  ASSERT_OK(QkRope(qkv.data(), rope.data(), inverse_rms.as<float>(),
                   {table.data(), kVocab, ids.as<std::int32_t>(), u.data(), p.u_pitch(),
                    gate_weight.data(), gate.as<float>()},
                   p.shape, nullptr));
  const auto got = HostBf16(qkv.data(), 4 * p.pitch());
  for (const std::int64_t row : {0, 1, 2, 3}) {
    EXPECT_EQ(std::isnan(p.HeadOf(got, row, 2)[5]), row == 1 || row == 2) << row;
  }
}

TEST(QkRope, RefusesEmptyShapes) {
  EXPECT_EQ(QkRope(nullptr, nullptr, nullptr, {}, {0, 4, 4}, nullptr).error().code,
            pawl::Code::kInvalidArgument);
  EXPECT_EQ(QkRopeBackward(nullptr, nullptr, nullptr, nullptr, {4, 4, 0}, nullptr).error().code,
            pawl::Code::kInvalidArgument);
  EXPECT_EQ(
      GateWeightGradient(nullptr, nullptr, 0, 4, 33, false, nullptr, nullptr, nullptr).error().code,
      pawl::Code::kInvalidArgument);
}

}  // namespace
}  // namespace lab::cuda
