#include "measure/distributions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::measure {
namespace {

TEST(NormalQuantile, HasTheTabulatedValues) {
  EXPECT_NEAR(NormalQuantile(0.99), 2.3263478740, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.025), -1.9599639845, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-9);
  EXPECT_NEAR(NormalQuantile(1e-10), -6.3613409024, 1e-8);
  for (int i = 1; i < 2000; ++i)
    EXPECT_NEAR(NormalCdf(NormalQuantile(i / 2000.0)), i / 2000.0, 1e-12);
}

TEST(StudentQuantile, HasTheTabulatedValues) {
  EXPECT_NEAR(StudentQuantile(0.99, 7), 2.9979515669, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.975, 3), 3.1824463053, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.99, 1), 31.820515954, 1e-6);
  EXPECT_NEAR(StudentQuantile(0.01, 20), -2.5279770027, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.99, 1e6), NormalQuantile(0.99), 1e-4);
}

TEST(IncompleteBeta, IsTheBinomialTail) {
  // P(at least 3 of 10 at 0.2) = I_0.2(3, 8).
  double below = 0;
  for (int k = 0; k < 3; ++k) {
    const double ways = std::exp(std::lgamma(11) - std::lgamma(k + 1) - std::lgamma(11 - k));
    below += ways * std::pow(0.2, k) * std::pow(0.8, 10 - k);
  }
  EXPECT_NEAR(IncompleteBeta(3, 8, 0.2), 1 - below, 1e-12);
  EXPECT_EQ(IncompleteBeta(3, 8, 0), 0);
  EXPECT_EQ(IncompleteBeta(3, 8, 1), 1);
}

TEST(BinomialInterval, IsExact) {
  const Interval some = BinomialInterval(3, 100, 0.95);
  EXPECT_NEAR(some.low, 0.006229972, 1e-8);
  EXPECT_NEAR(some.high, 0.085176053, 1e-8);
  const Interval none = BinomialInterval(0, 300, 0.95);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 1.0 / 300), 1e-9);
  EXPECT_EQ(BinomialInterval(5, 5, 0.9).high, 1);
}

}  // namespace
}  // namespace pawl::measure
