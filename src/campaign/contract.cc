#include "campaign/contract.h"

#include "base/text.h"
#include "campaign/config_reader.h"

namespace pawl::campaign {
namespace {

constexpr std::uint64_t kMaxContractBytes = std::uint64_t{1} << 20;

QualityMetric ReadMetric(ConfigReader section, const std::string& name) {
  QualityMetric metric;
  metric.name = name;
  metric.direction = section.Choice("direction", Direction::kHigher,
                                    {{"lower", Direction::kLower}, {"higher", Direction::kHigher}});
  metric.max_abs_regression = section.Amount("max_abs_regression", 0);
  metric.max_rel_regression = section.Amount("max_rel_regression", 0);
  section.RefuseUnknown();
  return metric;
}

}  // namespace

Result<Contract> ParseContract(const Json& source, std::string_view file_name, Protocol protocol) {
  if (source.AsObject() == nullptr)
    return MakeError(Code::kInvalidArgument, "quality contract root must be a JSON object");
  IssueList issues{std::string(file_name)};
  ConfigReader top(source.AsObject(), "", issues);
  Contract contract;
  contract.strict_zero_regression = top.Bool("strict_zero_regression", false);
  contract.require_case_passes = top.Bool("require_case_passes", true);
  ConfigReader metrics = top.Section("metrics");
  if (metrics.object() != nullptr) {
    for (const auto& [name, value] : *metrics.object()) {
      if (Trim(name).empty()) issues.Problem("metrics", "a metric's name is empty");
      contract.metrics.push_back(ReadMetric(metrics.Section(name), name));
    }
  }
  top.RefuseUnknown();

  std::vector<std::string> problems = issues.ProblemLines();
  // A checker's exit code is a case of its own under `wall`, so that metrics are not needed there.
  const bool cases_suffice = protocol == Protocol::kWall && contract.require_case_passes;
  if (contract.metrics.empty() && !issues.has_problems() && !cases_suffice)
    problems.emplace_back("- quality contract contains no metrics");
  if (!problems.empty())
    return MakeError(Code::kInvalidArgument, "Invalid quality contract:\n" + Join(problems, "\n"));
  contract.source = source;
  return contract;
}

Result<Contract> LoadContract(const Path& file, Protocol protocol) {
  PAWL_ASSIGN(const std::string text, os::ReadFile(file, {.max_bytes = kMaxContractBytes}));
  PAWL_ASSIGN(const Json source, file.extension() == ".toml" ? ParseToml(text, file.string())
                                                             : ParseJson(text, file.string()));
  return ParseContract(source, file.string(), protocol);
}

Result<Contract> LoadContract(const Config& config) {
  return LoadContract(config.contract_file, config.protocol);
}

}  // namespace pawl::campaign
