// The campaign's configuration: what dit-ar reads (same keys, same defaults) and Pawl's additions,
// as JSON or TOML by extension. Loading checks everything that can be checked without running a
// command, and reports all problems at once, each with file and key.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/files.h"
#include "os/sandbox.h"

namespace pawl::campaign {

using os::Path;

enum class Protocol { kFiles, kWall };
enum class Direction { kLower, kHigher };
std::string_view ProtocolName(Protocol protocol);
std::string_view DirectionName(Direction direction);

// The commands of a harness, in the order in which an experiment runs them.
enum class Stage { kSetup, kCheck, kBuild, kPrepare, kSmoke, kPerf, kQuality, kProfile };
std::string_view StageName(Stage stage);  // "setup", ...: the key below `commands`
std::optional<Stage> ParseStage(std::string_view name);

struct Objective {
  std::string metric;  // dotted path; wall, cpu or peak_rss under protocol wall
  Direction direction = Direction::kLower;
  double min_improvement_fraction = 0;
  double min_improvement_abs = 0;
};

// An absent limit is infinite when the other one is given; both are 0 when neither is.
struct Guardrail {
  std::string metric;
  Direction direction = Direction::kLower;
  std::optional<double> max_abs_regression;
  std::optional<double> max_rel_regression;
  bool required = true;
};

struct Quantization {
  bool enabled_for_research = true;
  bool strict_no_regression = true;
};

// What the measuring machine must be; unset fields are not compared.
struct Target {
  bool require_a5500 = true;  // only a doctor warning unless gpu fields are set
  std::optional<std::string> gpu_name;
  std::optional<std::string> architecture;
  std::optional<std::string> compute_capability;
  std::optional<std::int64_t> gpu_count;
};

struct SandboxConfig {
  os::IsolationLevel min_level = os::IsolationLevel::kL1;
  std::vector<Path> read;
  std::vector<Path> write;
  std::vector<std::string> env;  // names passed on from the caller
  std::map<std::string, std::string> set;
  bool gpu = false;
  bool tree_writable = false;  // resolved default, see docs
  std::uint64_t memory_mb = 8192;
  std::uint32_t processes = 512;
  std::uint64_t file_size_mb = 4096;
  std::uint64_t output_mb = 16;
};

enum class OutsideClock { kRefuse, kWarn, kOff };

struct Config {
  Path file;                         // absolute
  Path root;                         // absolute project root
  Path state_dir;                    // absolute
  Path results_tsv;                  // absolute
  Path contract_file;                // absolute
  std::vector<Path> knowledge_dirs;  // absolute
  std::string project_name = "dit-project";
  Protocol protocol = Protocol::kFiles;
  std::vector<std::string> mutable_paths;  // normalised, relative to root, '/'-separated
  std::vector<std::string> fixed_paths;    // as configured
  std::map<Stage, std::string> commands;
  std::map<Stage, std::chrono::seconds> timeouts;  // every stage present
  Objective objective;
  std::vector<Guardrail> guardrails;  // in file order
  Quantization quantization;
  Target target;
  std::vector<std::string> setup_lock_files;
  std::string build_dir = "build";
  int measure_runs = 1;
  SandboxConfig sandbox;
  OutsideClock outside_clock = OutsideClock::kRefuse;
  Json source;  // as read

  const std::string* Command(Stage stage) const;
};

// A note that does not stop anything ("unknown key `fixed_path`: did you mean `fixed_paths`?" is a
// problem, "no smoke command" is a note).
struct ConfigIssue {
  std::string where;  // "config/autoresearch.json: objective.direction"
  std::string message;
  bool fatal = true;
};

struct LoadedConfig {
  Config config;
  std::vector<ConfigIssue> notes;  // non-fatal ones
};

// kNotFound "Config does not exist: PATH"; kInvalidArgument "Invalid config:" followed by dit-ar's
// own lines ("- commands.perf is required"), then one "- where: message" line per further problem.
// A relative project_root is taken from the current folder, as in dit-ar. Keys that start with `_`,
// `$` or `x-` are comments.
Result<LoadedConfig> LoadConfig(const Path& file);

// The checks that need the disk: missing or empty fixed paths, mutable paths that match nothing or
// reach a fixed path through a link, lock files, commands whose program does not exist, and the
// contract. All problems at once; used by doctor and init. dit-ar's two texts stay as they are:
// "mutable path does not currently exist: P" (a note) and "fixed path missing: P".
std::vector<ConfigIssue> CheckAgainstDisk(const Config& config);

// A path as locks and messages name it: relative to the root with '/', absolute when outside.
std::string HarnessPath(const Config& config, const Path& path);
// The fixed paths, the config and the contract in that form, sorted.
std::vector<std::string> HarnessPaths(const Config& config);

// `{root}`, `{run_dir}`, `{setup_dir}`, `{seed}` replaced, `{{` and `}}` unescaped. Unknown
// place-holders were refused by LoadConfig.
struct PlaceHolders {
  std::string root, run_dir, setup_dir, seed;
};
Result<std::string> FillCommand(std::string_view command, const PlaceHolders& values);

}  // namespace pawl::campaign
