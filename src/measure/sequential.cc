#include "measure/sequential.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/text.h"
#include "measure/distributions.h"
#include "measure/spread.h"

namespace pawl::measure {
namespace {

constexpr std::uint32_t kSeedsOfAttempt = 256;

double StandardError(double spread, double k, double m) {
  return spread * std::sqrt(1 / k + 1 / m);
}

// Walks through the recorded runs and stops where they end.
class Walk {
 public:
  Walk(const IncumbentPool& pool, const SequentialOptions& options, const Coin& coin,
       std::uint32_t attempt, std::span<const SequentialRun> runs)
      : options_(options), coin_(coin), attempt_(attempt), runs_(runs) {
    step_.pool = pool;
    // The ruler is what it was before the experiment; its runs change only what is compared.
    spread_ = pool.SeedSpread();
    centre_ = Median(pool.runs);
    penalty_ = StudentQuantile(0.99, pool.freedom) / NormalQuantile(0.99);
  }

  Result<SequentialStep> Go() {
    for (std::size_t look = 0; look < kLooks; ++look) {
      std::vector<Arm> arms = Batch(look);
      if (options_.refreshes[look] > 0)
        coin_.Shuffle(attempt_ * kSeedsOfAttempt + static_cast<std::uint32_t>(look), arms);
      for (const Arm arm : arms) {
        PAWL_ASSIGN(const bool more, Take(arm));
        if (!more) return Finish();
      }
      Judge(look);
      while (step_.z > step_.bound && fresh_.size() < options_.fresh_runs) {
        PAWL_ASSIGN(const bool more, Take(Arm::kIncumbent));
        if (!more) return Finish();
        Judge(look);
      }
      if (step_.z > step_.bound && FreshAgree()) {
        step_.outcome = SequentialOutcome::kKeep;
      } else if (look + 1 == kLooks || step_.z < options_.futility[look]) {
        step_.outcome = SequentialOutcome::kNoGain;
      }
      if (step_.outcome != SequentialOutcome::kOpen) return Finish();
    }
    return Finish();
  }

 private:
  std::vector<Arm> Batch(std::size_t look) const {
    const std::uint32_t before = look == 0 ? 0 : options_.looks[look - 1];
    std::vector<Arm> arms(options_.looks[look] - before, Arm::kCandidate);
    arms.insert(arms.end(), options_.refreshes[look], Arm::kIncumbent);
    return arms;
  }

  // False when the walk ends here: no further record, or a decision.
  Result<bool> Take(Arm arm) {
    if (at_ == runs_.size()) {
      const std::uint32_t base = attempt_ * kSeedsOfAttempt;
      step_.next = arm;
      step_.seed = arm == Arm::kCandidate ? coin_.CandidateSeed(base + step_.candidate_runs)
                                          : coin_.IncumbentSeed(base + step_.incumbent_runs);
      return false;
    }
    const SequentialRun& run = runs_[at_++];
    if (run.arm != arm)
      return MakeError(Code::kConflict, Format("run {} is not of the arm that was due", at_));
    return arm == Arm::kCandidate ? TakeCandidate(run.score) : TakeIncumbent(run.score);
  }

  bool TakeCandidate(double score) {
    ++step_.candidate_runs;
    if (std::isnan(score)) ++step_.failed_seeds;
    const double limit = options_.pool.clip * spread_;
    candidate_.push_back(std::isnan(score) ? centre_ + limit
                                           : std::clamp(score, centre_ - limit, centre_ + limit));
    return true;
  }

  bool TakeIncumbent(double score) {
    ++step_.incumbent_runs;
    if (!std::isfinite(score)) {
      if (++failed_incumbents_ >= options_.failed_incumbents)
        step_.outcome = SequentialOutcome::kIncumbentFailed;
    } else {
      fresh_.push_back(score);
      if (AddRefresh(step_.pool, score, options_.pool)) step_.outcome = SequentialOutcome::kDrifted;
    }
    return step_.outcome == SequentialOutcome::kOpen;
  }

  // The pool's mean with each run clipped like the candidate's.
  double PoolMean() const {
    const double limit = options_.pool.clip * spread_;
    double sum = 0;
    for (const double score : step_.pool.runs)
      sum += std::clamp(score, centre_ - limit, centre_ + limit);
    return sum / static_cast<double>(step_.pool.runs.size());
  }

  void Judge(std::size_t look) {
    const auto k = static_cast<double>(candidate_.size());
    const auto m = static_cast<double>(step_.pool.runs.size());
    const double error = StandardError(spread_, k, m);
    const double last_error =
        StandardError(spread_, static_cast<double>(options_.looks[kLooks - 1]), m);
    step_.effect = Effect(PoolMean(), Mean(candidate_));
    step_.z = (step_.effect - options_.min_gain) / error;
    // sqrt(I_k) = last_error / error.
    step_.bound = penalty_ * std::min(options_.keep_top, options_.keep_final * error / last_error);
    if (options_.looks[look] < options_.least_runs)
      step_.bound = std::numeric_limits<double>::infinity();
  }

  bool FreshAgree() const {
    const double error = StandardError(spread_, static_cast<double>(candidate_.size()),
                                       static_cast<double>(fresh_.size()));
    const double gap = Effect(Mean(fresh_), Mean(candidate_)) - options_.min_gain;
    return gap > options_.fresh_bound * error;
  }

  SequentialStep Finish() {
    if (step_.outcome == SequentialOutcome::kOpen) return std::move(step_);
    const auto m = static_cast<double>(step_.pool.runs.size());
    if (!candidate_.empty()) {
      const double error = StandardError(spread_, static_cast<double>(candidate_.size()), m);
      const double half = StudentQuantile(0.975, step_.pool.freedom) * error;
      step_.effect = Effect(PoolMean(), Mean(candidate_));
      step_.interval = {step_.effect - half, step_.effect + half};
    }
    step_.detectable =
        options_.min_gain + (penalty_ * options_.keep_final + NormalQuantile(0.9)) *
                                StandardError(spread_, options_.looks[kLooks - 1], m);
    return std::move(step_);
  }

  const SequentialOptions& options_;
  const Coin& coin_;
  std::uint32_t attempt_;
  std::span<const SequentialRun> runs_;
  std::size_t at_ = 0;
  SequentialStep step_;
  double spread_ = 0, centre_ = 0, penalty_ = 1;
  std::vector<double> candidate_, fresh_;
  std::uint32_t failed_incumbents_ = 0;
};

}  // namespace

std::uint32_t SequentialOptions::MostRuns() const {
  std::uint32_t runs = looks.back() + fresh_runs;
  for (const std::uint32_t count : refreshes) runs += count;
  return runs;
}

Result<SequentialStep> NextSequential(const IncumbentPool& pool, const SequentialOptions& options,
                                      const Coin& coin, std::uint32_t attempt,
                                      std::span<const SequentialRun> runs) {
  if (pool.runs.size() < 2 || !(pool.SeedSpread() > 0)) {
    return MakeError(Code::kInvalidArgument,
                     "the sequential procedure needs an incumbent pool with seed noise");
  }
  Walk walk(pool, options, coin, attempt, runs);
  PAWL_ASSIGN(SequentialStep step, walk.Go());
  const std::size_t used = step.candidate_runs + step.incumbent_runs;
  if (used < runs.size())
    return MakeError(Code::kConflict, Format("run {} follows a decision", used + 1));
  return step;
}

IncumbentPool PoolAfter(const SequentialStep& last, std::span<const SequentialRun> runs,
                        const SequentialOptions& options) {
  std::vector<double> candidate;
  for (const SequentialRun& run : runs)
    if (run.arm == Arm::kCandidate) candidate.push_back(run.score);
  IncumbentPool pool = last.pool;
  LearnSpread(pool, candidate, options.pool);
  return pool;
}

}  // namespace pawl::measure
