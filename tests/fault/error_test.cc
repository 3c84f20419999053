// System calls of pawl that fail: a full disk, a broken one, an interruption.
#include <cstdio>

#include "base/text.h"
#include "fault/campaign.h"

namespace pawl::fault {
namespace {

struct Failure {
  const char* name;
  const char* error;
  std::vector<std::string> calls;
  bool on;  // from there on, as a full disk does
};

void PrintTo(const Failure& failure, std::ostream* out) {
  *out << failure.name;
}

class Failing : public testing::TestWithParam<Failure> {};

// Clear: either the verb went well all the same, or it says what failed and exits with the code for
// that. A signal, a defect of Pawl's own or a judgement on the idea is none of these.
testing::AssertionResult Clear(Step step, const Outcome& outcome) {
  const int well = step == Step::kDiscard ? 3 : 0;
  const bool infra = outcome.exit_code == 3 && outcome.verdict() == "infra-fail";
  if (outcome.exit_code == well && (step != Step::kDiscard || !outcome.verdict().empty())) {
    return testing::AssertionSuccess();
  }
  if (infra && !outcome.reasons().empty()) return testing::AssertionSuccess();
  if (outcome.exit_code != 2) return testing::AssertionFailure() << outcome.Text();
  const Json* error = outcome.json.Find("error");
  // Where standard output itself failed there is nobody to tell but the exit code.
  if (error == nullptr && outcome.out.empty()) return testing::AssertionSuccess();
  if (outcome.error().empty() || error->StringAt("code") == "internal") {
    return testing::AssertionFailure() << outcome.Text();
  }
  return testing::AssertionSuccess();
}

TEST_P(Failing, IsSaidAndLosesNothing) {
  PAWL_FAULT_OR_SKIP();
  Campaign& campaign = SharedCampaign();
  const Failure& failure = GetParam();
  int fired = 0;
  int tried = 0;
  int refused = 0;
  for (const Step step : {Step::kBaseline, Step::kKeep, Step::kQueue}) {
    const std::vector<Point> all = campaign.Points(step, failure.calls);
    for (const Point& point : Sample(all, 2, 7U + static_cast<unsigned>(step))) {
      campaign.SetBack(step);
      const Outcome faulted =
          campaign.Call(step, campaign.strace().Failing(point, failure.error, failure.on));
      ++tried;
      fired += campaign.strace().Failures() > 0 ? 1 : 0;
      refused += faulted.exit_code == 0 ? 0 : 1;
      EXPECT_TRUE(Clear(step, faulted)) << StepName(step) << ", " << point.Text();
      EXPECT_TRUE(campaign.Survives(step, faulted, false))
          << StepName(step) << ", " << point.Text() << "\n"
          << faulted.Text();
    }
  }
  std::printf("%s: %d of %d faults fired, %d stopped the verb\n", failure.name, fired, tried,
              refused);
  EXPECT_GE(tried, 6);
  EXPECT_GE(fired + 1, tried);
}

INSTANTIATE_TEST_SUITE_P(
    Errors, Failing,
    testing::Values(
        Failure{"FullDisk", "ENOSPC", {"pwrite64", "mkdir", "mkdirat", "rename"}, true},
        Failure{"BrokenSync", "EIO", {"fsync", "fdatasync"}, false},
        Failure{"BrokenWrite", "EIO", {"pwrite64", "ftruncate", "rename", "renameat"}, false},
        Failure{"Interrupted", "EINTR", {"write", "pwrite64", "openat", "fdatasync"}, false}),
    [](const auto& failure) { return std::string(failure.param.name); });

}  // namespace
}  // namespace pawl::fault
