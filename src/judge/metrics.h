// perf.json and quality.json as a candidate or harness wrote them: read strictly, because they may
// come from untrusted code. Ill-formed results are named problems that lead to discard-invalid.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pawl::judge {

// A metric file after reading. `problems` name file and key; `json` is an object when it is empty.
struct MetricFile {
  Json json;
  std::vector<std::string> problems;
};

// Only finite numbers; no doubled keys; depth and size capped; times and sizes positive (keys that
// end in _s, _ms, _us, _mb, ... or are known by dit-ar's schema); percentiles consistent
// (median <= p95, both within samples when given).
MetricFile ReadPerf(std::string_view bytes);

// `metrics` or the top level; values finite numbers; every case an object with boolean `passed` or a
// boolean.
struct QualityFile {
  std::vector<std::pair<std::string, double>> metrics;   // in file order
  std::vector<std::pair<std::string, bool>> cases;
  Json json;
  std::vector<std::string> problems;
};
QualityFile ReadQuality(std::string_view bytes);

// A finite number behind a dotted path of object keys.
std::optional<double> Metric(const Json& perf, std::string_view dotted_path);

}  // namespace pawl::judge
