#include "measure/pool.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/text.h"
#include "measure/spread.h"

namespace pawl::measure {
namespace {

constexpr std::size_t kLeastStart = 4;
constexpr std::size_t kJumpRuns = 3;

Status NeedFinite(std::span<const double> scores, std::size_t least) {
  const bool finite =
      std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); });
  if (finite && scores.size() >= least) return OkStatus();
  return MakeError(Code::kInvalidArgument,
                   Format("an incumbent pool needs {} runs with a result", least));
}

void Place(IncumbentPool& pool, std::span<const double> scores, const PoolOptions& options) {
  const std::size_t count = std::min<std::size_t>(scores.size(), options.size);
  pool.runs.assign(scores.end() - static_cast<std::ptrdiff_t>(count), scores.end());
  pool.chart_centre = Mean(scores);
  pool.chart_up = 0;
  pool.chart_down = 0;
}

bool Jumped(const IncumbentPool& pool, const PoolOptions& options) {
  if (pool.runs.size() < 2 * kJumpRuns) return false;
  const std::span<const double> runs(pool.runs);
  const std::size_t others = runs.size() - kJumpRuns;
  const double gap = std::abs(Mean(runs.subspan(others)) - Mean(runs.first(others)));
  const double error = pool.SeedSpread() * std::sqrt(1.0 / static_cast<double>(kJumpRuns) +
                                                     1.0 / static_cast<double>(others));
  return gap > options.jump_limit * error;
}

}  // namespace

double IncumbentPool::SeedSpread() const {
  return std::sqrt(squares / freedom);
}

double IncumbentPool::Mean() const {
  return measure::Mean(runs);
}

Result<IncumbentPool> StartPool(std::span<const double> scores, const PoolOptions& options) {
  PAWL_TRY(NeedFinite(scores, kLeastStart));
  IncumbentPool pool;
  const double spread = StandardDeviation(scores);
  if (!(spread > 0)) {
    return MakeError(Code::kInvalidArgument, "the incumbent's runs are all the same: no seed noise",
                     "measure a metric without noise by two agreeing runs");
  }
  pool.freedom = static_cast<double>(scores.size() - 1);
  pool.squares = spread * spread * pool.freedom;
  Place(pool, scores, options);
  return pool;
}

bool AddRefresh(IncumbentPool& pool, double score, const PoolOptions& options) {
  const double spread = pool.SeedSpread();
  const auto m = static_cast<double>(pool.runs.size());
  // One degree of freedom: the run against the mean of the others, scaled to variance 1.
  const double residual = (score - pool.Mean()) / std::sqrt(1 + 1 / m);
  const double clipped = std::clamp(residual, -options.clip * spread, options.clip * spread);
  const double step = std::clamp((score - pool.chart_centre) / spread, -options.clip, options.clip);
  pool.chart_up = std::max(0.0, pool.chart_up + step - options.chart_slack);
  pool.chart_down = std::max(0.0, pool.chart_down - step - options.chart_slack);
  pool.runs.push_back(score);
  if (pool.runs.size() > options.size) pool.runs.erase(pool.runs.begin());
  const bool drifted = pool.chart_up > options.chart_limit ||
                       pool.chart_down > options.chart_limit || Jumped(pool, options);
  pool.squares += clipped * clipped;
  pool.freedom += 1;
  return drifted;
}

Status RefillPool(IncumbentPool& pool, std::span<const double> scores, const PoolOptions& options) {
  PAWL_TRY(NeedFinite(scores, 2));
  LearnSpread(pool, scores, options);
  Place(pool, scores, options);
  return OkStatus();
}

void LearnSpread(IncumbentPool& pool, std::span<const double> scores, const PoolOptions& options) {
  std::vector<double> finite;
  for (const double score : scores)
    if (std::isfinite(score)) finite.push_back(score);
  if (finite.size() < 2) return;
  const double limit = options.clip * pool.SeedSpread();
  const double centre = Mean(finite);
  for (const double score : finite) {
    const double deviation = std::clamp(score - centre, -limit, limit);
    pool.squares += deviation * deviation;
  }
  pool.freedom += static_cast<double>(finite.size() - 1);
}

}  // namespace pawl::measure
