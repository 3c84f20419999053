// Calls that fail: a disk that fills up and stays full, one that is broken, an interruption, and
// helpers that are killed. Of pawl itself, of git, and of what builds up a sandbox.
#include <cerrno>

#include "base/text.h"
#include "fault/sweep.h"

namespace pawl::fault {
namespace {

constexpr std::size_t kSampled = 3;  // a step

struct Failure {
  const char* name;
  int error;  // 0: the caller is killed
  bool on;    // from there on
};
constexpr Failure kFullDisk{"full disk", ENOSPC, true};
constexpr Failure kBroken{"broken disk", EIO, false};
constexpr Failure kInterrupted{"interruption", EINTR, false};
constexpr Failure kCallerKilled{"helper killed", 0, false};

// One of those that can happen there.
Failure Draw(const Point& point, std::mt19937& random) {
  std::vector<Failure> possible = {kBroken};
  if (!point.call.ends_with("sync")) possible.push_back(kFullDisk);
  if (point.who != "pawl") {
    possible.push_back(kCallerKilled);
  } else if (point.call == "write" || point.call == "pwrite64" || point.call == "openat") {
    possible.push_back(kInterrupted);
  }
  return possible[random() % possible.size()];
}

class Failing : public Sweep {};

TEST_P(Failing, IsSaidAndLosesNothing) {
  Campaign& campaign = SharedCampaign();
  const Step step = GetParam();
  std::mt19937 random(Seed() + 1);
  const std::vector<Point> points = Choose(kSampled, Where::kFiles, random);
  int fired = 0;
  int stopped = 0;
  for (const Point& point : points) {
    const Failure failure = Draw(point, random);
    SCOPED_TRACE(Format("{}: {} at {}, PAWL_TEST_SEED={}", StepName(step), failure.name,
                        point.Text(), Seed()));
    campaign.SetBack(step);
    const Outcome faulted = campaign.Call(
        step, failure.error == 0 ? campaign.injector().KillingCaller(point)
                                 : campaign.injector().Failing(point, failure.error, failure.on));
    const Injector::Report report = campaign.injector().Last();
    fired += report.fired > 0 ? 1 : 0;
    stopped += faulted.exit_code == Campaign::ExitCode(step) ? 0 : 1;
    EXPECT_FALSE(report.outlived) << "something that pawl had started lives on";
    EXPECT_TRUE(SaysWhatFailed(step, faulted, failure.error));
    EXPECT_TRUE(Survives(campaign, step, faulted, false)) << faulted.Text();
  }
  ExpectFired(StepName(step), points.size(), static_cast<std::size_t>(fired),
              campaign.Points(step).size(), Format("{} stopped the verb", stopped));
}

INSTANTIATE_TEST_SUITE_P(Steps, Failing, testing::ValuesIn(kSteps), SweptStep);

}  // namespace
}  // namespace pawl::fault
