// A small campaign in five steps that can be set back to before any of them: init, baseline, an
// experiment that is kept, one that is not, and a queue with one patch of either kind.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fault/strace.h"
#include "support/processes.h"
#include "support/project.h"

namespace pawl::fault {

using test::Lives;
using test::Outcome;
using test::Project;

enum class Step : std::uint8_t { kInit, kBaseline, kKeep, kDiscard, kQueue };
inline constexpr int kSteps = 5;
const char* StepName(Step step);

// What is on record, without what a fault may add (interrupted experiments, failures of the
// machine) and without ids and times.
struct Standing {
  std::string lane;                 // state, figures and keeps of the campaign
  std::vector<std::string> judged;  // experiments with a verdict on the idea
  std::string incumbent_tree;       // tree of the incumbent's commit
  std::string branch_tree;
  std::vector<std::string> extra;  // the others, by status

  std::string Text() const;  // without `extra`
};

class Campaign {
 public:
  // The uninterrupted campaign is run once here: false in ok() when the machine lacks isolation.
  Campaign();

  bool ok() const { return ok_; }
  Project& project() { return project_; }
  Strace& strace() { return strace_; }

  // To the moment before `step` is called.
  void SetBack(Step step);
  Outcome Call(Step step, const std::vector<std::string>& wrapper = {});
  // Puts the work tree ready for `step`, as its user would.
  void Prepare(Step step);

  Standing Now();
  // How things stood after `step` without any fault.
  const Standing& Expected(Step step) const { return expected_[static_cast<std::size_t>(step)]; }
  // Calls that `step` makes without any fault.
  std::vector<Point> Points(Step step, const std::vector<std::string>& calls) const;

  // After a fault in `step`: whatever was acknowledged is there, the records are sound, and calling
  // the step once more leads to where an uninterrupted one does; with `to_the_end`, all later too.
  testing::AssertionResult Survives(Step step, const Outcome& faulted, bool to_the_end);

 private:
  testing::AssertionResult Acknowledged(Step step, const Outcome& faulted, const Standing& now);
  testing::AssertionResult GoesOn(Step step, const Standing& now);
  os::Path Copy(Step step) const;

  Project project_;
  os::ScratchFolder copies_;
  Strace strace_;
  bool ok_ = false;
  std::vector<Standing> expected_;
  std::vector<std::map<std::string, int>> counts_;
};

// One for the whole program, made at first use.
Campaign& SharedCampaign();

// Every n-th of `points` from a seeded place on, about `count` of them; all with PAWL_TEST_ALL=1.
std::vector<Point> Sample(const std::vector<Point>& points, std::size_t count, unsigned seed);

}  // namespace pawl::fault

// First in each test on the shared campaign.
#define PAWL_FAULT_OR_SKIP()                                                          \
  if (const std::string missing = ::pawl::fault::Strace::Missing(); !missing.empty()) \
    GTEST_SKIP() << missing;                                                          \
  if (!::pawl::fault::SharedCampaign().ok())                                          \
  GTEST_SKIP() << "this machine does not offer isolation level L3"
