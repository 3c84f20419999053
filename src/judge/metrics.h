// perf.json and quality.json as a candidate or harness wrote them: read strictly, because they may
// come from untrusted code. Ill-formed results are named problems that lead to discard-invalid.
// docs/metric-schema.md is the manual page of these rules.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pawl::judge {

// Larger files are refused unread.
inline constexpr std::size_t kMaxMetricFileBytes = std::size_t{4} << 20;
inline constexpr int kMaxMetricFileDepth = 32;

// A metric file after reading. `problems` name file and key; `json` is an object when it is empty.
struct MetricFile {
  Json json;
  std::vector<std::string> problems;
};

// Only finite numbers; no doubled keys; depth and size capped; times and sizes (keys that end in
// _s, _ms, _us, _ns, _kb, _mb, _gb, _bytes, outside `metadata`) not negative; the figures of
// dit-ar's `latency` object above zero; min, median, p90, p95, p99 and max in that order and in
// line with the samples where samples are given.
MetricFile ReadPerf(std::string_view bytes);

// `metrics` or the top level; values finite numbers; every case an object with boolean `passed` or
// a boolean.
struct QualityFile {
  std::vector<std::pair<std::string, double>> metrics;  // in file order
  std::vector<std::pair<std::string, bool>> cases;
  // Values that are no numbers, name -> sentence. They matter only where the contract names them.
  std::map<std::string, std::string> ill_formed;
  Json json;
  std::vector<std::string> problems;

  std::optional<double> Value(std::string_view name) const;
  std::optional<bool> Case(std::string_view name) const;
};
QualityFile ReadQuality(std::string_view bytes);

// A finite number behind a dotted path of object keys.
std::optional<double> Metric(const Json& perf, std::string_view dotted_path);

// quality.json of a quality command that wrote none (protocol wall): its exit code as metric `exit`
// (1 or 0, higher is better) and as case `exit`.
std::string ExitQuality(bool succeeded);

// Whether a metric's last name says time or size, so that nothing real is ever 0 or less.
bool IsTimeOrSize(std::string_view dotted_path);
// Seconds in one unit of a metric whose last name ends in _s, _ms, _us or _ns; nullopt for others.
std::optional<double> SecondsPerUnit(std::string_view dotted_path);

// The timed samples beside a time metric (`samples_s` next to `median_s`), for comparison with the
// outside clock.
struct Samples {
  std::size_t count = 0;
  double total_s = 0;
  bool listed = false;  // false: only a count was given, total_s is the metric times the count
};
std::optional<Samples> SamplesBeside(const Json& perf, std::string_view dotted_path);

}  // namespace pawl::judge
