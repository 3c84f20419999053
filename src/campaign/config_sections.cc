#include "campaign/config_sections.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "campaign/command_text.h"
#include "campaign/scope_path.h"

namespace pawl::campaign {
namespace {

constexpr std::int64_t kMaxTimeoutSeconds = 7 * 24 * 3600;
constexpr std::array<Stage, 8> kAllStages = {Stage::kSetup,   Stage::kCheck,  Stage::kBuild,
                                             Stage::kPrepare, Stage::kSmoke,  Stage::kPerf,
                                             Stage::kQuality, Stage::kProfile};
constexpr std::array<std::string_view, 3> kWallMetrics = {"wall", "cpu", "peak_rss"};
constexpr std::string_view kWallMetricList = "`wall`, `cpu` or `peak_rss`";

bool IsWallMetric(std::string_view name) {
  return std::find(kWallMetrics.begin(), kWallMetrics.end(), name) != kWallMetrics.end();
}

bool IsDottedPath(std::string_view path) {
  const auto parts = Split(path, '.');
  return std::none_of(parts.begin(), parts.end(),
                      [](std::string_view part) { return Trim(part).empty(); });
}

bool IsVariableName(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

Path Joined(const Path& root, std::string_view written) {
  Path joined = (root / Path(written)).lexically_normal();
  if (!joined.has_filename()) joined = joined.parent_path();
  return joined;
}

Path Resolved(const Path& path) {
  std::error_code error;
  Path canonical = std::filesystem::weakly_canonical(path, error);
  if (error) canonical = path.lexically_normal();
  return canonical.has_filename() ? canonical : canonical.parent_path();
}

void ReadPaths(ConfigReader& top, Config& config) {
  std::vector<std::string> written;
  // Absence and emptiness are dit-ar's own problem text.
  if (const Json* value = top.Raw("mutable_paths");
      value != nullptr && !value->is_null() &&
      (value->AsString() == nullptr || !value->AsString()->empty()))
    written = top.Texts("mutable_paths");
  for (const std::string& path : written) {
    auto normal = NormaliseRelative(path);
    if (normal.ok())
      config.mutable_paths.push_back(std::move(normal).value());
    else
      top.issues().Problem("mutable_paths", normal.error().message);
  }
  config.fixed_paths = top.Texts("fixed_paths");
  if (top.has("fixed_paths") ? config.fixed_paths.empty() : true)
    top.issues().Note("fixed_paths", "no fixed paths: only the config and the contract are locked");
}

// Which place-holders have a value when a stage runs. A seed that build steps knew would not be
// fresh any more when the measurement starts.
void CheckPlaceHolders(ConfigReader& commands, Stage stage, const std::string& text,
                       bool has_setup) {
  const std::string name = commands.Name(StageName(stage));
  const auto parsed = ParseCommandText(text);
  if (!parsed.ok()) {
    commands.issues().Problem(name, parsed.error().message);
    return;
  }
  const bool seeded = stage == Stage::kPrepare || stage == Stage::kSmoke || stage == Stage::kPerf ||
                      stage == Stage::kQuality;
  for (const std::string& used : parsed->names) {
    if (used == "seed" && !seeded)
      commands.issues().Problem(
          name, "{seed} is drawn after the build; only prepare, smoke, perf and quality get one");
    if (used == "setup_dir" && !has_setup)
      commands.issues().Problem(name, "{setup_dir} needs commands.setup, which is not configured");
  }
}

void ReadCommands(ConfigReader& top, Config& config) {
  ConfigReader commands = top.Section("commands");
  for (const Stage stage : kAllStages) {
    const std::optional<std::string> text = commands.OptionalText(StageName(stage));
    if (text && !Trim(*text).empty()) config.commands[stage] = *text;
  }
  commands.RefuseUnknown();
  const bool has_setup = config.Command(Stage::kSetup) != nullptr;
  for (const auto& [stage, text] : config.commands)
    CheckPlaceHolders(commands, stage, text, has_setup);
  if (config.protocol == Protocol::kFiles && config.Command(Stage::kPrepare) != nullptr)
    top.issues().Problem("commands.prepare", "is for protocol `wall`; this config is `files`");
  if (config.Command(Stage::kSmoke) == nullptr)
    top.issues().Note("commands.smoke", "no smoke command: broken candidates cost a full run");
}

void ReadTimeouts(ConfigReader& top, Config& config) {
  ConfigReader limits = top.Section("timeouts_seconds");
  for (const Stage stage : kAllStages)
    config.timeouts[stage] =
        std::chrono::seconds(limits.Whole(StageName(stage), 1800, 1, kMaxTimeoutSeconds));
  limits.RefuseUnknown();
}

void ReadObjective(ConfigReader& top, Config& config) {
  ConfigReader section = top.Section("objective");
  IssueList& issues = top.issues();
  Objective& objective = config.objective;
  objective.metric = std::string(Trim(section.OptionalText("metric").value_or("")));
  // A wrong direction is dit-ar's own problem text.
  if (const Json* word = section.Raw("direction"); word != nullptr && word->AsString() != nullptr)
    objective.direction = *word->AsString() == "higher" ? Direction::kHigher : Direction::kLower;
  objective.min_improvement_fraction = section.Amount("min_improvement_fraction", 0);
  objective.min_improvement_abs = section.Amount("min_improvement_abs", 0);
  section.RefuseUnknown();
  if (objective.metric.empty()) return;
  if (!IsDottedPath(objective.metric))
    issues.Problem("objective.metric", Format("`{}` is no dotted path: a part of it is empty",
                                              PrintableLine(objective.metric, 80)));
  if (objective.direction == Direction::kLower && objective.min_improvement_fraction >= 1)
    issues.Problem("objective.min_improvement_fraction",
                   Format("no candidate can be lower by {} of the best value; write 0.01 for 1 %",
                          FormatG(objective.min_improvement_fraction)));
  if (config.protocol != Protocol::kWall) return;
  if (!IsWallMetric(objective.metric))
    issues.Problem("objective.metric",
                   Format("must be {} under protocol `wall`, got `{}`", kWallMetricList,
                          PrintableLine(objective.metric, 80)));
  if (objective.direction != Direction::kLower)
    issues.Problem("objective.direction", "must be `lower` under protocol `wall`");
}

Guardrail ReadGuardrail(ConfigReader& section, const std::string& metric) {
  Guardrail rail;
  rail.metric = metric;
  rail.direction = section.Choice("direction", Direction::kLower,
                                  {{"lower", Direction::kLower}, {"higher", Direction::kHigher}});
  rail.max_abs_regression = section.OptionalAmount("max_abs_regression");
  rail.max_rel_regression = section.OptionalAmount("max_rel_regression");
  rail.required = section.Bool("required", true);
  section.RefuseUnknown();
  return rail;
}

bool HoldsOnlyObjects(const Json& value) {
  const JsonObject* object = value.AsObject();
  return object != nullptr && !object->empty() &&
         std::all_of(object->begin(), object->end(),
                     [](const JsonMember& member) { return member.second.AsObject() != nullptr; });
}

void ReadGuardrails(ConfigReader& top, Config& config) {
  ConfigReader section = top.Section("performance_guardrails");
  if (section.object() == nullptr) return;
  IssueList& issues = top.issues();
  for (const auto& [metric, value] : *section.object()) {
    const std::string name = section.Name(metric);
    if (!IsDottedPath(metric)) issues.Problem(name, "is no dotted path: a part of it is empty");
    if (config.protocol == Protocol::kWall && !IsWallMetric(metric))
      issues.Problem(name, Format("must be {} under protocol `wall`", kWallMetricList));
    if (HoldsOnlyObjects(value)) {
      // TOML's [performance_guardrails.latency.p95_s] means two nested keys.
      issues.Problem(name,
                     "holds further objects; write a dotted metric name in quotes, as one key");
      section.Raw(metric);
      continue;
    }
    ConfigReader rail_section = section.Section(metric);
    config.guardrails.push_back(ReadGuardrail(rail_section, metric));
    const Guardrail& rail = config.guardrails.back();
    if (metric == config.objective.metric && rail.direction != config.objective.direction)
      issues.Problem(name, "guards the objective in the opposite direction; no gain could pass");
  }
}

void ReadTarget(ConfigReader& top, Config& config) {
  ConfigReader section = top.Section("target");
  Target& target = config.target;
  // dit-ar's default, for the protocol that its configurations are read under.
  target.require_a5500 = section.Bool("require_a5500", config.protocol == Protocol::kFiles);
  target.gpu_name = section.OptionalText("gpu_name");
  target.architecture = section.OptionalText("architecture");
  constexpr std::string_view kCapability = "expected_compute_capability";
  const Json* capability = section.Raw(kCapability);
  if (capability != nullptr && capability->is_number())
    target.compute_capability = FormatDouble(*capability->AsDouble());
  else
    target.compute_capability = section.OptionalText(kCapability);
  if (section.has("gpu_count")) target.gpu_count = section.Whole("gpu_count", 1, 0, 1024);
  section.RefuseUnknown();
}

void ReadFolders(ConfigReader& section, std::string_view key, std::vector<Path>& folders) {
  for (const std::string& text : section.Texts(key)) {
    const Path folder = Path(text).lexically_normal();
    if (folder.is_absolute())
      folders.push_back(folder.has_filename() ? folder : folder.parent_path());
    else
      section.issues().Problem(section.Name(key),
                               Format("`{}` must be an absolute path", PrintableLine(text)));
  }
}

void ReadEnvironment(ConfigReader& section, SandboxConfig& sandbox) {
  IssueList& issues = section.issues();
  sandbox.env = section.Texts("env");
  for (const std::string& name : sandbox.env) {
    if (!IsVariableName(name))
      issues.Problem("sandbox.env", Format("`{}` is no variable name", PrintableLine(name, 80)));
  }
  ConfigReader set = section.Section("set");
  if (set.object() == nullptr) return;
  for (const auto& [name, value] : *set.object()) {
    if (!IsVariableName(name))
      issues.Problem("sandbox.set", Format("`{}` is no variable name", PrintableLine(name, 80)));
    if (std::find(sandbox.env.begin(), sandbox.env.end(), name) != sandbox.env.end())
      issues.Problem(set.Name(name), "is also in sandbox.env; name it once");
    sandbox.set[name] = set.OptionalText(name).value_or("");
  }
}

void ReadSandbox(ConfigReader& top, Config& config) {
  ConfigReader section = top.Section("sandbox");
  SandboxConfig& sandbox = config.sandbox;
  sandbox.min_level = section.Choice("min_level", os::IsolationLevel::kL1,
                                     {{"L0", os::IsolationLevel::kL0},
                                      {"L1", os::IsolationLevel::kL1},
                                      {"L2", os::IsolationLevel::kL2},
                                      {"L3", os::IsolationLevel::kL3}});
  ReadFolders(section, "read", sandbox.read);
  ReadFolders(section, "write", sandbox.write);
  ReadEnvironment(section, sandbox);
  sandbox.gpu = section.Bool("gpu", false);
  const bool read_only =
      config.Command(Stage::kBuild) != nullptr || config.protocol == Protocol::kWall;
  sandbox.tree_writable =
      section.Choice("tree", !read_only, {{"read-only", false}, {"writable", true}});
  sandbox.memory_mb = static_cast<std::uint64_t>(section.Whole("memory_mb", 8192, 16, 1 << 24));
  sandbox.processes = static_cast<std::uint32_t>(section.Whole("processes", 512, 4, 1 << 20));
  sandbox.file_size_mb =
      static_cast<std::uint64_t>(section.Whole("file_size_mb", 4096, 1, 1 << 24));
  sandbox.output_mb = static_cast<std::uint64_t>(section.Whole("output_mb", 16, 1, 4096));
  section.RefuseUnknown();
}

void ReadBuild(ConfigReader& top, Config& config) {
  ConfigReader setup = top.Section("setup");
  for (const std::string& text : setup.Texts("lock_files")) {
    auto normal = NormaliseRelative(text);
    if (normal.ok())
      config.setup_lock_files.push_back(std::move(normal).value());
    else
      top.issues().Problem("setup.lock_files", normal.error().message);
  }
  setup.RefuseUnknown();
  const bool has_setup = config.Command(Stage::kSetup) != nullptr;
  if (!has_setup && !config.setup_lock_files.empty())
    top.issues().Problem("setup.lock_files", "needs commands.setup, which is not configured");
  if (has_setup && config.setup_lock_files.empty())
    top.issues().Note("setup.lock_files",
                      "no lock files: setup is repeated only when its command changes");

  ConfigReader build = top.Section("build");
  auto folder = NormaliseRelative(build.Text("dir", "build"));
  if (folder.ok())
    config.build_dir = std::move(folder).value();
  else
    top.issues().Problem("build.dir", folder.error().message);
  build.RefuseUnknown();
}

void ReadSmallSections(ConfigReader& top, Config& config) {
  ConfigReader quantization = top.Section("quantization");
  config.quantization.enabled_for_research = quantization.Bool("enabled_for_research", true);
  config.quantization.strict_no_regression = quantization.Bool("strict_no_regression", true);
  quantization.RefuseUnknown();
  if (!config.quantization.strict_no_regression)
    top.issues().Note("quantization.strict_no_regression",
                      "has no effect: class quantization is always judged with zero allowance");

  ConfigReader measure = top.Section("measure");
  measure.Choice("policy", 0, {{"single", 0}});
  config.measure_runs = static_cast<int>(measure.Whole("runs", 1, 1, 1000));
  measure.RefuseUnknown();

  ConfigReader integrity = top.Section("integrity");
  config.outside_clock = integrity.Choice("outside_clock", OutsideClock::kRefuse,
                                          {{"refuse", OutsideClock::kRefuse},
                                           {"warn", OutsideClock::kWarn},
                                           {"off", OutsideClock::kOff}});
  integrity.RefuseUnknown();
}

void CheckMutableAgainstFixed(const Config& config, IssueList& issues) {
  const std::string config_path = HarnessPath(config, config.file);
  const std::string contract_path = HarnessPath(config, config.contract_file);
  for (const std::string& fixed : HarnessPaths(config)) {
    for (const std::string& path : config.mutable_paths) {
      if (!Overlap(path, fixed)) continue;
      std::string_view what = "fixed path";
      if (fixed == contract_path) what = "quality contract";
      if (fixed == config_path) what = "config file";
      issues.Problem("mutable_paths",
                     Format("`{}` overlaps with the {} `{}`; a path is either mutable or fixed",
                            PrintableLine(path), what, PrintableLine(fixed)));
    }
    if (fixed != config_path && fixed != contract_path && Overlap(config.build_dir, fixed))
      issues.Problem("build.dir", Format("`{}` overlaps with the fixed path `{}`", config.build_dir,
                                         PrintableLine(fixed)));
  }
}

// Pawl's own files must lie where no candidate and no lock reaches them.
void CheckOwnFiles(const Config& config, IssueList& issues) {
  const std::vector<std::string> fixed = HarnessPaths(config);
  const std::array<std::pair<std::string_view, const Path*>, 2> own = {
      {{"state_dir", &config.state_dir}, {"results_tsv", &config.results_tsv}}};
  for (const auto& [key, place] : own) {
    const std::string path = HarnessPath(config, *place);
    if (path == "." || IsWithin(config.root.generic_string(), path)) {
      issues.Problem(key, "must not be the project root or a folder above it");
    } else if (IsWithinAny(path, config.mutable_paths)) {
      issues.Problem(key, "lies inside mutable_paths, where candidates could change it");
    } else if (IsWithinAny(path, fixed)) {
      issues.Problem(key, "lies inside fixed_paths, which must not change");
    }
  }
  const std::string state = config.state_dir.generic_string();
  for (const Path& folder : config.sandbox.write) {
    if (Overlap(folder.generic_string(), config.root.generic_string()) ||
        Overlap(folder.generic_string(), state) || folder == "/")
      issues.Problem("sandbox.write", Format("`{}` overlaps with the project or its state folder",
                                             PrintableLine(folder.string())));
  }
  for (const Path& folder : config.sandbox.read) {
    if (folder == "/" || IsWithin(state, folder.generic_string()))
      issues.Note("sandbox.read", Format("`{}` lets candidates read the state folder",
                                         PrintableLine(folder.string())));
  }
}

}  // namespace

void ReadPlaces(ConfigReader& top, Config& config) {
  const Path folder = config.file.parent_path();
  config.root = folder.filename() == "config" ? folder.parent_path() : folder;
  if (top.has("project_root")) {
    // As in dit-ar, a relative value is taken from the current folder, not from the config's.
    const std::string written = top.Text("project_root", ".");
    config.root = Resolved(std::filesystem::absolute(written));
    if (!std::filesystem::is_directory(config.root))
      top.issues().Problem("project_root",
                           Format("is no folder: {}", PrintableLine(config.root.string(), 400)));
  }
  config.state_dir = Joined(config.root, top.Text("state_dir", ".autoresearch"));
  config.results_tsv = Joined(config.root, top.Text("results_tsv", ".autoresearch/results.tsv"));
  config.contract_file =
      Joined(config.root, top.Text("quality_contract", "config/quality_contract.json"));
  for (const std::string& text : top.TextOrTexts("knowledge_dir", "knowledge/handbook"))
    config.knowledge_dirs.push_back(Joined(config.root, text));
}

void ReadSections(ConfigReader& top, Config& config) {
  config.project_name = top.Text("project_name", "dit-project");
  config.protocol = top.Choice("protocol", Protocol::kFiles,
                               {{"files", Protocol::kFiles}, {"wall", Protocol::kWall}});
  ReadPaths(top, config);
  ReadCommands(top, config);
  ReadTimeouts(top, config);
  ReadObjective(top, config);
  ReadGuardrails(top, config);
  ReadTarget(top, config);
  ReadBuild(top, config);
  ReadSmallSections(top, config);
  ReadSandbox(top, config);
}

void CheckScopes(const Config& config, IssueList& issues) {
  CheckMutableAgainstFixed(config, issues);
  CheckOwnFiles(config, issues);
}

}  // namespace pawl::campaign
