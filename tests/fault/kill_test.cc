// SIGKILL to pawl whenever it, or what it started, makes a call that changes files.
#include <cstdio>

#include "base/text.h"
#include "fault/sweep.h"
#include "support/processes.h"

namespace pawl::fault {
namespace {

constexpr std::size_t kSampled = 3;    // a step
constexpr std::size_t kToTheEnd = 10;  // every so many points

class Killed : public Sweep {};

TEST_P(Killed, NothingAcknowledgedIsLostAndTheCampaignGoesOn) {
  Campaign& campaign = SharedCampaign();
  const Step step = GetParam();
  std::mt19937 random(Seed());
  const std::vector<Point> points = Choose(kSampled, Where::kAll, random);
  int fired = 0;
  int interrupted = 0;
  for (std::size_t at = 0; at < points.size(); ++at) {
    SCOPED_TRACE(
        Format("{}: killed at {}, PAWL_TEST_SEED={}", StepName(step), points[at].Text(), Seed()));
    campaign.SetBack(step);
    const Outcome faulted = campaign.Call(step, campaign.injector().Killing(points[at]));
    const Injector::Report report = campaign.injector().Last();
    if (report.fired == 0) {
      std::printf("did not fire: %s %s\n", StepName(step), points[at].Text().c_str());
    } else {
      ++fired;
      EXPECT_EQ(faulted.exit_code, 128 + 9) << faulted.Text();
    }
    EXPECT_TRUE(Survives(campaign, step, faulted, at % kToTheEnd == 0)) << faulted.Text();
    EXPECT_FALSE(test::Lives(campaign.project().root().string())) << "the next start ended not all";
    interrupted += campaign.Now().extra.empty() ? 0 : 1;
  }
  ExpectFired(StepName(step), points.size(), static_cast<std::size_t>(fired),
              campaign.Points(step).size(),
              Format("{} experiments named interrupted", interrupted));
}

INSTANTIATE_TEST_SUITE_P(Steps, Killed, testing::ValuesIn(kSteps), SweptStep);

}  // namespace
}  // namespace pawl::fault
