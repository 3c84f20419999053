#include "base/time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace pawl {
namespace {

TEST(IsoUtc, PrintsMicrosecondsAndTheOffset) {
  EXPECT_EQ(IsoUtc(0), "1970-01-01T00:00:00.000000+00:00");
  EXPECT_EQ(IsoUtc(951782400000001), "2000-02-29T00:00:00.000001+00:00");
  EXPECT_EQ(IsoUtc(1764493687123456), "2025-11-30T09:08:07.123456+00:00");
}

TEST(IsoUtc, TimesBefore1970CountBackwards) {
  EXPECT_EQ(IsoUtc(-1), "1969-12-31T23:59:59.999999+00:00");
}

// NOLINTBEGIN(concurrency-mt-unsafe): the test program has one thread.
TEST(CompactLocal, FollowsTheTimeZone) {
  ASSERT_EQ(setenv("TZ", "XYZ-2", 1), 0);
  tzset();
  EXPECT_EQ(CompactLocal(1764493687999999), "20251130_110807");
  ASSERT_EQ(setenv("TZ", "UTC", 1), 0);
  tzset();
  EXPECT_EQ(CompactLocal(1764493687999999), "20251130_090807");
}
// NOLINTEND(concurrency-mt-unsafe)

TEST(UnixMicros, IsAfterThisWasWritten) {
  EXPECT_GT(UnixMicros(), 1764493687000000);
}

TEST(SecondsSince, NeverRunsBackwards) {
  EXPECT_GE(SecondsSince(Monotonic::now()), 0);
}

}  // namespace
}  // namespace pawl
