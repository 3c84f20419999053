// The quality contract: metrics that must not regress against the baseline, and cases that must
// keep passing. Same keys and defaults as dit-ar; ill-formed contracts are refused when loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "campaign/config.h"

namespace pawl::campaign {

struct QualityMetric {
  std::string name;
  Direction direction = Direction::kHigher;
  double max_abs_regression = 0;
  double max_rel_regression = 0;
};

struct Contract {
  bool strict_zero_regression = false;
  bool require_case_passes = true;
  // In file order. Empty only under `wall`, where the checker's exit code is a case of its own.
  std::vector<QualityMetric> metrics;
  Json source;
};

// kInvalidArgument "Invalid quality contract:" followed by one "- FILE: key: message" line per
// problem. TOML is chosen by extension, as for configs.
Result<Contract> ParseContract(const Json& source, std::string_view file_name,
                               Protocol protocol = Protocol::kFiles);
Result<Contract> LoadContract(const Path& file, Protocol protocol = Protocol::kFiles);
// The contract that a config names, by the rules of its protocol.
Result<Contract> LoadContract(const Config& config);

}  // namespace pawl::campaign
