// What the engine tells whoever is watching, as it happens. The library never prints; the CLI and
// the dashboard draw these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/verdict.h"

namespace pawl::loop {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnExperiment(std::int64_t /*id*/, std::string_view /*commit*/,
                            std::string_view /*description*/) {}
  virtual void OnStageStart(std::string_view /*stage*/, int /*index*/, int /*count*/) {}
  virtual void OnStageEnd(std::string_view /*stage*/, std::string_view /*how*/, double /*wall_s*/) {
  }
  virtual void OnVerdict(std::int64_t /*id*/, const judge::Verdict& /*verdict*/) {}
  virtual void OnNote(std::string_view /*text*/) {}  // resumed, cleaned up, slow harness check, ...
};

}  // namespace pawl::loop
