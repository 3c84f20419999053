#include "campaign/config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "campaign/config_reader.h"
#include "campaign/config_sections.h"
#include "campaign/scope_path.h"

namespace pawl::campaign {
namespace {

constexpr std::array<std::pair<Stage, std::string_view>, 8> kStages = {{
    {Stage::kSetup, "setup"},
    {Stage::kCheck, "check"},
    {Stage::kBuild, "build"},
    {Stage::kPrepare, "prepare"},
    {Stage::kSmoke, "smoke"},
    {Stage::kPerf, "perf"},
    {Stage::kQuality, "quality"},
    {Stage::kProfile, "profile"},
}};

constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 20;

bool IsEmptyValue(const Json* value) {
  if (value == nullptr || value->is_null()) return true;
  if (const JsonArray* array = value->AsArray()) return array->empty();
  if (const std::string* text = value->AsString()) return text->empty();
  return false;
}

bool IsBlankText(const Json& root, std::string_view dotted_path) {
  const Json* value = root.FindPath(dotted_path);
  if (value == nullptr || value->is_null()) return true;
  const std::string* text = value->AsString();
  return text != nullptr && Trim(*text).empty();
}

// dit-ar's own checks, in its order and words.
std::vector<std::string> CompatProblems(const Json& source, const Config& config) {
  std::vector<std::string> lines;
  if (IsEmptyValue(source.Find("mutable_paths")))
    lines.emplace_back("- mutable_paths must contain at least one path");
  if (IsBlankText(source, "commands.perf")) lines.emplace_back("- commands.perf is required");
  if (IsBlankText(source, "commands.quality")) lines.emplace_back("- commands.quality is required");
  if (IsBlankText(source, "objective.metric")) lines.emplace_back("- objective.metric is required");
  const Json* direction = source.FindPath("objective.direction");
  const std::string* word = direction == nullptr ? nullptr : direction->AsString();
  if (word == nullptr || (*word != "lower" && *word != "higher"))
    lines.emplace_back("- objective.direction must be 'lower' or 'higher'");
  if (!os::Exists(config.contract_file))
    lines.push_back(Format("- quality contract not found: {}",
                           PrintableLine(config.contract_file.string(), 4096)));
  return lines;
}

Path Canonical(const Path& path) {
  std::error_code error;
  Path canonical = std::filesystem::weakly_canonical(path, error);
  if (error) canonical = path.lexically_normal();
  if (!canonical.has_filename()) canonical = canonical.parent_path();
  return canonical;
}

Result<Json> ReadSource(const Path& file, std::string_view shown) {
  PAWL_ASSIGN(const std::string text, os::ReadFile(file, {.max_bytes = kMaxConfigBytes}));
  return file.extension() == ".toml" ? ParseToml(text, shown) : ParseJson(text, shown);
}

}  // namespace

std::string_view ProtocolName(Protocol protocol) {
  return protocol == Protocol::kWall ? "wall" : "files";
}

std::string_view DirectionName(Direction direction) {
  return direction == Direction::kHigher ? "higher" : "lower";
}

std::string_view StageName(Stage stage) {
  for (const auto& [known, name] : kStages) {
    if (known == stage) return name;
  }
  return "";
}

std::optional<Stage> ParseStage(std::string_view name) {
  for (const auto& [stage, known] : kStages) {
    if (known == name) return stage;
  }
  return std::nullopt;
}

const std::string* Config::Command(Stage stage) const {
  const auto found = commands.find(stage);
  return found == commands.end() ? nullptr : &found->second;
}

std::string HarnessPath(const Config& config, const Path& path) {
  const Path normal = (path.is_absolute() ? path : config.root / path).lexically_normal();
  const std::string relative = normal.lexically_relative(config.root).generic_string();
  std::string inside =
      relative.starts_with("..") || relative.empty() ? normal.generic_string() : relative;
  if (inside.size() > 1 && inside.back() == '/') inside.pop_back();
  return inside;
}

std::vector<std::string> HarnessPaths(const Config& config) {
  std::vector<std::string> paths;
  for (const std::string& fixed : config.fixed_paths) {
    std::string slashed = fixed;
    std::replace(slashed.begin(), slashed.end(), '\\', '/');
    paths.push_back(HarnessPath(config, slashed));
  }
  paths.push_back(HarnessPath(config, config.file));
  paths.push_back(HarnessPath(config, config.contract_file));
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

Result<LoadedConfig> LoadConfig(const Path& file) {
  const Path absolute = Canonical(std::filesystem::absolute(file));
  if (!os::Exists(absolute))
    return MakeError(Code::kNotFound, Format("Config does not exist: {}", absolute.string()),
                     "pass --config FILE, or start from one of the templates");
  PAWL_ASSIGN(Json source, ReadSource(absolute, file.string()));
  if (source.AsObject() == nullptr)
    return MakeError(Code::kInvalidArgument, "Config root must be a JSON object");

  LoadedConfig loaded;
  Config& config = loaded.config;
  config.file = absolute;
  IssueList issues(file.string());
  ConfigReader top(source.AsObject(), "", issues);
  ReadPlaces(top, config);
  std::vector<std::string> problems = CompatProblems(source, config);
  ReadSections(top, config);
  top.RefuseUnknown();
  CheckScopes(config, issues);

  for (std::string& line : issues.ProblemLines()) problems.push_back(std::move(line));
  if (!problems.empty())
    return MakeError(Code::kInvalidArgument, "Invalid config:\n" + Join(problems, "\n"));
  config.source = std::move(source);
  loaded.notes = issues.Notes();
  return loaded;
}

}  // namespace pawl::campaign
