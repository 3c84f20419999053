// Synthetic runs for simulation: four shapes of noise, from a generator whose stream is the same on
// every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pawl::measure {

// xoshiro256** (Blackman and Vigna 2021), seeded by splitmix64.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed);
  std::uint64_t Word();
  double Uniform();  // in (0, 1)
  double Normal();   // Marsaglia's polar method
  double Exponential();
  bool Flip() { return (Word() >> 63) != 0; }

 private:
  std::array<std::uint64_t, 4> state_{};
  double spare_ = 0;
  bool has_spare_ = false;
};

enum class NoiseShape : std::uint8_t {
  kGaussian,
  kHeavyTailed,  // Student's t with 3 degrees of freedom, scaled to a robust spread of 1
  kSpiky,        // Gaussian; one run in 20 is slower by 2 to 10 spreads and more (exponential tail)
  kDrifting,     // Gaussian and a random walk under it
};
constexpr std::array<NoiseShape, 4> kNoiseShapes = {NoiseShape::kGaussian, NoiseShape::kHeavyTailed,
                                                    NoiseShape::kSpiky, NoiseShape::kDrifting};
std::string_view NoiseShapeName(NoiseShape shape);

struct NoiseModel {
  NoiseShape shape = NoiseShape::kGaussian;
  double spread = 1;      // of one run
  double drift_step = 0;  // of kDrifting: step of the walk per run, in spreads
};

// The score of one run after another of a program whose true score is 0 (+ the walk).
class NoisyRuns {
 public:
  NoisyRuns(const NoiseModel& model, RandomSource& random) : model_(model), random_(&random) {}
  double Next();
  std::vector<double> Take(std::uint32_t count);

 private:
  NoiseModel model_;
  RandomSource* random_;
  double walk_ = 0;
};

}  // namespace pawl::measure
