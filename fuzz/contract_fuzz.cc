// Quality contracts: what is taken has finite limits not below zero, and reads back the same from
// its record; every line of a refusal names the file.
#include <cmath>
#include <set>

#include "campaign/contract.h"
#include "input.h"

namespace {

namespace campaign = pawl::campaign;

void CheckRefusal(const pawl::Error& error) {
  if (error.message == "quality contract root must be a JSON object") return;
  const std::vector<std::string_view> lines = pawl::Split(error.message, '\n');
  PAWL_CHECK(lines[0] == "Invalid quality contract:" && lines.size() > 1);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    PAWL_CHECK(pawl::fuzz::IsPrintableLine(lines[i]));
    PAWL_CHECK(lines[i].starts_with("- contract.json: ") ||
               lines[i] == "- quality contract contains no metrics");
  }
}

void CheckContract(const campaign::Contract& contract, campaign::Protocol protocol) {
  std::set<std::string> names;
  for (const campaign::QualityMetric& metric : contract.metrics) {
    PAWL_CHECK(!pawl::Trim(metric.name).empty() && names.insert(metric.name).second);
    for (const double limit : {metric.max_abs_regression, metric.max_rel_regression}) {
      PAWL_CHECK(std::isfinite(limit) && limit >= 0);
    }
  }
  PAWL_CHECK(!contract.metrics.empty() ||
             (protocol == campaign::Protocol::kWall && contract.require_case_passes));
  const auto stored = pawl::ParseJson(contract.source.Canonical(), "record");
  PAWL_CHECK(stored.ok());
  PAWL_CHECK(campaign::ParseContract(*stored, "contract.json", protocol).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pawl::fuzz::TextOf(data, size);
  const bool json = pawl::Trim(text).starts_with('{');
  const auto source = json ? pawl::ParseJson(text, "input") : pawl::ParseToml(text, "input");
  if (!source.ok()) return 0;
  for (const auto protocol : {campaign::Protocol::kFiles, campaign::Protocol::kWall}) {
    const auto contract = campaign::ParseContract(*source, "contract.json", protocol);
    if (contract.ok()) {
      CheckContract(*contract, protocol);
    } else {
      CheckRefusal(contract.error());
    }
  }
  return 0;
}
