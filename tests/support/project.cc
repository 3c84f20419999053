#include "support/project.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/text.h"
#include "os/process.h"

namespace pawl::test {

namespace {

constexpr std::string_view kFilesProgram = R"(ops=10
memory_mb=100
work() { echo $(( $1 * $2 )); }
)";

constexpr std::string_view kSmokeScript = R"sh(set -e
run_dir=$1 stage=smoke
. src/program.sh
test "$(work 2 3)" = 6
)sh";

constexpr std::string_view kPerfScript = R"(set -e
run_dir=$1 stage=perf
report() { printf '{"score": {"ops": %s}, "peak_vram_mb": %s}\n' "$1" "$2" >"$run_dir/perf.json"; }
. src/program.sh
work 6 7 >/dev/null
report "$ops" "$memory_mb"
)";

constexpr std::string_view kQualityScript = R"sh(set -e
run_dir=$1 stage=quality
judge() {
  printf '{"metrics": {"accuracy": %s}, "cases": {"product": {"passed": %s}}}\n' "$1" "$2" \
    >"$run_dir/quality.json"
}
accuracy=1.0
. src/program.sh
passed=false
test "$(work 6 7)" = 42 && passed=true
judge "$accuracy" "$passed"
)sh";

constexpr std::string_view kWallProgram = R"(inputs=$1 outputs=$2
sleep 0.25
cksum <"$inputs/number" >"$outputs/answer"
)";

constexpr std::string_view kPrepareScript = R"(set -e
mkdir -p "$2"
echo "$1" >"$2/number"
)";

constexpr std::string_view kCheckScript =
    R"sh(test "$(cksum <"$1/inputs/number")" = "$(cat "$1/outputs/answer")"
)sh";

constexpr std::string_view kContract =
    R"({"require_case_passes": true,
 "metrics": {"accuracy": {"direction": "higher", "max_abs_regression": 0.01,
                          "max_rel_regression": 0.01}}}
)";
constexpr std::string_view kWallContract = R"({"metrics": {"exit": {"direction": "higher"}}}
)";

void Require(const Status& status, std::string_view what) {
  if (!status.ok()) throw std::runtime_error(Format("{}: {}", what, status.error().Text()));
}

template <class T>
T Require(Result<T> result, std::string_view what) {
  if (!result.ok()) throw std::runtime_error(Format("{}: {}", what, result.error().Text()));
  return *std::move(result);
}

JsonObject FilesConfig() {
  return JsonObject{{"commands", JsonObject{{"smoke", "sh harness/smoke.sh {run_dir}"},
                                            {"perf", "sh harness/perf.sh {run_dir}"},
                                            {"quality", "sh harness/quality.sh {run_dir}"}}},
                    {"objective", JsonObject{{"metric", "score.ops"}, {"direction", "lower"}}},
                    {"performance_guardrails",
                     JsonObject{{"peak_vram_mb", JsonObject{{"max_rel_regression", 0.1}}}}}};
}

JsonObject WallConfig() {
  return JsonObject{
      {"protocol", "wall"},
      {"commands", JsonObject{{"prepare", "sh harness/prepare.sh {seed} {run_dir}/inputs"},
                              {"perf", "sh src/program.sh {run_dir}/inputs {run_dir}/outputs"},
                              {"quality", "sh harness/check.sh {run_dir}"}}},
      {"objective",
       JsonObject{{"metric", "wall"}, {"direction", "lower"}, {"min_improvement_fraction", 0.34}}}};
}

void Set(Json& document, std::string_view path, const Json& value) {
  Json* at = &document;
  for (const std::string_view key : Split(path, '.')) {
    if (at->AsObject() == nullptr) *at = JsonObject{};
    at = &(*at->AsObject())[key];
  }
  *at = value;
}

Json ConfigOf(const ProjectOptions& options) {
  const bool wall = options.protocol == ProjectOptions::Protocol::kWall;
  Json config = wall ? WallConfig() : FilesConfig();
  Set(config, "project_name", "small");
  Set(config, "mutable_paths", JsonArray{"src"});
  Set(config, "fixed_paths", JsonArray{"harness"});
  Set(config, "sandbox.min_level", options.level);
  Set(config, "timeouts_seconds",
      JsonObject{{"smoke", 30}, {"perf", 30}, {"quality", 30}, {"check", 30}, {"build", 30}});
  for (const auto& [path, value] : options.config) Set(config, path, value);
  return config;
}

std::map<std::string, std::string> FilesOf(const ProjectOptions& options) {
  std::map<std::string, std::string> files = {
      {".gitignore", ".autoresearch/\nignored/\n"},
      {"README", "small\n"},
      {"config/autoresearch.json", ConfigOf(options).Pretty(false)}};
  if (options.protocol == ProjectOptions::Protocol::kWall) {
    files.insert({{"src/program.sh", std::string(kWallProgram)},
                  {"harness/prepare.sh", std::string(kPrepareScript)},
                  {"harness/check.sh", std::string(kCheckScript)},
                  {"config/quality_contract.json", std::string(kWallContract)}});
  } else {
    files.insert({{"src/program.sh", std::string(kFilesProgram)},
                  {"harness/smoke.sh", std::string(kSmokeScript)},
                  {"harness/perf.sh", std::string(kPerfScript)},
                  {"harness/quality.sh", std::string(kQualityScript)},
                  {"config/quality_contract.json", std::string(kContract)}});
  }
  for (const auto& [path, text] : options.files) files[path] = text;
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  return files;
}

std::string Lines(const Json* list) {
  std::vector<std::string> lines;
  if (list == nullptr || list->AsArray() == nullptr) return {};
  for (const Json& line : *list->AsArray()) {
    if (const std::string* text = line.AsString()) lines.push_back(*text);
  }
  return Join(lines, "\n");
}

const Json* VerdictOf(const Json& document) {
  return document.Find("verdict");
}

}  // namespace

std::string Outcome::verdict() const {
  const Json* found = VerdictOf(json);
  return found == nullptr ? std::string() : found->StringAt("verdict");
}

std::string Outcome::trust() const {
  const Json* found = VerdictOf(json);
  return found == nullptr ? std::string() : found->StringAt("trust");
}

std::string Outcome::reasons() const {
  const Json* found = VerdictOf(json);
  return found == nullptr ? std::string() : Lines(found->Find("reasons"));
}

std::string Outcome::warnings() const {
  const Json* found = VerdictOf(json);
  return found == nullptr ? std::string() : Lines(found->Find("warnings"));
}

std::string Outcome::error() const {
  const Json* found = json.Find("error");
  return found == nullptr ? std::string() : found->StringAt("message");
}

std::int64_t Outcome::id() const {
  return json.IntAt("experiment");
}

std::string Outcome::Text() const {
  return Format("exit {}\n--- stdout\n{}\n--- stderr\n{}", exit_code, out, err);
}

Project::Project(const ProjectOptions& options)
    : folder_(Require(os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-test"),
                      "scratch folder")),
      root_(folder_.path() / "project"),
      home_(folder_.path() / "home"),
      level_(options.level) {
  // Below L3 another user goes through here on the way to what it may read.
  ::chmod(folder_.path().c_str(), 0711);
  Require(os::MakeFolders(root_), "project folder");
  Require(os::MakeFolders(home_), "home folder");
  Write(home_ / ".gitconfig",
        "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n"
        "[gc]\n\tauto = 0\n[commit]\n\tgpgSign = false\n");
  for (const auto& [path, text] : FilesOf(options)) Write(path, text);
  for (const auto& [path, name] : options.programs) {
    Write(path, Require(os::ReadFile(Path(PAWL_BIN_DIR) / name), name), 0755);
  }
  Git({"init", "--quiet", "--template=", "--initial-branch=autoresearch/test"});
  incumbent_ = Commit("the original program");
}

Project::~Project() = default;

void Project::Write(const Path& relative, std::string_view text, mode_t mode) {
  const Path path = root_ / relative;  // an absolute path replaces the root
  Require(os::MakeFolders(path.parent_path()), "folder");
  Require(os::WriteFileAtomic(path, text, {.mode = mode, .durable = false}), "write");
}

void Project::Remove(const Path& relative) {
  Require(os::RemoveTree(root_ / relative), "remove");
}

std::string Project::Read(const Path& relative) const {
  return Require(os::ReadFile(root_ / relative), "read");
}

std::string Project::Git(std::vector<std::string> arguments, std::string_view input) {
  os::ToolCall call;
  call.argv = {"git"};
  call.argv.insert(call.argv.end(), arguments.begin(), arguments.end());
  call.env = Environment({"GIT_CONFIG_NOSYSTEM=1"});
  call.cwd = root_;
  call.input = input;
  const std::string out = Require(os::RunToolOrError(call), Join(arguments, " "));
  return std::string(Trim(out));
}

std::string Project::Commit(const std::string& message) {
  Git({"add", "--all"});
  Git({"commit", "--quiet", "--no-verify", "--allow-empty", "--message", message});
  return Git({"rev-parse", "HEAD"});
}

void Project::Reset() {
  Git({"reset", "--quiet", "--hard", incumbent_});
  Git({"clean", "--quiet", "-d", "--force"});
}

std::vector<std::string> Project::Environment(const std::vector<std::string>& more) const {
  std::vector<std::string> added = {"HOME=" + home_.string()};
  added.insert(added.end(), more.begin(), more.end());
  std::vector<std::string> environment = os::BasicEnvironment();
  for (const std::string& set : added) {
    const std::string name = set.substr(0, set.find('=') + 1);
    std::erase_if(environment, [&](const std::string& known) { return known.starts_with(name); });
    environment.push_back(set);
  }
  return environment;
}

std::vector<std::string> Project::PawlArgv(std::vector<std::string> arguments, bool json) const {
  std::vector<std::string> argv = {PAWL_BIN_DIR "/pawl", "--config", config_file().string()};
  if (json) argv.emplace_back("--json");
  const std::string verb = arguments.empty() ? std::string() : arguments.front();
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const bool runs = verb == "baseline" || verb == "experiment" || verb == "queue";
  const bool given =
      std::find(arguments.begin(), arguments.end(), "--isolation") != arguments.end();
  if (runs && !given) argv.insert(argv.end(), {"--isolation", level_});
  return argv;
}

Outcome Project::Call(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment) {
  os::ToolCall call;
  call.argv = argv;
  call.env = Environment(environment);
  call.cwd = root_;
  call.timeout = std::chrono::seconds(100);
  os::ToolResult result = Require(os::RunTool(call), "pawl");
  Outcome outcome;
  outcome.exit_code = result.exit_code;
  outcome.out = std::move(result.out);
  outcome.err = std::move(result.err);
  if (Result<Json> json = ParseJson(outcome.out, "stdout"); json.ok()) outcome.json = *json;
  return outcome;
}

Outcome Project::Pawl(std::vector<std::string> arguments,
                      const std::vector<std::string>& environment) {
  return Call(PawlArgv(std::move(arguments), true), environment);
}

Outcome Project::PawlText(std::vector<std::string> arguments) {
  return Call(PawlArgv(std::move(arguments), false), {});
}

Outcome Project::PawlUnder(const std::vector<std::string>& wrapper,
                           std::vector<std::string> arguments) {
  std::vector<std::string> argv = wrapper;
  for (std::string& word : PawlArgv(std::move(arguments), true)) argv.push_back(std::move(word));
  return Call(argv, {});
}

Path Project::StartedFile(pid_t started, const char* what) const {
  return folder_.path() / Format("started-{}.{}", started, what);
}

pid_t Project::Start(std::vector<std::string> arguments, const std::vector<std::string>& wrapper) {
  std::vector<std::string> argv = wrapper;
  for (std::string& word : PawlArgv(std::move(arguments), true)) argv.push_back(std::move(word));
  std::vector<std::string> environment = Environment({});
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  };
  const Path out = StartedFile(0, "out");
  const Path err = StartedFile(0, "err");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, argv[0].c_str(), &actions, nullptr,
                                   pointers(argv).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("pawl could not be started");
  // Open in the child by now; the next one gets files of its own.
  std::filesystem::rename(out, StartedFile(child, "out"));
  std::filesystem::rename(err, StartedFile(child, "err"));
  return child;
}

Outcome Project::Await(pid_t started) {
  int status = 0;
  while (::waitpid(started, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("what was started cannot be awaited");
  }
  Outcome outcome;
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.out = Read(StartedFile(started, "out"));
  outcome.err = Read(StartedFile(started, "err"));
  if (Result<Json> json = ParseJson(outcome.out, "stdout"); json.ok()) outcome.json = *json;
  return outcome;
}

bool Project::Open() {
  const Outcome init = Pawl({"init"});
  if (init.exit_code != 0) throw std::runtime_error("pawl init: " + init.Text());
  const Outcome baseline = Baseline();
  if (baseline.exit_code == 0) return true;
  if (baseline.error().find("min_level") != std::string::npos) return false;
  throw std::runtime_error("pawl baseline: " + baseline.Text());
}

Outcome Project::Baseline(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "baseline");
  return Pawl(std::move(arguments));
}

Outcome Project::Experiment(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment) {
  const auto is_description = [](const std::string& argument) {
    return argument.starts_with("--description");
  };
  if (std::none_of(arguments.begin(), arguments.end(), is_description)) {
    arguments.insert(arguments.begin(), {"--description", "faster"});
  }
  arguments.insert(arguments.begin(), "experiment");
  Outcome outcome = Pawl(std::move(arguments), environment);
  if (outcome.verdict() == "keep") incumbent_ = outcome.json.StringAt("commit");
  return outcome;
}

Outcome Project::Try(std::string_view program, Place place, std::vector<std::string> arguments) {
  Reset();
  const std::string before = place == Place::kAppended ? Read("src/program.sh") : std::string();
  Write("src/program.sh", before + std::string(program));
  Commit();
  return Experiment(std::move(arguments));
}

std::string Project::Log(const Outcome& outcome, const std::string& stage) {
  return Pawl({"show", Format("{}", outcome.id()), "--log", stage}).json.StringAt("log");
}

}  // namespace pawl::test
