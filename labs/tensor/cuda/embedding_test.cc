// Against fp64 sums on the CPU, on token counts of natural shape: a few own most of the batch, many
// have none.
#include "tensor/cuda/embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {

// GoogleTest and ctest name tests after it.
static void PrintTo(const EmbeddingShape& shape, std::ostream* out) {
  *out << "Tokens" + std::to_string(shape.rows) + "Vocab" + std::to_string(shape.vocab) + "Width" +
              std::to_string(shape.width);
}

namespace {

constexpr std::int64_t kHeadDim = 128;
constexpr double kFp32Tolerance = 1e-5;

struct Problem {
  EmbeddingShape shape;
  RandomValues random;
  std::vector<std::int32_t> ids;
  TokenOrder order;
  std::int64_t pitch;
  std::vector<float> d_out, table, gate;

  explicit Problem(const EmbeddingShape& s) : shape(s), pitch(3 * s.width) {
    // Log-uniform over three quarters of the vocabulary, a fifth of all of one token.
    std::uniform_real_distribution<double> unit(0, 1);
    const double last = 0.75 * static_cast<double>(s.vocab);
    for (std::int64_t i = 0; i < s.rows; ++i) {
      const double drawn = std::exp(unit(random.engine()) * std::log(last + 1)) - 1;
      ids.push_back(unit(random.engine()) < 0.2 ? 5 % static_cast<std::int32_t>(s.vocab)
                                                : static_cast<std::int32_t>(drawn));
    }
    auto ordered = OrderTokens(ids, s.vocab);
    EXPECT_TRUE(ordered.ok());
    order = std::move(*ordered);
    d_out = random.Bf16(s.rows * pitch);
    table = random.Bf16(s.vocab * s.width);
    gate = random.Fp32(s.rows * heads());
    for (float& g : gate) g += 1.0F;
  }
  std::int64_t heads() const { return shape.width / kHeadDim; }
  double DOut(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(d_out[static_cast<std::size_t>(row * pitch + column)]);
  }
  double Gate(std::int64_t row, std::int64_t head) const {
    return static_cast<double>(gate[static_cast<std::size_t>(row * heads() + head)]);
  }
  std::vector<double> WantedTable(double before, bool gated) const {
    std::vector<double> sums(table.size(), before);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const std::int64_t id = ids[static_cast<std::size_t>(row)];
      for (std::int64_t c = 0; c < shape.width; ++c) {
        sums[static_cast<std::size_t>(id * shape.width + c)] +=
            DOut(row, c) * (gated ? Gate(row, c / kHeadDim) : 1.0);
      }
    }
    return sums;
  }
  std::vector<double> WantedGate() const {
    std::vector<double> want;
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const std::int64_t id = ids[static_cast<std::size_t>(row)];
      for (std::int64_t head = 0; head < heads(); ++head) {
        double dot = 0;
        for (std::int64_t c = head * kHeadDim; c < (head + 1) * kHeadDim; ++c) {
          dot += DOut(row, c) *
                 static_cast<double>(table[static_cast<std::size_t>(id * shape.width + c)]);
        }
        // g = 2 sigmoid(z): dg/dz = 2 sigmoid (1 - sigmoid).
        const double sigmoid = Gate(row, head) / 2;
        want.push_back(2 * sigmoid * (1 - sigmoid) * dot);
      }
    }
    return want;
  }
};

// The tensors of a problem on the device.
struct OnDevice {
  GuardedMemory ids, positions, offsets, d_out, table, gate, d_table, d_gate, scratch;

  OnDevice(const Problem& p, float before)
      : ids(p.ids),
        positions(p.order.positions),
        offsets(p.order.offsets),
        d_out(GuardedMemory::Bf16(p.d_out)),
        table(GuardedMemory::Bf16(p.table)),
        gate(p.gate),
        d_table(std::vector<float>(p.table.size(), before)),
        d_gate(p.gate.size() * sizeof(float)),
        scratch(EmbeddingScratchBytes(p.shape)) {}

  EmbeddingGradientArgs Args(const Problem& p, bool accumulate) const {
    return {d_out.data(),
            p.pitch,
            {ids.as<std::int32_t>(), positions.as<std::int32_t>(), offsets.as<std::int32_t>()},
            d_table.as<float>(),
            accumulate,
            scratch.data()};
  }
  bool GuardsIntact() const {
    return d_table.GuardsIntact() && d_gate.GuardsIntact() && scratch.GuardsIntact();
  }
};

class EmbeddingTest : public ::testing::TestWithParam<EmbeddingShape> {};

TEST_P(EmbeddingTest, GatherCopiesRows) {
  SKIP_WITHOUT_GPU();
  const Problem p(GetParam());
  const GuardedMemory ids(p.ids);
  const auto table = GuardedMemory::Bf16(p.table);
  const GuardedMemory out(static_cast<std::size_t>(p.shape.rows * p.shape.width) * 2);
  ASSERT_OK(EmbeddingGather(table.data(), ids.as<std::int32_t>(), out.data(), p.shape, nullptr));
  std::vector<float> want;
  for (const std::int32_t id : p.ids) {
    const auto begin = p.table.begin() + id * p.shape.width;
    want.insert(want.end(), begin, begin + p.shape.width);
  }
  EXPECT_EQ(HostBf16(out.data(), p.shape.rows * p.shape.width), want);
  EXPECT_TRUE(out.GuardsIntact());
}

TEST_P(EmbeddingTest, GradientEqualsReference) {
  SKIP_WITHOUT_GPU();
  const Problem p(GetParam());
  for (const bool accumulate : {false, true}) {
    // Without accumulation the poison must be gone, for ids without tokens, too.
    const OnDevice d(p, accumulate ? 2.5F : NAN);
    ASSERT_OK(EmbeddingGradient(d.Args(p, accumulate), p.shape, nullptr));
    const auto want = p.WantedTable(accumulate ? 2.5 : 0, false);
    EXPECT_LT(RelativeError(HostFp32(d.d_table.data(), p.shape.vocab * p.shape.width),
                            [&](std::size_t i) { return want[i]; }),
              kFp32Tolerance);
    EXPECT_TRUE(d.GuardsIntact());
  }
}

TEST_P(EmbeddingTest, ValueGradientEqualsReference) {
  SKIP_WITHOUT_GPU();
  const Problem p(GetParam());
  for (const bool accumulate : {false, true}) {
    const OnDevice d(p, accumulate ? 2.5F : NAN);
    ASSERT_OK(ValueEmbeddingGradient(
        {d.Args(p, accumulate), d.table.data(), d.gate.as<float>(), d.d_gate.as<float>()}, p.shape,
        nullptr));
    const auto want = p.WantedTable(accumulate ? 2.5 : 0, true);
    EXPECT_LT(RelativeError(HostFp32(d.d_table.data(), p.shape.vocab * p.shape.width),
                            [&](std::size_t i) { return want[i]; }),
              kFp32Tolerance);
    const auto want_gate = p.WantedGate();
    EXPECT_LT(RelativeError(HostFp32(d.d_gate.data(), p.shape.rows * p.heads()),
                            [&](std::size_t i) { return want_gate[i]; }),
              kFp32Tolerance);
    EXPECT_TRUE(d.GuardsIntact());
  }
}

TEST_P(EmbeddingTest, GradientHasTheSameBitsEveryTime) {
  SKIP_WITHOUT_GPU();
  const Problem p(GetParam());
  const std::int64_t count = p.shape.vocab * p.shape.width;
  std::vector<std::vector<std::uint32_t>> runs;
  for (int run = 0; run < 3; ++run) {
    const OnDevice d(p, NAN);
    ASSERT_OK(EmbeddingGradient(d.Args(p, false), p.shape, nullptr));
    runs.push_back(HostRows<std::uint32_t>(d.d_table.data(), 1, count, count));
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
}

std::string ShapeName(const ::testing::TestParamInfo<EmbeddingShape>& info) {
  return ::testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(Shapes, EmbeddingTest,
                         ::testing::Values(EmbeddingShape{1, 128, 1}, EmbeddingShape{31, 128, 7},
                                           EmbeddingShape{64, 384, 40}, EmbeddingShape{65, 640, 1},
                                           EmbeddingShape{3000, 512, 300},
                                           EmbeddingShape{200, 2048, 64}),
                         ShapeName);

TEST(Embedding, OrderKeepsEveryTokenOnceAndNamesOneThatIsNone) {
  const std::vector<std::int32_t> ids{3, 0, 3, 1, 0, 3};
  const auto order = OrderTokens(ids, 5);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->positions, (std::vector<std::int32_t>{1, 4, 3, 0, 2, 5}));
  EXPECT_EQ(order->offsets, (std::vector<std::int32_t>{0, 2, 3, 3, 6, 6}));
  for (const std::int32_t bad : {-1, 5}) {
    const auto refused = OrderTokens(std::vector<std::int32_t>{0, bad}, 5);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, pawl::Code::kInvalidArgument);
    EXPECT_NE(refused.error().Text().find(std::to_string(bad)), std::string::npos);
  }
}

TEST(Embedding, GatherMarksATokenOutsideTheVocabulary) {
  SKIP_WITHOUT_GPU();
  const EmbeddingShape shape{3, 128, 4};
  const auto table = GuardedMemory::Bf16(std::vector<float>(4 * 128, 1.0F));
  const GuardedMemory ids(std::vector<std::int32_t>{0, 4, -1});
  const GuardedMemory out(3 * 128 * 2);
  ASSERT_OK(EmbeddingGather(table.data(), ids.as<std::int32_t>(), out.data(), shape, nullptr));
  const auto got = HostBf16(out.data(), 3 * 128);
  EXPECT_EQ(got[5], 1.0F);
  EXPECT_TRUE(std::isnan(got[128 + 5]));
  EXPECT_TRUE(std::isnan(got[256 + 5]));
}

TEST(Embedding, RefusesWidthsThatItCannotRead) {
  for (const std::int64_t width : {0, 64, 200, 2176}) {
    EXPECT_EQ(EmbeddingGather(nullptr, nullptr, nullptr, {4, width, 4}, nullptr).error().code,
              pawl::Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lab::cuda
