// Against fp64 on the CPU with poisoned outputs; the small vocabulary by central differences.
#include "tensor/cuda/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {

// GoogleTest and ctest name tests after it.
static void PrintTo(const CrossEntropyShape& shape, std::ostream* out) {
  *out << std::to_string(shape.rows) + "x" + std::to_string(shape.vocab) + "Cap" +
              std::to_string(static_cast<int>(shape.softcap));
}

namespace {

constexpr double kScale = 0.125;

double Loss(const std::vector<double>& z, std::size_t target, double softcap) {
  double sum = 0;
  for (const double value : z) sum += std::exp(softcap * std::tanh(value / softcap));
  return std::log(sum) - softcap * std::tanh(z[target] / softcap);
}

std::vector<double> Gradient(const std::vector<double>& z, std::size_t target, double softcap) {
  const auto loss = [&](const std::vector<double>& at) { return Loss(at, target, softcap); };
  if (z.size() <= 64) return NumericGradient(z, loss);
  double sum = 0;
  for (const double value : z) sum += std::exp(softcap * std::tanh(value / softcap));
  std::vector<double> d(z.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double t = std::tanh(z[i] / softcap);
    d[i] = (std::exp(softcap * t) / sum - (i == target ? 1 : 0)) * (1 - t * t);
  }
  return d;
}

struct Chunk {
  CrossEntropyShape shape;
  std::vector<float> logits;
  std::vector<std::int32_t> targets;

  std::vector<double> Row(std::size_t row) const {
    const auto begin = logits.begin() + static_cast<std::int64_t>(row) * shape.vocab;
    return {begin, begin + shape.vocab};
  }
};

Chunk MakeChunk(const CrossEntropyShape& shape) {
  RandomValues random;
  Chunk chunk{shape, random.Bf16(shape.rows * shape.vocab, 8), {}};
  std::uniform_int_distribution<std::int32_t> any(0, static_cast<std::int32_t>(shape.vocab) - 1);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    chunk.targets.push_back(any(random.engine()));
  }
  chunk.targets.front() = static_cast<std::int32_t>(shape.vocab) - 1;
  chunk.targets.back() = 0;
  chunk.logits[1] = 300;  // far beyond the cap
  chunk.logits[2] = -300;
  return chunk;
}

class CrossEntropyTest : public ::testing::TestWithParam<CrossEntropyShape> {};

TEST_P(CrossEntropyTest, EqualsReference) {
  SKIP_WITHOUT_GPU();
  const CrossEntropyShape shape = GetParam();
  const auto softcap = static_cast<double>(shape.softcap);
  const Chunk chunk = MakeChunk(shape);
  const auto logits = GuardedMemory::Bf16(chunk.logits);
  const GuardedMemory targets(chunk.targets);
  GuardedMemory loss(static_cast<std::size_t>(shape.rows) * sizeof(float));
  ASSERT_OK(CrossEntropyLoss(logits.data(), targets.as<std::int32_t>(), loss.as<float>(), shape,
                             nullptr));
  const auto evaluated = HostFp32(loss.data(), shape.rows);
  EXPECT_EQ(HostBf16(logits.data(), shape.rows * shape.vocab), chunk.logits);

  loss.Poison();
  ASSERT_OK(CrossEntropy(logits.data(), targets.as<std::int32_t>(), loss.as<float>(),
                         static_cast<float>(kScale), shape, nullptr));
  EXPECT_EQ(HostFp32(loss.data(), shape.rows), evaluated);
  std::vector<double> want;
  for (std::size_t row = 0; row < chunk.targets.size(); ++row) {
    const auto z = chunk.Row(row);
    const auto target = static_cast<std::size_t>(chunk.targets[row]);
    EXPECT_NEAR(static_cast<double>(evaluated[row]), Loss(z, target, softcap), 2e-5) << row;
    for (const double d : Gradient(z, target, softcap)) want.push_back(kScale * d);
  }
  EXPECT_LT(RelativeError(HostBf16(logits.data(), shape.rows * shape.vocab),
                          [&](std::size_t i) { return want[i]; }),
            4e-3);
  EXPECT_TRUE(logits.GuardsIntact());
  EXPECT_TRUE(loss.GuardsIntact());
}

std::string ShapeName(const ::testing::TestParamInfo<CrossEntropyShape>& info) {
  return ::testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CrossEntropyTest,
    ::testing::Values(CrossEntropyShape{7, 8, 15}, CrossEntropyShape{33, 64, 15},
                      CrossEntropyShape{5, 4096, 15}, CrossEntropyShape{9, 5000, 15},
                      CrossEntropyShape{300, 8192, 15}, CrossEntropyShape{4, 16384, 30},
                      CrossEntropyShape{3, 32768, 40}),
    ShapeName);

TEST(CrossEntropy, IgnoresNegativeTargetsAndMarksImpossibleOnes) {
  SKIP_WITHOUT_GPU();
  constexpr CrossEntropyShape kShape{3, 64, 15};
  const Chunk chunk = MakeChunk(kShape);
  const auto logits = GuardedMemory::Bf16(chunk.logits);
  const GuardedMemory targets(std::vector<std::int32_t>{-1, 64, 63});
  const GuardedMemory loss(3 * sizeof(float));
  ASSERT_OK(CrossEntropy(logits.data(), targets.as<std::int32_t>(), loss.as<float>(), 1.0F, kShape,
                         nullptr));
  const auto losses = HostFp32(loss.data(), 3);
  EXPECT_EQ(losses[0], 0.0F);
  EXPECT_TRUE(std::isnan(losses[1]));
  EXPECT_TRUE(std::isfinite(losses[2]));
  for (const float d : HostBf16(logits.data(), 64)) EXPECT_EQ(d, 0.0F);
}

TEST(CrossEntropy, RefusesShapesThatItCannotHold) {
  for (const CrossEntropyShape& shape :
       {CrossEntropyShape{0, 64, 15}, CrossEntropyShape{1, 65, 15}, CrossEntropyShape{1, 32776, 15},
        CrossEntropyShape{1, 64, 0}, CrossEntropyShape{1, 64, 41}, CrossEntropyShape{1, 64, NAN}}) {
    EXPECT_EQ(CrossEntropy(nullptr, nullptr, nullptr, 1.0F, shape, nullptr).error().code,
              pawl::Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lab::cuda
