// A small project under git with a harness of shell scripts, and the real `pawl` driven on it as a
// user drives it: for tests that cross the whole program. One experiment costs a few tens of
// milliseconds beyond Pawl's own time.
//
// What must not fail for a test to make sense (git, the file system) throws std::runtime_error,
// which GoogleTest reports as the test's failure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "os/files.h"

namespace pawl::test {

using os::Path;

// How one call of pawl ended. The accessors read an experiment's document.
struct Outcome {
  int exit_code = -1;  // 128 + signal when killed
  std::string out, err;
  Json json;  // standard output read as JSON; null when it is none

  std::string verdict() const;  // "keep", "discard-scope", ...; "" when there is none
  std::string trust() const;
  std::string reasons() const;   // one a line
  std::string warnings() const;  // one a line
  std::string error() const;     // message of a refusal without a verdict
  std::int64_t id() const;       // number of the experiment
  std::string Text() const;      // everything, for failure messages
};

struct ProjectOptions {
  enum class Protocol { kFiles, kWall };
  Protocol protocol = Protocol::kFiles;
  std::string level = "L3";  // --isolation; also what the config demands at least
  // Laid over the default configuration: dotted paths of keys that hold no dots themselves.
  std::vector<std::pair<std::string, Json>> config;
  // Files beside or instead of the default ones; an empty text removes a default.
  std::map<std::string, std::string> files;
  // Executables of this build put into the project: path there -> name in bin/.
  std::map<std::string, std::string> programs;
};

// Files: `src/program.sh` (mutable) is sourced by `harness/{smoke,perf,quality}.sh` (fixed), just
// as dit-ar's harnesses import what they measure. It sets `ops` (objective score.ops, lower is
// better, 10 at first) and `memory_mb` (100), and defines `work A B`, which must print the product.
// The perf script writes perf.json through its function `report OPS MEMORY`, the quality script
// quality.json through `judge METRIC PASSED`; `$stage` is smoke, perf or quality, `$run_dir` the
// run folder.
//
// Wall: `src/program.sh INPUTS OUTPUTS` writes the checksum of INPUTS/number, which
// `harness/prepare.sh` draws from the seed, to OUTPUTS/answer; at first it sleeps 0.25 s. Objective
// `wall`; a gain below a third is none.
class Project {
 public:
  explicit Project(const ProjectOptions& options = {});
  ~Project();
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  const Path& root() const { return root_; }
  const Path& home() const { return home_; }  // HOME of every command that the project starts
  Path state() const { return root_ / ".autoresearch"; }
  Path config_file() const { return root_ / "config/autoresearch.json"; }

  // The work tree.
  void Write(const Path& relative, std::string_view text, mode_t mode = 0644);
  void Remove(const Path& relative);
  std::string Read(const Path& relative) const;

  // git in the project; a non-zero exit throws. Returns standard output without the line break.
  std::string Git(std::vector<std::string> arguments, std::string_view input = {});
  // Everything in the work tree as one commit; returns its id.
  std::string Commit(const std::string& message = "candidate");
  // Back to the incumbent (the branch as it was when the project was made, or after the last keep
  // that Experiment returned), without untracked files.
  void Reset();

  // Calls pawl with --config and --json; `environment` is added to a clean one.
  Outcome Pawl(std::vector<std::string> arguments,
               const std::vector<std::string>& environment = {});
  // The same as a person sees it, without --json.
  Outcome PawlText(std::vector<std::string> arguments);
  // Calls `wrapper... pawl ...`.
  Outcome PawlUnder(const std::vector<std::string>& wrapper, std::vector<std::string> arguments);
  // Starts `wrapper... pawl ...` with --json and does not wait.
  pid_t Start(std::vector<std::string> arguments, const std::vector<std::string>& wrapper = {});
  // Waits for the end of what Start started.
  Outcome Await(pid_t started);

  // `init` and `baseline`. False when this machine does not offer the isolation level; any other
  // failure throws.
  bool Open();
  Outcome Baseline(std::vector<std::string> arguments = {});
  // `experiment` on HEAD.
  Outcome Experiment(std::vector<std::string> arguments = {},
                     const std::vector<std::string>& environment = {});
  // Reset, put `program` in place of src/program.sh (behind the original's lines when `appended`),
  // commit, experiment.
  enum class Place { kInstead, kAppended };
  Outcome Try(std::string_view program, Place place = Place::kAppended,
              std::vector<std::string> arguments = {});

  // The stored log of one stage, and whether `pawl verify` finds the records whole.
  std::string Log(const Outcome& outcome, const std::string& stage);
  Outcome Verify() { return Pawl({"verify"}); }

 private:
  std::vector<std::string> Environment(const std::vector<std::string>& more) const;
  std::vector<std::string> PawlArgv(std::vector<std::string> arguments, bool json) const;
  Outcome Call(const std::vector<std::string>& argv, const std::vector<std::string>& environment);
  Path StartedFile(pid_t started, const char* what) const;

  os::ScratchFolder folder_;
  Path root_, home_;
  std::string level_;
  std::string incumbent_;  // commit that Reset goes to
};

}  // namespace pawl::test
