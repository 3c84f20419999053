// A tiny project of shell scripts in a real repository, for tests of the loop: src/program prints a
// time, the harness in bench/ turns it into metrics.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "loop/engine.h"
#include "os/files.h"

namespace pawl::loop {

class ProjectTest : public ::testing::Test {
 protected:
  void SetUp() override;

  // Protocol files; `changes` are merged into the top level of the config.
  void MakeFilesProject(const JsonObject& changes = {});
  // Protocol wall: prepare writes a number, perf must copy it, quality compares.
  void MakeWallProject(const JsonObject& changes = {});
  static Json Config(const JsonObject& base, const JsonObject& changes);

  void Write(std::string_view path, std::string_view content);
  std::string Read(std::string_view path);
  std::string Commit(std::string_view message);  // everything; returns the id
  std::string Git(std::vector<std::string> arguments);

  // At most at the isolation level that SetCeiling gave.
  Engine Open(Observer* observer = nullptr);
  void SetCeiling(os::IsolationLevel ceiling) { ceiling_ = ceiling; }
  // init and baseline, expected to work.
  void Start();
  ExperimentReport Try(std::string_view description = "an idea");
  // Verdict of a commit that replaces src/program.
  ExperimentReport TryProgram(std::string_view content);
  void ExpectSound();  // verify finds nothing

  const os::Path& root() const { return root_; }

 private:
  std::optional<os::ScratchFolder> folder_;
  os::Path root_;
  os::IsolationLevel ceiling_ = os::IsolationLevel::kL3;
};

}  // namespace pawl::loop
