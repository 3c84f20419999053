// Testing by betting: wealth that cannot grow in expectation while a hypothesis holds. Reaching
// 1/alpha has probability at most alpha however often one looks (Ville 1939).
//
// Formulas: the mixture over fixed bets of the capital process in Waudby-Smith and Ramdas,
// "Estimating means of bounded random variables by betting" (JRSS B 2024), on clipped differences.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "measure/score.h"

namespace pawl::measure {

// The evidence of one block: `difference` in units of `scale`, cut at -1 and 1, so that a wild run
// counts no more than a clear one. Infinite differences are allowed.
double ClippedScore(double difference, double scale);

// E = mean over lambda in {0.1, ..., 0.9} * 0.999 of the product of (1 + lambda * g).
// Non-negative; a supermartingale while E[g | past] <= 0.
class BettingProcess {
 public:
  static constexpr std::size_t kBets = 9;

  BettingProcess() { capital_.fill(1); }
  void Bet(double g);  // -1 <= g <= 1
  double wealth() const;

 private:
  std::array<double, kBets> capital_{};
};

// Most blocks for which no capital overflows.
constexpr std::size_t kMostBlocks = 1000;

// All effects that neither of the two one-sided processes has refuted at alpha / 2: valid at every
// number of blocks at once (a confidence sequence). Ends are infinite while too few blocks are in.
Interval ConfidenceSequence(std::span<const double> effects, double scale, double alpha);

}  // namespace pawl::measure
