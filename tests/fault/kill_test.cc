// SIGKILL to pawl at its write-type system calls.
#include <cstdio>

#include "base/text.h"
#include "fault/campaign.h"

namespace pawl::fault {
namespace {

const std::vector<std::string> kCalls = {"write",    "pwrite64",  "fsync",   "fdatasync", "rename",
                                         "renameat", "renameat2", "unlink",  "unlinkat",  "link",
                                         "linkat",   "mkdir",     "mkdirat", "ftruncate"};

constexpr std::size_t kSampled = 5;   // a step
constexpr std::size_t kToTheEnd = 5;  // every so many points
constexpr unsigned kSeed = 20240917;

class Killed : public testing::TestWithParam<Step> {};

TEST_P(Killed, NothingAcknowledgedIsLostAndTheCampaignGoesOn) {
  PAWL_FAULT_OR_SKIP();
  Campaign& campaign = SharedCampaign();
  const Step step = GetParam();
  const std::vector<Point> all = campaign.Points(step, kCalls);
  const std::vector<Point> points = Sample(all, kSampled, kSeed + static_cast<unsigned>(step));
  int fired = 0;
  int interrupted = 0;
  for (std::size_t at = 0; at < points.size(); ++at) {
    campaign.SetBack(step);
    const Outcome faulted = campaign.Call(step, campaign.strace().Killing(points[at]));
    fired += campaign.strace().Kills();
    EXPECT_TRUE(campaign.Survives(step, faulted, at % kToTheEnd == 0))
        << "killed before " << points[at].Text();
    interrupted += campaign.Now().extra.empty() ? 0 : 1;
  }
  std::printf("%s: %d of %zu kills fired, of %zu points; %d named interrupted\n", StepName(step),
              fired, points.size(), all.size(), interrupted);
  EXPECT_GT(all.size(), 100U);
  // How many times a pipe or a log is written to differs a little from run to run.
  EXPECT_GE(fired + 1, static_cast<int>(points.size()));
  EXPECT_GE(fired * 100, static_cast<int>(points.size()) * 80);
}

INSTANTIATE_TEST_SUITE_P(Steps, Killed,
                         testing::Values(Step::kInit, Step::kBaseline, Step::kKeep, Step::kDiscard,
                                         Step::kQueue),
                         [](const auto& step) { return std::string(StepName(step.param)); });

}  // namespace
}  // namespace pawl::fault
