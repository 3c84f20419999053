#include "fault/sweep.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace pawl::fault {

Campaign& SharedCampaign() {
  static Campaign campaign;
  return campaign;
}

std::vector<Point> Sweep::Choose(std::size_t count, Where where, std::mt19937& random) {
  std::vector<Point> chosen;
  for (const std::string_view who : {"pawl", "git", "bwrap", "stage"}) {
    std::vector<Point> points = SharedCampaign().Points(GetParam());
    std::erase_if(points, [&](const Point& point) {
      const bool fits =
          where == Where::kAll || (who != "stage" && !point.call.ends_with("-device"));
      return point.who != who || !fits;
    });
    const bool lasting = who == "pawl" || who == "git";
    const std::size_t share = who == "pawl" ? count : (count + 3) / 4;
    const std::vector<Point> some =
        TryAll() && lasting ? points : Sample(points, TryAll() ? 12 : share, random);
    chosen.insert(chosen.end(), some.begin(), some.end());
  }
  return chosen;
}

void ExpectFired(const char* what, std::size_t tried, std::size_t fired, std::size_t all,
                 const std::string& more) {
  std::printf("%s: %zu of %zu faults fired, of %zu points; %s; PAWL_TEST_SEED=%u\n", what, fired,
              tried, all, more.c_str(), Seed());
  EXPECT_GT(tried, 0U);
  EXPECT_GE(fired + std::max<std::size_t>(1, tried / 20), tried) << "faults did not fire";
}

std::string SweptStep(const testing::TestParamInfo<Step>& step) {
  return StepName(step.param);
}

}  // namespace pawl::fault
