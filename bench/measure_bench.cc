// What the arithmetic of a keep decision costs, beside the runs that it is about.
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/result.h"
#include "measure/claim.h"
#include "measure/noise.h"
#include "measure/paired.h"
#include "measure/sequential.h"

namespace {

using namespace pawl::measure;  // NOLINT(google-build-using-namespace)

template <class F>
void Time(const char* what, int times, F f) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) f();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  std::printf("%-62s %10.1f us\n", what, took.count() / times);
}

double sink = 0;

}  // namespace

int main() {
  RandomSource random(1);
  PairedOptions options;
  options.scale = 1.3;
  options.min_gain = -1;  // stays open over all blocks
  options.worth_seeing = 1;
  options.keep_alpha = 1e-300;
  options.futility_alpha = 1e-300;
  PairedTest test = PairedTest::Start(options).value();
  std::vector<double> effects;
  for (std::uint32_t i = 0; i + 1 < options.cap; ++i) {
    effects.push_back(random.Normal());
    PAWL_CHECK(test.Add({i, BlockStatus::kSound, effects.back()}).ok());
  }
  Time("paired: decision after block 120", 10'000, [&] {
    PairedTest copy = test;
    PAWL_CHECK(copy.Add({119, BlockStatus::kSound, 0.1}).ok());
    sink += copy.state().keep_wealth;
  });
  Time("paired: report after 119 blocks (effect, interval)", 300,
       [&] { sink += test.Report().interval.low; });

  std::vector<double> start(10);
  for (double& score : start) score = random.Normal();
  const SequentialOptions looks;
  const IncumbentPool pool = StartPool(start, looks.pool).value();
  const Coin coin("bench", 1);
  std::vector<SequentialRun> runs;
  for (;;) {
    const SequentialStep step = NextSequential(pool, looks, coin, 0, runs).value();
    if (step.outcome != SequentialOutcome::kOpen) break;
    runs.push_back({step.next, step.next == Arm::kCandidate ? -0.8 : 0.0});
  }
  char label[80];
  std::snprintf(label, sizeof label, "sequential: decision after %zu runs", runs.size());
  Time(label, 3000, [&] { sink += NextSequential(pool, looks, coin, 0, runs).value().z; });
  Time("claim: state after 60 blocks", 300,
       [&] { sink += NextClaim(ClaimOptions{}, std::span<const double>(effects).first(60)).gain; });
  return sink == 0 ? 1 : 0;
}
