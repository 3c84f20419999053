// What is known about the incumbent of an expensive metric: its last runs, the seed noise pooled
// over everything that was ever run more than once, and a chart that notices when the machine or
// the data moved under it. Plain data in, plain data out; the caller stores it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace pawl::measure {

struct PoolOptions {
  std::uint32_t size = 10;   // most recent incumbent runs that are compared with
  double clip = 4;           // deviations count up to so many seed spreads
  double chart_slack = 0.5;  // CUSUM (Page 1954), in seed spreads
  double chart_limit = 5;
  double jump_limit = 3;  // of the last three runs against the others, in standard errors
};

struct IncumbentPool {
  std::vector<double> runs;  // scores, oldest first, at most PoolOptions::size
  double squares = 0;        // sum of squared deviations, pooled over groups
  double freedom = 0;        // and their degrees of freedom
  double chart_centre = 0;   // mean of the runs since the pool was last filled afresh
  double chart_up = 0, chart_down = 0;

  double SeedSpread() const;  // sqrt(squares / freedom)
  double Mean() const;
};

// At least four finite scores that are not all the same; an error otherwise.
Result<IncumbentPool> StartPool(std::span<const double> scores, const PoolOptions& options);

// Adds a run of the incumbent. True: it drifted, and the pool must be filled afresh (RefillPool)
// before anything is decided against it.
bool AddRefresh(IncumbentPool& pool, double score, const PoolOptions& options);

// Replaces the runs, after drift or after a keep; what is known about the spread stays. Needs two
// finite scores.
Status RefillPool(IncumbentPool& pool, std::span<const double> scores, const PoolOptions& options);

// Learns the spread from a candidate's finite scores; its deviations are clipped, so that one
// unstable candidate cannot blind the campaign.
void LearnSpread(IncumbentPool& pool, std::span<const double> scores, const PoolOptions& options);

}  // namespace pawl::measure
