#include "loop/timed_runs.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "judge/metrics.h"

namespace pawl::loop {

namespace {

using Figure = double (*)(const os::RunOutcome&);

double Wall(const os::RunOutcome& run) {
  return run.wall_s;
}
double Cpu(const os::RunOutcome& run) {
  return run.cpu_s;
}
double PeakRss(const os::RunOutcome& run) {
  return MegaBytes(run.peak_rss_bytes);
}

std::vector<double> Figures(const std::vector<os::RunOutcome>& runs, Figure figure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const os::RunOutcome& run : runs) values.push_back(figure(run));
  return values;
}

// The metric's worst value over all files; nothing when one of them lacks it.
std::optional<double> Worst(const std::vector<judge::QualityFile>& files,
                            const campaign::QualityMetric& metric) {
  std::optional<double> worst;
  for (const judge::QualityFile& file : files) {
    const std::optional<double> value = file.Value(metric.name);
    if (!value) return std::nullopt;
    const bool lower_is_worse = metric.direction == campaign::Direction::kHigher;
    if (!worst || (lower_is_worse ? *value < *worst : *value > *worst)) worst = value;
  }
  return worst;
}

}  // namespace

std::string FreshSeed() {
  std::uint64_t number = 0;
  for (const char byte : RandomBytes(8)) number = number << 8 | static_cast<unsigned char>(byte);
  return std::to_string(number >> 1);
}

double MegaBytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

double Median(std::vector<double> values) {
  PAWL_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double MedianWall(const std::vector<os::RunOutcome>& runs) {
  return Median(Figures(runs, &Wall));
}

std::string TimedPerf(const std::vector<os::RunOutcome>& runs) {
  JsonObject perf;
  JsonObject all;
  const std::pair<const char*, Figure> figures[] = {
      {"wall", &Wall}, {"cpu", &Cpu}, {"peak_rss", &PeakRss}};
  for (const auto& [name, figure] : figures) {
    const std::vector<double> values = Figures(runs, figure);
    perf[name] = Median(values);
    all[name] = JsonArray(values.begin(), values.end());
  }
  perf["samples"] = std::move(all);
  return Json(std::move(perf)).Compact();
}

std::string WorstQuality(const std::vector<std::string>& files,
                         const campaign::Contract& contract) {
  PAWL_CHECK(!files.empty());
  const bool all_equal =
      std::ranges::all_of(files, [&](const auto& file) { return file == files.front(); });
  if (all_equal) return files.front();

  std::vector<judge::QualityFile> read;
  for (const std::string& file : files) {
    read.push_back(judge::ReadQuality(file));
    // The judge names what is wrong with it.
    if (!read.back().problems.empty() || !read.back().ill_formed.empty()) return file;
  }
  JsonObject metrics;
  for (const campaign::QualityMetric& metric : contract.metrics) {
    if (const auto worst = Worst(read, metric)) metrics[metric.name] = *worst;
  }
  JsonObject cases;
  for (const auto& [name, first] : read.front().cases) {
    bool everywhere = true;
    bool passed = true;
    for (const judge::QualityFile& file : read) {
      const std::optional<bool> one = file.Case(name);
      everywhere = everywhere && one.has_value();
      passed = passed && one.value_or(false);
    }
    if (everywhere) cases[name] = JsonObject{{"passed", passed}};
  }
  return Json(JsonObject{{"metrics", std::move(metrics)}, {"cases", std::move(cases)}}).Compact();
}

}  // namespace pawl::loop
