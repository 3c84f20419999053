// perf.json and quality.json as a stage left them. Looked at only after nothing of the stage's
// command lives any more; opened without following links, regular, capped in size. A file that the
// stage had no business writing is a finding and is removed, so that no later stage takes it for
// its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/runner.h"
#include "run/stage_view.h"

namespace pawl::run {

inline constexpr std::uint64_t kMaxResultBytes = std::uint64_t{4} << 20;

// What lay there before the stage ran.
class ResultFiles {
 public:
  ResultFiles(campaign::Protocol protocol, campaign::Stage stage, Path run_dir);

  // After the stage: fills perf, quality and integrity of `result`.
  void Collect(StageResult& result) const;

 private:
  struct Watched;
  void CollectOne(const Watched& watched, StageResult& result) const;

  campaign::Protocol protocol_;
  campaign::Stage stage_;
  Path run_dir_;
  std::optional<std::string> perf_before_, quality_before_;
};

// Links and special files among a timed run's outputs: through them the judge, which reads the
// outputs, could be led to files that only the judge sees.
void FindOddOutputs(const Path& outputs, std::vector<std::string>& integrity);

// Harness paths of a writable tree that are no longer what they are in the harness tree. Content
// counts at L3 too: a mount guards the place that it covers, but a folder above it can be renamed
// and another one made under its name. `prefix` is the project's place in both trees.
void FindChangedHarness(const campaign::Config& config, const Path& tree, const Path& harness_tree,
                        const Path& prefix, std::string_view stage,
                        std::vector<std::string>& integrity);

}  // namespace pawl::run
