// What the measuring surroundings were: machine, isolation, the variables that commands get. Two
// measurements are compared only when these agree.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "loop/session.h"

namespace pawl::loop {

struct Surroundings {
  Json machine;      // everything that is known, as in dit-ar's environment.json
  Json fingerprint;  // what must not differ; values of variables only as hashes
  std::vector<std::string> target_mismatches;  // against config.target
};
Surroundings TakeSurroundings(Session& session);

// One sentence each; empty when measurements are comparable.
std::vector<std::string> Differences(const Json& fingerprint_before, const Json& fingerprint_now);

}  // namespace pawl::loop
