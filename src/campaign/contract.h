// The quality contract: metrics that must not regress against the baseline, and cases that must
// keep passing. Same keys and defaults as dit-ar; ill-formed contracts are refused when loaded.
#pragma once

#include <string>
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
  std::vector<QualityMetric> metrics;  // in file order, never empty
  Json source;
};

Result<Contract> ParseContract(const Json& source, std::string_view file_name);
Result<Contract> LoadContract(const Path& file);

}  // namespace pawl::campaign
