#include "measure/noise.h"

#include <bit>
#include <cmath>

namespace pawl::measure {

RandomSource::RandomSource(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    word = z ^ (z >> 31);
  }
}

std::uint64_t RandomSource::Word() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double RandomSource::Uniform() {
  return (static_cast<double>(Word() >> 11) + 0.5) * 0x1p-53;
}

double RandomSource::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u = 0;
  double v = 0;
  double s = 0;
  do {
    u = 2 * Uniform() - 1;
    v = 2 * Uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double factor = std::sqrt(-2 * std::log(s) / s);
  spare_ = v * factor;
  has_spare_ = true;
  return u * factor;
}

double RandomSource::Exponential() {
  return -std::log(Uniform());
}

std::string_view NoiseShapeName(NoiseShape shape) {
  switch (shape) {
    case NoiseShape::kGaussian:
      return "Gaussian";
    case NoiseShape::kHeavyTailed:
      return "heavy-tailed";
    case NoiseShape::kSpiky:
      return "spiky";
    case NoiseShape::kDrifting:
      return "drifting";
  }
  return "";
}

double NoisyRuns::Next() {
  constexpr double kStudentSpread = 1.1340;  // 1.4826 * the upper quartile of t with 3
  constexpr double kSpikeShare = 0.05;
  double x = random_->Normal();
  switch (model_.shape) {
    case NoiseShape::kGaussian:
      break;
    case NoiseShape::kHeavyTailed: {
      double squares = 0;
      for (int i = 0; i < 3; ++i) {
        const double z = random_->Normal();
        squares += z * z;
      }
      x /= kStudentSpread * std::sqrt(squares / 3);
      break;
    }
    case NoiseShape::kSpiky:
      if (random_->Uniform() < kSpikeShare) x += 2 + 8 * random_->Exponential();
      break;
    case NoiseShape::kDrifting:
      walk_ += model_.drift_step * random_->Normal();
      x += walk_;
      break;
  }
  return model_.spread * x;
}

std::vector<double> NoisyRuns::Take(std::uint32_t count) {
  std::vector<double> out(count);
  for (double& score : out) score = Next();
  return out;
}

}  // namespace pawl::measure
