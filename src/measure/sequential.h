// The procedure for expensive runs with seed noise: few candidate runs, on seeds that Pawl hands
// out, against a pool of incumbent runs, looked at after 1, 2, 4 and 8 of them. Nulls are dropped
// early; a keep needs the bound at its look, then fresh incumbent runs made beside the candidate's,
// and the bound again with them in the pool.
//
// At a look with k runs against a pool of m, with s the pooled seed spread of `freedom` degrees,
//   z_k = (mean_pool - mean_k - min_gain) / (s * sqrt(1/k + 1/m))
//   keep    z_k > t * min(keep_top, keep_final / sqrt(I_k)),
//           I_k = (1/k + 1/m)^-1 / (1/K + 1/m)^-1 for the last look K   (the shape of
//           O'Brien and Fleming 1979, cut at the top)
//   no gain z_k < futility[look], or the last look without a keep
//   t = t_{0.99, freedom} / z_0.99 pays for a spread that few runs told.
// Runs without a result (NaN, a crash) count as the worst score that clipping allows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/coin.h"
#include "measure/pool.h"
#include "measure/score.h"

namespace pawl::measure {

constexpr std::size_t kLooks = 4;

struct SequentialOptions {
  double min_gain = 0;  // least effect that is worth a keep
  std::array<std::uint32_t, kLooks> looks = {1, 2, 4, 8};
  std::array<double, kLooks> futility = {-0.05, 0.3, 0.9, 0};  // the last look always ends it
  // Incumbent runs interleaved with the runs of each look.
  std::array<std::uint32_t, kLooks> refreshes = {0, 0, 1, 1};
  double keep_top = 4;
  double keep_final = 2.25;
  std::uint32_t least_runs = 2;  // a keep on one seed is a keep by luck
  std::uint32_t fresh_runs = 4;  // incumbent runs of this experiment that a keep needs
  double fresh_bound = 1;        // z against those alone
  std::uint32_t failed_incumbents = 3;
  std::uint32_t restarts = 3;  // after drift
  PoolOptions pool;

  // Of one attempt, where no incumbent run fails.
  std::uint32_t MostRuns() const;
};

struct SequentialRun {
  Arm arm = Arm::kCandidate;
  double score = 0;  // NaN: the run has no result
};

enum class SequentialOutcome : std::uint8_t {
  kOpen,
  kKeep,
  kNoGain,
  kDrifted,          // refill the pool, then start the candidate's next attempt
  kIncumbentFailed,  // the incumbent has no results; nothing can be said
};

struct SequentialStep {
  SequentialOutcome outcome = SequentialOutcome::kOpen;
  Arm next = Arm::kCandidate;  // when open: whose run
  std::uint32_t seed = 0;      // and with which seed
  std::uint32_t candidate_runs = 0, incumbent_runs = 0;
  std::uint32_t failed_seeds = 0;  // candidate runs without a result: to be reported
  double z = 0;                    // at the last look
  double bound = 0;                // that z had to exceed
  // Once it is not open any more:
  double effect = 0;      // pool mean - clipped candidate mean; selected, never a claim
  Interval interval;      // of the effect, 95 %, were this the only look
  double detectable = 0;  // effect that all looks together find in 9 of 10 cases
  IncumbentPool pool;     // with this experiment's incumbent runs
};

// What follows after `runs`, in the order in which they were made. A function of its arguments
// alone, so a restart goes on where the records end; the seeds of attempt `attempt` differ from
// those of others. Runs beyond a decision or of the other arm than asked for are an error.
Result<SequentialStep> NextSequential(const IncumbentPool& pool, const SequentialOptions& options,
                                      const Coin& coin, std::uint32_t attempt,
                                      std::span<const SequentialRun> runs);

// The pool for the next experiment: the refreshes, and what the candidate's runs tell of the
// spread.
IncumbentPool PoolAfter(const SequentialStep& last, std::span<const SequentialRun> runs,
                        const SequentialOptions& options);

}  // namespace pawl::measure
