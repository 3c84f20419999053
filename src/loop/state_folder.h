// Where things lie in a state folder. What is rebuilt at need (work, setup, harness, incumbents) is
// named by what it was made from, so that finding it means that it is right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "campaign/git.h"
#include "os/files.h"

namespace pawl::loop {

class StateFolder {
 public:
  explicit StateFolder(os::Path path) : path_(std::move(path)) {}

  const os::Path& path() const { return path_; }
  os::Path work() const { return path_ / "work"; }    // of the present process; else leftovers
  os::Path runs() const { return path_ / "runs"; }    // what commands left, one folder a run folder
  os::Path setup() const { return path_ / "setup"; }  // results of commands.setup, by key
  os::Path harness() const { return path_ / "harness"; }  // harness-only trees, by lock
  os::Path incumbents() const { return path_ / "incumbents"; }
  os::Path knowledge() const { return path_ / "knowledge.sqlite3"; }

  // The build folder that the commit left when it was measured.
  os::Path IncumbentBuild(std::int64_t campaign, const campaign::CommitId& commit) const {
    return incumbents() / std::to_string(campaign) / commit.hex;
  }

 private:
  os::Path path_;
};

}  // namespace pawl::loop
