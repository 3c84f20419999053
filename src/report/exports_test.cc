#include "report/exports.h"

#include <gtest/gtest.h>

namespace pawl::report {
namespace {

TEST(ResultsTsv, HeadingStartsWithDitArsColumnsInItsOrder) {
  EXPECT_TRUE(ResultsTsvHeading().starts_with(
      "timestamp_utc\tcommit\tparent\tstatus\tclass\tobjective_metric\tbest_before\tcandidate\t"
      "improvement_pct\tpeak_vram_mb\tquality\tdescription\trun_dir\t"));
  EXPECT_TRUE(ResultsTsvHeading().ends_with("\r\n"));
}

campaign::ExperimentRow Row() {
  campaign::ExperimentRow row;
  row.id = 7;
  row.decided_us = 1'764'500'000'123'456;
  row.commit = "0123456789abcdef0123456789abcdef01234567";
  row.parent = "fedcba9876543210fedcba9876543210fedcba98";
  row.status = "keep";
  row.classification = "exact";
  row.best_before = 10.0;
  row.candidate = 9.0;
  row.improvement_pct = 10.0;
  row.quality = "pass";
  row.description = "plain";
  row.run_dir = "/p/runs/x";
  row.trust = "shared";
  row.level = "L3";
  return row;
}

campaign::CampaignRow Campaign() {
  campaign::CampaignRow campaign;
  campaign.id = 1;
  campaign.lane = "latency";
  campaign.opened = JsonObject{{"metric", "latency.median_s"}};
  return campaign;
}

TEST(ResultsTsv, RowHasPythonsNumbersAndBlanksForTheUnknown) {
  EXPECT_TRUE(ResultsTsvRow(Campaign(), Row())
                  .starts_with("2025-11-30T10:53:20.123456+00:00\t0123456\tfedcba9\tkeep\texact\t"
                               "latency.median_s\t10.0\t9.0\t10.0\t\tpass\tplain\t/p/runs/x\t"
                               "1:latency\t7\tshared\tL3\t"));
}

TEST(ResultsTsv, OnlyFieldsThatNeedItAreQuoted) {
  campaign::ExperimentRow row = Row();
  row.description = "say \"a b\"";
  EXPECT_NE(ResultsTsvRow(Campaign(), row).find("\t\"say \"\"a b\"\"\"\t"), std::string::npos);
}

TEST(ResultsTsv, ForeignTextStaysOneFieldOnOneLine) {
  campaign::ExperimentRow row = Row();
  row.description = "a\tb\nc\x1b[2J";
  const std::string line = ResultsTsvRow(Campaign(), row);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

}  // namespace
}  // namespace pawl::report
