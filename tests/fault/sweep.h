// The campaign that all sweeps of one process share, and how a test on it begins.
#pragma once

#include "fault/aftermath.h"
#include "fault/campaign.h"
#include "fault/sample.h"

namespace pawl::fault {

// Made at first use.
Campaign& SharedCampaign();

class Sweep : public testing::TestWithParam<Step> {
 protected:
  void SetUp() override {
    if (const std::string missing = Injector::Missing(); !missing.empty()) GTEST_SKIP() << missing;
    if (!SharedCampaign().ok()) GTEST_SKIP() << "this machine does not offer isolation level L3";
  }
  // All points of pawl itself and of git, which change what lasts, or about `count` in a sample.
  // What builds up a sandbox and runs in it leaves nothing: there it is always a sample. kFiles: a
  // disk can fail there, and it is not the candidate's own commands that would meet it.
  enum class Where { kAll, kFiles };
  static std::vector<Point> Choose(std::size_t count, Where where, std::mt19937& random);
};

// Prints what a sweep did and fails when fewer faults fired than nearly all: how often a pipe is
// written to differs a little from run to run.
void ExpectFired(const char* what, std::size_t tried, std::size_t fired, std::size_t all,
                 const std::string& more);

std::string SweptStep(const testing::TestParamInfo<Step>& step);

}  // namespace pawl::fault
