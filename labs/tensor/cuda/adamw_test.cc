// Against the update written out in fp64.
#include "tensor/cuda/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tensor/cuda/gpu_test.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kCount = 8 * 5003;  // the last block is not full

struct State {
  std::vector<float> parameter, first, second, gradient;
};

State MakeState() {
  RandomValues random;
  State state{random.Bf16(kCount, 2), random.Bf16(kCount, 0.1), random.Bf16(kCount, 0.01),
              random.Fp32(kCount, 0.2)};
  for (float& v : state.second) v = std::abs(v);
  return state;
}

struct Wanted {
  double parameter, first, second;
};

Wanted Update(const State& state, std::size_t i, double rate, double beta1, double beta2,
              double epsilon, double decay, int t) {
  const double g = static_cast<double>(state.gradient[i]);
  Wanted w{};
  w.first = beta1 * static_cast<double>(state.first[i]) + (1 - beta1) * g;
  w.second = beta2 * static_cast<double>(state.second[i]) + (1 - beta2) * g * g;
  const double first = w.first / (1 - std::pow(beta1, t));
  const double second = w.second / (1 - std::pow(beta2, t));
  w.parameter = static_cast<double>(state.parameter[i]) * (1 - rate * decay) -
                rate * first / (std::sqrt(second) + epsilon);
  return w;
}

void ExpectUpdated(AdamWState kind, double tolerance) {
  const State state = MakeState();
  const auto upload = [&](const std::vector<float>& values) {
    return kind == AdamWState::kFp32 ? GuardedMemory(values) : GuardedMemory::Bf16(values);
  };
  const auto download = [&](const GuardedMemory& memory) {
    return kind == AdamWState::kFp32 ? HostFp32(memory.data(), kCount)
                                     : HostBf16(memory.data(), kCount);
  };
  const GuardedMemory parameter = upload(state.parameter);
  const GuardedMemory first = upload(state.first);
  const GuardedMemory second = upload(state.second);
  const GuardedMemory gradient(state.gradient);
  const GuardedMemory copy(kCount * 2);
  const GuardedMemory step(std::vector<AdamWStep>{MakeAdamWStep(0.7, 0.8, 0.95, 1e-10, 0.01, 3)});
  ASSERT_OK(AdamW({kind, kCount, parameter.data(), first.data(), second.data(),
                   gradient.as<float>(), copy.data(), step.as<AdamWStep>()},
                  nullptr));
  const auto wanted = [&](std::size_t i) {
    return Update(state, i, 0.7, 0.8, 0.95, 1e-10, 0.01, 3);
  };
  const auto got = download(parameter);
  EXPECT_LT(RelativeError(got, [&](std::size_t i) { return wanted(i).parameter; }), tolerance);
  EXPECT_LT(RelativeError(download(first), [&](std::size_t i) { return wanted(i).first; }),
            tolerance);
  EXPECT_LT(RelativeError(download(second), [&](std::size_t i) { return wanted(i).second; }),
            tolerance);
  const auto copied = HostBf16(copy.data(), kCount);
  for (std::size_t i = 0; i < copied.size(); ++i) {
    ASSERT_EQ(copied[i], FromBf16(ToBf16(got[i]))) << i;
  }
  for (const auto* memory : {&parameter, &first, &second, &copy}) {
    EXPECT_TRUE(memory->GuardsIntact());
  }
}

TEST(AdamW, EqualsReferenceInFp32) {
  SKIP_WITHOUT_GPU();
  ExpectUpdated(AdamWState::kFp32, 1e-6);
}

TEST(AdamW, EqualsReferenceInBf16) {
  SKIP_WITHOUT_GPU();
  ExpectUpdated(AdamWState::kBf16, 4e-3);
}

TEST(AdamW, ARateOfZeroLeavesTheParameterBitForBit) {
  SKIP_WITHOUT_GPU();
  const State state = MakeState();
  const GuardedMemory parameter(state.parameter);
  const GuardedMemory first(state.first);
  const GuardedMemory second(state.second);
  const GuardedMemory gradient(state.gradient);
  const GuardedMemory step(std::vector<AdamWStep>{MakeAdamWStep(0, 0.8, 0.95, 1e-10, 0.1, 1)});
  ASSERT_OK(AdamW({AdamWState::kFp32, kCount, parameter.data(), first.data(), second.data(),
                   gradient.as<float>(), nullptr, step.as<AdamWStep>()},
                  nullptr));
  EXPECT_EQ(HostFp32(parameter.data(), kCount), state.parameter);
  EXPECT_NE(HostFp32(first.data(), kCount), state.first);
}

TEST(AdamW, RefusesCountsThatAreNoMultipleOfEight) {
  for (const std::int64_t count : {0, 12}) {
    AdamWArgs args;
    args.count = count;
    EXPECT_EQ(AdamW(args, nullptr).error().code, pawl::Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lab::cuda
