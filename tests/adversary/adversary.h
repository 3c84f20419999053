// What the adversaries have in common: how a refusal and a keep are recognised.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/processes.h"
#include "support/project.h"

namespace pawl::adversary {

using test::Becomes;
using test::Lives;
using test::Outcome;
using test::Project;
using test::ProjectOptions;

// Refused as `verdict` with a reason that holds `reason`, exit code 3, and on record just so.
testing::AssertionResult Refused(Project& project, const Outcome& outcome, std::string_view verdict,
                                 std::string_view reason);
// Refused because nothing was gained: the attempt ran and was worth nothing.
testing::AssertionResult Worthless(Project& project, const Outcome& outcome);
testing::AssertionResult Kept(Project& project, const Outcome& outcome, std::string_view trust);

// Shell text of a candidate that makes each attempt (words of src/attack) while it is measured and
// claims a gain if any gets through. The project carries pawl-attack as src/attack.
std::string Attempts(const std::vector<std::vector<std::string>>& attempts);
ProjectOptions WithAttack(ProjectOptions options = {});
// How the log says that the attempts ended: all of them refused.
testing::AssertionResult AllRefused(const std::string& log, std::size_t count);

}  // namespace pawl::adversary

// The first statement after a project was made.
#define PAWL_OPEN_OR_SKIP(project) \
  if (!(project).Open()) GTEST_SKIP() << "this machine does not offer the isolation level"
