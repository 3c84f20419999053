#include "measure/distributions.h"

#include <cmath>
#include <numbers>

namespace pawl::measure {
namespace {

// Lentz's continued fraction for the incomplete beta function; converges fast for
// x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kSteps = 500;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int m = 1; m <= kSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return h;
}

// The x in [low, high] at which the increasing `f` reaches `target`.
template <class F>
double Solve(F f, double target, double low, double high) {
  for (int i = 0; i < 200 && high - low > 1e-13 * (1 + std::abs(low)); ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) < target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// std::lgamma writes a global.
double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double NormalDensity(double x) {
  constexpr double kRootTwoPi = 2.5066282746310002;
  return std::exp(-0.5 * x * x) / kRootTwoPi;
}

double StudentDensity(double t, double freedom) {
  const double log_front = LogGamma(0.5 * (freedom + 1)) - LogGamma(0.5 * freedom) -
                           0.5 * std::log(freedom * std::numbers::pi);
  return std::exp(log_front - 0.5 * (freedom + 1) * std::log1p(t * t / freedom));
}

double StudentCdf(double t, double freedom) {
  const double tail = 0.5 * IncompleteBeta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
  return t > 0 ? 1 - tail : tail;
}

}  // namespace

double NormalCdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

double NormalQuantile(double p) {
  if (p > 0.5) return -NormalQuantile(1 - p);
  // Abramowitz and Stegun 26.2.23 (off by less than 5e-4), then Newton.
  const double t = std::sqrt(-2 * std::log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i) x -= (NormalCdf(x) - p) / NormalDensity(x);
  return x;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

double StudentQuantile(double p, double freedom) {
  if (p > 0.5) return -StudentQuantile(1 - p, freedom);
  // First order of Cornish and Fisher; from there Newton climbs the convex lower tail.
  const double z = NormalQuantile(p);
  double t = z + (z * z * z + z) / (4 * freedom);
  for (int i = 0; i < 60; ++i) {
    const double step = (StudentCdf(t, freedom) - p) / StudentDensity(t, freedom);
    t -= step;
    if (std::abs(step) < 1e-11 * (1 + std::abs(t))) return t;
    if (t > 0) t = 0;
  }
  double low = -1;
  while (StudentCdf(low, freedom) > p) low *= 2;
  return Solve([freedom](double x) { return StudentCdf(x, freedom); }, p, low, 0);
}

Interval BinomialInterval(std::uint64_t hits, std::uint64_t trials, double confidence) {
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(hits);
  const auto n = static_cast<double>(trials);
  Interval out{0, 1};
  if (hits > 0)
    out.low = Solve([&](double p) { return IncompleteBeta(k, n - k + 1, p); }, tail, 0, 1);
  if (hits < trials)
    out.high = Solve([&](double p) { return IncompleteBeta(k + 1, n - k, p); }, 1 - tail, 0, 1);
  return out;
}

}  // namespace pawl::measure
