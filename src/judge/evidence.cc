// Evidence and rules as JSON. Order matters to the wording of verdicts and canonical JSON sorts
// keys, so everything with an order is written as a list.
#include <array>
#include <utility>

#include "base/text.h"
#include "judge/verdict.h"

namespace pawl::judge {

namespace {

Error Corrupt(std::string_view key, std::string_view expected) {
  return MakeError(Code::kCorrupt, Format("evidence: `{}` must be {}", key, expected),
                   "the record was not written by Pawl or was changed; run `pawl verify`");
}

// Typed look-ups that end in an error naming the key.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Status Read(std::string_view key, std::string& out) const {
    const Json* found = json_.Find(key);
    if (found == nullptr || found->AsString() == nullptr) return Corrupt(key, "a text");
    out = *found->AsString();
    return OkStatus();
  }
  Status Read(std::string_view key, bool& out) const {
    const Json* found = json_.Find(key);
    if (found == nullptr || found->AsBool() == nullptr) return Corrupt(key, "true or false");
    out = *found->AsBool();
    return OkStatus();
  }
  Status Read(std::string_view key, double& out) const {
    const Json* found = json_.Find(key);
    const auto number = found == nullptr ? std::nullopt : found->AsDouble();
    if (!number) return Corrupt(key, "a number");
    out = *number;
    return OkStatus();
  }
  Status Read(std::string_view key, int& out) const {
    const Json* found = json_.Find(key);
    const std::int64_t* whole = found == nullptr ? nullptr : found->AsInt();
    if (whole == nullptr || !std::in_range<int>(*whole))
      return Corrupt(key, "a small whole number");
    out = static_cast<int>(*whole);
    return OkStatus();
  }
  // Null is "not given".
  Status Read(std::string_view key, std::optional<double>& out) const {
    const Json* found = json_.Find(key);
    if (found == nullptr) return Corrupt(key, "a number or null");
    out = found->AsDouble();
    return out || found->is_null() ? OkStatus() : Corrupt(key, "a number or null");
  }
  Status Read(std::string_view key, std::vector<std::string>& out) const {
    PAWL_ASSIGN(const JsonArray* list, List(key));
    for (const Json& item : *list) {
      if (item.AsString() == nullptr) return Corrupt(key, "a list of texts");
      out.push_back(*item.AsString());
    }
    return OkStatus();
  }
  Result<const JsonArray*> List(std::string_view key) const {
    const Json* found = json_.Find(key);
    if (found == nullptr || found->AsArray() == nullptr) return Corrupt(key, "a list");
    return found->AsArray();
  }
  Result<const Json*> Object(std::string_view key) const {
    const Json* found = json_.Find(key);
    if (found == nullptr || found->AsObject() == nullptr) return Corrupt(key, "an object");
    return found;
  }
  Status ReadDirection(campaign::Direction& out) const {
    std::string name;
    PAWL_TRY(Read("direction", name));
    for (const auto each : {campaign::Direction::kLower, campaign::Direction::kHigher}) {
      if (name != campaign::DirectionName(each)) continue;
      out = each;
      return OkStatus();
    }
    return Corrupt("direction", "lower or higher");
  }
  Status ReadBytes(std::string_view key, std::string& out) const {
    const Json* found = json_.Find(key);
    if (found == nullptr || found->AsObject() == nullptr) return Read(key, out);
    const std::string hex = found->StringAt("hex");
    if (hex.size() % 2 != 0) return Corrupt(key, "whole bytes in hex");
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const std::size_t high = kDigits.find(hex[i]);
      const std::size_t low = kDigits.find(hex[i + 1]);
      if (high == std::string_view::npos || low == std::string_view::npos) {
        return Corrupt(key, "whole bytes in hex");
      }
      out += static_cast<char>(high * 16 + low);
    }
    return OkStatus();
  }

 private:
  const Json& json_;
};

// JSON holds text; bytes that are none must come back as they were all the same.
Json Bytes(const std::string& bytes) {
  if (IsValidUtf8(bytes)) return bytes;
  const std::vector<std::uint8_t> raw(bytes.begin(), bytes.end());
  return JsonObject{{"hex", ToHex(raw)}};
}

// Texts of foreign origin inside records: malformed bytes would make the record itself malformed.
Json Text(const std::string& text) {
  return IsValidUtf8(text) ? Json(text) : Json(Printable(text));
}

Json Texts(const std::vector<std::string>& texts) {
  JsonArray out;
  for (const std::string& text : texts) out.push_back(Text(text));
  return out;
}

Json StageToJson(const StageEvidence& stage) {
  return JsonObject{{"stage", Text(stage.stage)},
                    {"end", Text(stage.end)},
                    {"exit_code", stage.exit_code},
                    {"wall_s", stage.wall_s},
                    {"cpu_s", stage.cpu_s},
                    {"peak_rss_mb", stage.peak_rss_mb},
                    {"description", Text(stage.description)},
                    {"last_words", Text(stage.last_words)}};
}

Result<StageEvidence> StageFromJson(const Json& json) {
  const Reader reader(json);
  StageEvidence out;
  PAWL_TRY(reader.Read("stage", out.stage));
  PAWL_TRY(reader.Read("end", out.end));
  PAWL_TRY(reader.Read("exit_code", out.exit_code));
  PAWL_TRY(reader.Read("wall_s", out.wall_s));
  PAWL_TRY(reader.Read("cpu_s", out.cpu_s));
  PAWL_TRY(reader.Read("peak_rss_mb", out.peak_rss_mb));
  PAWL_TRY(reader.Read("description", out.description));
  PAWL_TRY(reader.Read("last_words", out.last_words));
  return out;
}

Json Optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

constexpr std::array kClocks = {
    std::pair{campaign::OutsideClock::kRefuse, std::string_view("refuse")},
    std::pair{campaign::OutsideClock::kWarn, std::string_view("warn")},
    std::pair{campaign::OutsideClock::kOff, std::string_view("off")}};

std::string_view ClockName(campaign::OutsideClock clock) {
  for (const auto& [value, name] : kClocks) {
    if (value == clock) return name;
  }
  return "refuse";
}

Json ContractToJson(const campaign::Contract& contract) {
  JsonArray metrics;
  for (const campaign::QualityMetric& metric : contract.metrics) {
    metrics.emplace_back(JsonObject{{"name", metric.name},
                                    {"direction", campaign::DirectionName(metric.direction)},
                                    {"max_abs_regression", metric.max_abs_regression},
                                    {"max_rel_regression", metric.max_rel_regression}});
  }
  return JsonObject{{"strict_zero_regression", contract.strict_zero_regression},
                    {"require_case_passes", contract.require_case_passes},
                    {"metrics", std::move(metrics)}};
}

Status ContractFromJson(const Json& json, campaign::Contract& out) {
  const Reader reader(json);
  PAWL_TRY(reader.Read("strict_zero_regression", out.strict_zero_regression));
  PAWL_TRY(reader.Read("require_case_passes", out.require_case_passes));
  PAWL_ASSIGN(const JsonArray* metrics, reader.List("metrics"));
  for (const Json& item : *metrics) {
    const Reader entry(item);
    campaign::QualityMetric metric;
    PAWL_TRY(entry.Read("name", metric.name));
    PAWL_TRY(entry.ReadDirection(metric.direction));
    PAWL_TRY(entry.Read("max_abs_regression", metric.max_abs_regression));
    PAWL_TRY(entry.Read("max_rel_regression", metric.max_rel_regression));
    out.metrics.push_back(std::move(metric));
  }
  return OkStatus();
}

Status GuardrailsFromJson(const JsonArray& list, std::vector<campaign::Guardrail>& out) {
  for (const Json& item : list) {
    const Reader entry(item);
    campaign::Guardrail guardrail;
    PAWL_TRY(entry.Read("metric", guardrail.metric));
    PAWL_TRY(entry.ReadDirection(guardrail.direction));
    PAWL_TRY(entry.Read("max_abs_regression", guardrail.max_abs_regression));
    PAWL_TRY(entry.Read("max_rel_regression", guardrail.max_rel_regression));
    PAWL_TRY(entry.Read("required", guardrail.required));
    out.push_back(std::move(guardrail));
  }
  return OkStatus();
}

Status ObjectiveFromJson(const Json& json, campaign::Objective& out) {
  const Reader reader(json);
  PAWL_TRY(reader.Read("metric", out.metric));
  PAWL_TRY(reader.ReadDirection(out.direction));
  PAWL_TRY(reader.Read("min_improvement_fraction", out.min_improvement_fraction));
  return reader.Read("min_improvement_abs", out.min_improvement_abs);
}

}  // namespace

Json Evidence::ToJson() const {
  JsonArray stage_list;
  for (const StageEvidence& stage : stages) stage_list.push_back(StageToJson(stage));
  return JsonObject{{"version", version},
                    {"protocol", Text(protocol)},
                    {"isolation", Text(isolation)},
                    {"judge_apart", judge_apart},
                    {"own_uid", own_uid},
                    {"trust_candidate", trust_candidate},
                    {"intake", Text(intake)},
                    {"intake_reasons", Texts(intake_reasons)},
                    {"environment_differences", Texts(environment_differences)},
                    {"infra_error", Text(infra_error)},
                    {"interrupted", interrupted},
                    {"stages", std::move(stage_list)},
                    {"integrity", Texts(integrity)},
                    {"perf", Bytes(perf)},
                    {"quality", Bytes(quality)},
                    {"baseline_perf", Bytes(baseline_perf)},
                    {"baseline_quality", Bytes(baseline_quality)},
                    {"incumbent_perf", Bytes(incumbent_perf)},
                    {"incumbent_outside_wall_s", incumbent_outside_wall_s},
                    {"candidate_outside_wall_s", candidate_outside_wall_s},
                    {"declared_class", Text(declared_class)},
                    {"class_signs", Texts(class_signs)},
                    {"judged_class", Text(judged_class)},
                    {"rules", rules}};
}

Result<Evidence> Evidence::FromJson(const Json& json) {
  const Reader reader(json);
  Evidence out;
  const int known = out.version;
  PAWL_TRY(reader.Read("version", out.version));
  if (out.version != known) {
    return MakeError(
        Code::kUnsupported,
        Format("evidence has version {}, this Pawl reads version {}", out.version, known),
        "use the Pawl that wrote the record, or a newer one");
  }
  PAWL_TRY(reader.Read("protocol", out.protocol));
  PAWL_TRY(reader.Read("isolation", out.isolation));
  PAWL_TRY(reader.Read("judge_apart", out.judge_apart));
  PAWL_TRY(reader.Read("own_uid", out.own_uid));
  PAWL_TRY(reader.Read("trust_candidate", out.trust_candidate));
  PAWL_TRY(reader.Read("intake", out.intake));
  PAWL_TRY(reader.Read("intake_reasons", out.intake_reasons));
  PAWL_TRY(reader.Read("environment_differences", out.environment_differences));
  PAWL_TRY(reader.Read("infra_error", out.infra_error));
  PAWL_TRY(reader.Read("interrupted", out.interrupted));
  PAWL_ASSIGN(const JsonArray* stage_list, reader.List("stages"));
  for (const Json& item : *stage_list) {
    PAWL_ASSIGN(StageEvidence stage, StageFromJson(item));
    out.stages.push_back(std::move(stage));
  }
  PAWL_TRY(reader.Read("integrity", out.integrity));
  PAWL_TRY(reader.ReadBytes("perf", out.perf));
  PAWL_TRY(reader.ReadBytes("quality", out.quality));
  PAWL_TRY(reader.ReadBytes("baseline_perf", out.baseline_perf));
  PAWL_TRY(reader.ReadBytes("baseline_quality", out.baseline_quality));
  PAWL_TRY(reader.ReadBytes("incumbent_perf", out.incumbent_perf));
  PAWL_TRY(reader.Read("incumbent_outside_wall_s", out.incumbent_outside_wall_s));
  PAWL_TRY(reader.Read("candidate_outside_wall_s", out.candidate_outside_wall_s));
  PAWL_TRY(reader.Read("declared_class", out.declared_class));
  PAWL_TRY(reader.Read("class_signs", out.class_signs));
  PAWL_TRY(reader.Read("judged_class", out.judged_class));
  if (const Json* found = json.Find("rules")) out.rules = *found;
  return out;
}

Json RulesOf(const campaign::Config& config, const campaign::Contract& contract) {
  JsonArray guardrails;
  for (const campaign::Guardrail& guardrail : config.guardrails) {
    guardrails.emplace_back(
        JsonObject{{"metric", guardrail.metric},
                   {"direction", campaign::DirectionName(guardrail.direction)},
                   {"max_abs_regression", Optional(guardrail.max_abs_regression)},
                   {"max_rel_regression", Optional(guardrail.max_rel_regression)},
                   {"required", guardrail.required}});
  }
  const campaign::Objective& objective = config.objective;
  return JsonObject{
      {"objective", JsonObject{{"metric", objective.metric},
                               {"direction", campaign::DirectionName(objective.direction)},
                               {"min_improvement_fraction", objective.min_improvement_fraction},
                               {"min_improvement_abs", objective.min_improvement_abs}}},
      {"guardrails", std::move(guardrails)},
      {"quantization_enabled", config.quantization.enabled_for_research},
      {"outside_clock", ClockName(config.outside_clock)},
      {"min_level", os::LevelName(config.sandbox.min_level)},
      {"contract", ContractToJson(contract)}};
}

Result<Rules> RulesFrom(const Json& rules) {
  const Reader reader(rules);
  Rules out;
  PAWL_ASSIGN(const Json* objective, reader.Object("objective"));
  PAWL_TRY(ObjectiveFromJson(*objective, out.config.objective));
  PAWL_ASSIGN(const JsonArray* guardrails, reader.List("guardrails"));
  PAWL_TRY(GuardrailsFromJson(*guardrails, out.config.guardrails));
  PAWL_TRY(reader.Read("quantization_enabled", out.config.quantization.enabled_for_research));
  std::string clock;
  PAWL_TRY(reader.Read("outside_clock", clock));
  bool known = false;
  for (const auto& [value, name] : kClocks) {
    if (name != clock) continue;
    out.config.outside_clock = value;
    known = true;
  }
  if (!known) return Corrupt("outside_clock", "refuse, warn or off");
  std::string level;
  PAWL_TRY(reader.Read("min_level", level));
  const auto parsed = os::ParseLevel(level);
  if (!parsed) return Corrupt("min_level", "L0, L1, L2 or L3");
  out.config.sandbox.min_level = *parsed;
  PAWL_ASSIGN(const Json* contract, reader.Object("contract"));
  PAWL_TRY(ContractFromJson(*contract, out.contract));
  return out;
}

}  // namespace pawl::judge
