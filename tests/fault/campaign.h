// A small campaign in six steps that can be set back to before any of them: init, baseline, an
// experiment that is kept, one that is not, a queue with one patch of either kind, and an undo.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fault/injector.h"
#include "support/project.h"

namespace pawl::fault {

using test::Outcome;
using test::Project;

enum class Step : std::uint8_t { kInit, kBaseline, kKeep, kDiscard, kQueue, kUndo };
inline constexpr Step kSteps[] = {Step::kInit,    Step::kBaseline, Step::kKeep,
                                  Step::kDiscard, Step::kQueue,    Step::kUndo};
const char* StepName(Step step);

// What is on record, without ids and times.
struct Standing {
  std::string lane;                 // state, figures and keeps of the campaign
  std::vector<std::string> judged;  // experiments with a verdict on the idea
  std::string incumbent_tree;       // tree of the incumbent's commit
  std::string branch_tree;
  // What only a fault adds, as "7 interrupted": experiments without a verdict on the idea.
  std::vector<std::string> extra;
  std::vector<std::int64_t> open;     // experiments without any verdict
  std::vector<std::string> recorded;  // every experiment, as "7 keep"

  std::string Text() const;  // what an uninterrupted campaign has as well
};

class Campaign {
 public:
  // The uninterrupted campaign is run once here, up to and with `last`: false in ok() when the
  // machine lacks isolation.
  explicit Campaign(Step last = Step::kUndo);

  bool ok() const { return ok_; }
  Project& project() { return project_; }
  Injector& injector() { return injector_; }

  // To the moment before `step` is called.
  void SetBack(Step step);
  Outcome Call(Step step, const std::vector<std::string>& wrapper = {});
  // Puts the work tree ready for `step`, as its user would.
  void Prepare(Step step);
  // The exit code of `step` without any fault.
  static int ExitCode(Step step) { return step == Step::kDiscard ? 3 : 0; }

  Standing Now();
  // How things stood after `step`, and what it passed, without any fault.
  const Standing& Expected(Step step) const { return expected_[static_cast<std::size_t>(step)]; }
  const std::vector<Point>& Points(Step step) const {
    return points_[static_cast<std::size_t>(step)];
  }

 private:
  os::Path Copy(Step step) const;

  Project project_;
  os::ScratchFolder copies_;
  Injector injector_;
  bool ok_ = false;
  std::vector<Standing> expected_;
  std::vector<std::vector<Point>> points_;
};

}  // namespace pawl::fault
