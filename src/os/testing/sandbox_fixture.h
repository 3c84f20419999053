// What the sandbox tests share: a probe for each level, a folder, and a look at who still lives.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "os/sandbox.h"

namespace pawl::os {

class SandboxTest : public ::testing::TestWithParam<IsolationLevel> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A spec that runs the hostile program with these words.
  SandboxSpec Hostile(std::string_view what, std::string_view argument = {}) const;
  SandboxSpec Shell(std::string script) const;
  // Runs it; an error of Pawl fails the test.
  RunOutcome Run(const SandboxSpec& spec) const;
  std::string Log() const;
  Path At(std::string_view name) const { return scratch_->path() / name; }
  // A folder that commands may write, mounted under its own name.
  Mount Writable(std::string_view name) const;

  SandboxProbe probe_;
  std::optional<ScratchFolder> scratch_;
  std::string mark_;  // a variable in the environment of everything that the test starts
};

// Living processes whose environment holds the text.
std::vector<pid_t> MarkedProcesses(std::string_view mark);

// Answers of the hostile program: the word behind "name=".
std::string Answer(std::string_view log, std::string_view name);

std::string LevelParam(const ::testing::TestParamInfo<IsolationLevel>& info);

}  // namespace pawl::os
