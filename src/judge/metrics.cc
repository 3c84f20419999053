#include "judge/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace pawl::judge {

namespace {

// Harnesses round what they print: figures may disagree by a thousandth before that is a problem.
constexpr double kRounding = 1e-3;
// A file made of problems must not make a record of them.
constexpr std::size_t kMaxProblems = 20;
// Paths are built for every key; longer ones are never shown, and no rule names one.
constexpr std::size_t kMaxPathBytes = 256;

struct Unit {
  std::string_view suffix;
  double seconds;
};
constexpr std::array kTimeUnits = {Unit{"_s", 1}, Unit{"_ms", 1e-3}, Unit{"_us", 1e-6},
                                   Unit{"_ns", 1e-9}};
constexpr std::array<std::string_view, 4> kSizeSuffixes = {"_kb", "_mb", "_gb", "_bytes"};
// What Pawl measures itself under protocol wall.
constexpr std::array<std::string_view, 3> kOwnMetrics = {"wall", "cpu", "peak_rss"};

std::string_view LastName(std::string_view dotted_path) {
  const std::size_t dot = dotted_path.rfind('.');
  return dot == std::string_view::npos ? dotted_path : dotted_path.substr(dot + 1);
}

std::string Inner(const std::string& path, std::string_view name) {
  std::string inner = path.empty() ? std::string(name.substr(0, kMaxPathBytes))
                                   : Format("{}.{}", path, name.substr(0, kMaxPathBytes));
  if (inner.size() > kMaxPathBytes) inner.resize(kMaxPathBytes);
  return inner;
}

void LimitProblems(std::vector<std::string>& problems, std::string_view file) {
  if (problems.size() <= kMaxProblems) return;
  const std::size_t more = problems.size() - kMaxProblems;
  problems.resize(kMaxProblems);
  problems.push_back(Format("{}: and {} more problems", file, more));
}

std::string Key(std::string_view path) {
  return PrintableLine(path, 120);
}

bool AtMost(double a, double b) {
  return a <= b + kRounding * std::max(std::fabs(a), std::fabs(b));
}

// Checks one object's percentiles and samples of one time unit against each other.
class PercentileCheck {
 public:
  PercentileCheck(const Json& object, std::string_view path, std::string_view suffix,
                  std::vector<std::string>& problems)
      : object_(object), path_(path), suffix_(suffix), problems_(problems) {}

  void Run() {
    CheckOrder();
    const Json* samples = object_.Find("samples" + std::string(suffix_));
    if (samples == nullptr || samples->is_null()) return;
    if (!ReadSamples(*samples)) return;
    CheckAgainstSamples();
  }

 private:
  std::string Name(std::string_view key) const {
    const std::string name = std::string(key) + std::string(suffix_);
    return path_.empty() ? name : Format("{}.{}", path_, name);
  }

  std::optional<double> Value(std::string_view key) const {
    const Json* found = object_.Find(std::string(key) + std::string(suffix_));
    return found == nullptr ? std::nullopt : found->AsDouble();
  }

  void Problem(std::string sentence) { problems_.push_back("perf.json: " + std::move(sentence)); }

  void CheckOrder() {
    constexpr std::array<std::string_view, 7> kOrder = {"min", "median", "p50", "p90",
                                                        "p95", "p99",    "max"};
    std::string_view before;
    for (const std::string_view key : kOrder) {
      const auto value = Value(key);
      if (!value) continue;
      if (!before.empty() && !AtMost(*Value(before), *value)) {
        Problem(Format("{}={} is above {}={}", Key(Name(before)), FormatG(*Value(before)),
                       Key(Name(key)), FormatG(*value)));
      }
      before = key;
    }
  }

  bool ReadSamples(const Json& samples) {
    const std::string name = Key(Name("samples"));
    const JsonArray* list = samples.AsArray();
    if (list == nullptr || list->empty()) {
      Problem(Format("{} must be a list of at least one number", name));
      return false;
    }
    for (const Json& item : *list) {
      const auto value = item.AsDouble();
      if (!value || !(*value > 0)) {
        Problem(Format("{} must hold numbers above 0, found {}", name,
                       value ? FormatG(*value) : std::string(TypeName(item.type()))));
        return false;
      }
      sorted_.push_back(*value);
    }
    std::sort(sorted_.begin(), sorted_.end());
    return true;
  }

  double Low(double fraction) const {
    return sorted_[static_cast<std::size_t>(std::floor(fraction * Last()))];
  }
  double High(double fraction) const {
    return sorted_[static_cast<std::size_t>(std::ceil(fraction * Last()))];
  }
  double Last() const { return static_cast<double>(sorted_.size() - 1); }

  void Within(std::string_view key, double low, double high) {
    const auto value = Value(key);
    if (!value || (AtMost(low, *value) && AtMost(*value, high))) return;
    Problem(Format("{}={} does not fit its own samples (between {} and {} expected)",
                   Key(Name(key)), FormatG(*value), FormatG(low), FormatG(high)));
  }

  // Wide enough for harnesses that drop warm-ups and outliers, too narrow for a figure that one
  // invented sample carries: the middle half for the centre, the upper half for the tail.
  void CheckAgainstSamples() {
    Within("min", Low(0), Low(0.5));
    Within("median", Low(0.25), High(0.75));
    Within("p50", Low(0.25), High(0.75));
    for (const std::string_view key : {"p90", "p95", "p99", "max"}) {
      Within(key, Low(0.5), High(1));
    }
    double sum = 0;
    for (const double value : sorted_) sum += value;
    const double mean = sum / static_cast<double>(sorted_.size());
    // A plain mean may lie outside the middle half when a few samples are long.
    Within("mean", std::min(mean, Low(0.25)), std::max(mean, High(0.75)));
  }

  const Json& object_;
  std::string_view path_;
  std::string_view suffix_;
  std::vector<std::string>& problems_;
  std::vector<double> sorted_;
};

void CheckLatencyField(const Json& value, const std::string& path,
                       std::vector<std::string>& problems) {
  if (value.is_null() || path == "latency.samples_s") return;
  const auto number = value.AsDouble();
  if (number && *number > 0) return;
  problems.push_back(Format("perf.json: {} must be a number above 0, found {}", Key(path),
                            number ? FormatG(*number) : std::string(TypeName(value.type()))));
}

void CheckPerfObject(const Json& object, const std::string& path,
                     std::vector<std::string>& problems) {
  for (const auto& [name, value] : *object.AsObject()) {
    const std::string inner = Inner(path, name);
    if (inner == "metadata") continue;
    if (value.AsObject() != nullptr) CheckPerfObject(value, inner, problems);
    if (path == "latency" && SecondsPerUnit(name)) {
      CheckLatencyField(value, inner, problems);
    } else if (const auto number = value.AsDouble(); number && *number < 0 && IsTimeOrSize(name)) {
      problems.push_back(
          Format("perf.json: {} must not be negative, found {}", Key(inner), FormatG(*number)));
    }
  }
  for (const Unit& unit : kTimeUnits) {
    PercentileCheck(object, path, unit.suffix, problems).Run();
  }
}

// Parses and makes sure of an object; one problem otherwise.
MetricFile ReadObject(std::string_view bytes, std::string_view file) {
  MetricFile out;
  if (Trim(bytes).empty()) {
    out.problems.push_back(Format("{} is missing or empty", file));
    return out;
  }
  const JsonLimits limits{.max_bytes = kMaxMetricFileBytes, .max_depth = kMaxMetricFileDepth};
  Result<Json> parsed = ParseJson(bytes, file, limits);
  if (!parsed.ok()) {
    out.problems.push_back(PrintableLine(parsed.error().message, 300));
    return out;
  }
  if (parsed->AsObject() == nullptr) {
    out.problems.push_back(
        Format("{} must hold an object, found {}", file, TypeName(parsed->type())));
    return out;
  }
  out.json = *std::move(parsed);
  return out;
}

void ReadQualityMetrics(QualityFile& out) {
  const Json* nested = out.json.Find("metrics");
  if (nested != nullptr && nested->AsObject() == nullptr) {
    out.problems.push_back(
        Format("quality.json: `metrics` must be an object, found {}", TypeName(nested->type())));
    return;
  }
  const Json& source = nested != nullptr ? *nested : out.json;
  for (const auto& [name, value] : *source.AsObject()) {
    if (const auto number = value.AsDouble()) {
      out.metrics.emplace_back(name, *number);
    } else {
      out.ill_formed[name] = Format("quality.json: metric {} must be a number, found {}", Key(name),
                                    TypeName(value.type()));
    }
  }
}

void ReadCases(QualityFile& out) {
  const Json* cases = out.json.Find("cases");
  if (cases == nullptr || cases->is_null()) return;
  if (cases->AsObject() == nullptr) {
    out.problems.push_back(
        Format("quality.json: `cases` must be an object, found {}", TypeName(cases->type())));
    return;
  }
  for (const auto& [name, value] : *cases->AsObject()) {
    const bool nested = value.AsObject() != nullptr;
    const Json* passed = nested ? value.Find("passed") : &value;
    if (passed != nullptr && passed->AsBool() != nullptr) {
      out.cases.emplace_back(name, *passed->AsBool());
      continue;
    }
    out.problems.push_back(Format("quality.json: case {}{} must be true or false, found {}",
                                  Key(name), nested ? ".passed" : "",
                                  passed == nullptr ? "nothing" : TypeName(passed->type())));
  }
}

std::optional<std::size_t> CountBeside(const Json& object) {
  for (const std::string_view key : {"count", "runs", "iterations", "samples"}) {
    const Json* found = object.Find(key);
    const std::int64_t* whole = found == nullptr ? nullptr : found->AsInt();
    if (whole != nullptr && *whole > 0) return static_cast<std::size_t>(*whole);
  }
  return std::nullopt;
}

}  // namespace

MetricFile ReadPerf(std::string_view bytes) {
  MetricFile out = ReadObject(bytes, "perf.json");
  if (out.problems.empty()) CheckPerfObject(out.json, "", out.problems);
  LimitProblems(out.problems, "perf.json");
  return out;
}

QualityFile ReadQuality(std::string_view bytes) {
  MetricFile file = ReadObject(bytes, "quality.json");
  QualityFile out;
  out.json = std::move(file.json);
  out.problems = std::move(file.problems);
  if (!out.problems.empty()) return out;
  ReadQualityMetrics(out);
  ReadCases(out);
  LimitProblems(out.problems, "quality.json");
  return out;
}

std::optional<double> QualityFile::Value(std::string_view name) const {
  for (const auto& [key, value] : metrics) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<bool> QualityFile::Case(std::string_view name) const {
  for (const auto& [key, passed] : cases) {
    if (key == name) return passed;
  }
  return std::nullopt;
}

std::optional<double> Metric(const Json& perf, std::string_view dotted_path) {
  const Json* found = perf.FindPath(dotted_path);
  const std::optional<double> value = found == nullptr ? std::nullopt : found->AsDouble();
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string ExitQuality(bool succeeded) {
  return Json(JsonObject{{"cases", JsonObject{{"exit", succeeded}}},
                         {"metrics", JsonObject{{"exit", succeeded ? 1.0 : 0.0}}}})
      .Pretty();
}

bool IsTimeOrSize(std::string_view dotted_path) {
  const std::string_view name = LastName(dotted_path);
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  return SecondsPerUnit(name).has_value() || std::ranges::any_of(kSizeSuffixes, ends) ||
         std::ranges::find(kOwnMetrics, name) != kOwnMetrics.end();
}

std::optional<double> SecondsPerUnit(std::string_view dotted_path) {
  const std::string_view name = LastName(dotted_path);
  // Rates end in _s, too: throughput_items_s, tokens_per_s.
  if (name.starts_with("throughput") || name.find("_per_") != std::string_view::npos) {
    return std::nullopt;
  }
  for (const Unit& unit : kTimeUnits) {
    if (name.ends_with(unit.suffix)) return unit.seconds;
  }
  return std::nullopt;
}

std::optional<Samples> SamplesBeside(const Json& perf, std::string_view dotted_path) {
  const std::size_t dot = dotted_path.rfind('.');
  const Json* object =
      dot == std::string_view::npos ? &perf : perf.FindPath(dotted_path.substr(0, dot));
  if (object == nullptr || object->AsObject() == nullptr) return std::nullopt;
  for (const Unit& unit : kTimeUnits) {
    const Json* list = object->Find("samples" + std::string(unit.suffix));
    if (list == nullptr || list->AsArray() == nullptr) continue;
    Samples out{.count = list->AsArray()->size(), .listed = true};
    for (const Json& item : *list->AsArray()) {
      out.total_s += item.AsDouble().value_or(0) * unit.seconds;
    }
    return out;
  }
  const auto unit = SecondsPerUnit(dotted_path);
  const auto value = Metric(perf, dotted_path);
  const auto count = CountBeside(*object);
  if (!unit || !value || !count) return std::nullopt;
  return Samples{.count = *count, .total_s = *value * *unit * static_cast<double>(*count)};
}

}  // namespace pawl::judge
