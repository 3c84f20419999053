// Draws the engine's events: a live status line on a terminal, plain lines elsewhere.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "cli/verbs.h"
#include "loop/events.h"

namespace pawl::cli {

class Progress : public loop::Observer {
 public:
  explicit Progress(Context& context) : context_(context) {}

  void OnExperiment(std::int64_t id, std::string_view commit,
                    std::string_view description) override;
  void OnStageStart(std::string_view stage, int index, int count) override;
  void OnStageEnd(std::string_view stage, std::string_view how, double wall_s) override;
  void OnVerdict(std::int64_t id, const judge::Verdict& verdict) override;
  void OnNote(std::string_view text) override;

 private:
  Context& context_;
  std::string headline_;  // "#3 a1b2c3d online softmax"
  std::map<std::string, double, std::less<>> spent_s_;
};

}  // namespace pawl::cli
