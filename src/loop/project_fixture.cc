#include "loop/project_fixture.h"

#include "os/process.h"

namespace pawl::loop {

void ProjectTest::SetUp() {
  auto folder = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "project");
  ASSERT_TRUE(folder.ok()) << folder.error().Text();
  folder_.emplace(std::move(*folder));
  // Below L3 the commands' user goes through here.
  std::filesystem::permissions(folder_->path(), std::filesystem::perms{0755});
  root_ = std::filesystem::canonical(folder_->path()) / "my project";
  ASSERT_TRUE(os::MakeFolders(root_).ok());
  Git({"init", "-q", "-b", "autoresearch/test"});
}

Json ProjectTest::Config(const JsonObject& base, const JsonObject& changes) {
  JsonObject config = base;
  for (const auto& [name, value] : changes) config[name] = value;
  return config;
}

void ProjectTest::MakeFilesProject(const JsonObject& changes) {
  const JsonObject base{
      {"project_name", "tiny"},
      {"mutable_paths", JsonArray{"src"}},
      {"fixed_paths", JsonArray{"bench"}},
      {"commands", JsonObject{{"smoke", "sh bench/smoke.sh '{run_dir}'"},
                              {"perf", "sh bench/perf.sh '{run_dir}'"},
                              {"quality", "sh bench/quality.sh '{run_dir}'"}}},
      {"timeouts_seconds", JsonObject{{"smoke", 2}, {"perf", 20}, {"quality", 20}}},
      {"objective", JsonObject{{"metric", "latency.median_s"}, {"direction", "lower"}}},
      {"integrity", JsonObject{{"outside_clock", "off"}}},
      {"target", JsonObject{{"require_a5500", false}}}};
  Write("config/autoresearch.json", Config(base, changes).Pretty());
  Write("config/quality_contract.json", R"({"metrics": {"accuracy": {"direction": "higher"}}})");
  Write("bench/smoke.sh", "sh src/program \"$1\" >/dev/null\n");
  Write("bench/perf.sh",
        "time=$(sh src/program \"$1\") || exit 3\n"
        "printf '{\"latency\": {\"median_s\": %s}}' \"$time\" > \"$1/perf.json\"\n");
  Write("bench/quality.sh",
        "printf '{\"metrics\": {\"accuracy\": %s}}' \"$(cat src/accuracy)\" > "
        "\"$1/quality.json\"\n");
  Write("src/program", "echo 2.0\n");
  Write("src/accuracy", "0.75\n");
  Commit("The original");
}

void ProjectTest::MakeWallProject(const JsonObject& changes) {
  const JsonObject base{
      {"project_name", "tiny"},
      {"protocol", "wall"},
      {"mutable_paths", JsonArray{"src"}},
      {"fixed_paths", JsonArray{"bench"}},
      {"commands", JsonObject{{"prepare", "echo '{seed}' > '{run_dir}/inputs/seed'"},
                              {"perf", "sh src/program '{run_dir}'"},
                              {"quality", "sh bench/check.sh '{run_dir}'"}}},
      {"objective",
       JsonObject{{"metric", "wall"}, {"direction", "lower"}, {"min_improvement_fraction", 0.3}}},
      {"measure", JsonObject{{"runs", 2}}},
      {"target", JsonObject{{"require_a5500", false}}}};
  Write("config/autoresearch.json", Config(base, changes).Pretty());
  Write("config/quality_contract.json", R"({"metrics": {}})");
  Write("bench/check.sh", "cmp \"$1/inputs/seed\" \"$1/outputs/seed\"\n");
  Write("src/program", "sleep 0.4\ncp \"$1/inputs/seed\" \"$1/outputs/seed\"\n");
  Commit("The original");
}

void ProjectTest::Write(std::string_view path, std::string_view content) {
  const os::Path file = root_ / path;
  ASSERT_TRUE(os::MakeFolders(file.parent_path()).ok());
  const Status written = os::WriteFileAtomic(file, content, {.mode = 0644, .durable = false});
  ASSERT_TRUE(written.ok()) << written.error().Text();
}

std::string ProjectTest::Read(std::string_view path) {
  const auto bytes = os::ReadFile(root_ / path);
  EXPECT_TRUE(bytes.ok()) << bytes.error().Text();
  return bytes.ValueOr("");
}

std::string ProjectTest::Git(std::vector<std::string> arguments) {
  os::ToolCall call;
  call.argv = {"git", "-c", "user.name=Test", "-c", "user.email=test@example.org"};
  call.argv.insert(call.argv.end(), arguments.begin(), arguments.end());
  call.env = os::BasicEnvironment();
  call.cwd = root_;
  auto out = os::RunToolOrError(call);
  EXPECT_TRUE(out.ok()) << out.error().Text();
  std::string text = out.ValueOr("");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string ProjectTest::Commit(std::string_view message) {
  Git({"add", "-A"});
  Git({"commit", "-q", "-m", std::string(message)});
  return Git({"rev-parse", "HEAD"});
}

Engine ProjectTest::Open(Observer* observer) {
  EngineOptions options;
  options.config_file = root_ / "config/autoresearch.json";
  options.ceiling = ceiling_;
  auto engine = Engine::Open(options, observer);
  EXPECT_TRUE(engine.ok()) << engine.error().Text();
  return std::move(engine).value();
}

void ProjectTest::Start() {
  Engine engine = Open();
  const auto opened = engine.Init(false);
  ASSERT_TRUE(opened.ok()) << opened.error().Text();
  const auto baseline = engine.Baseline(Engine::BaselineMode::kFirst);
  ASSERT_TRUE(baseline.ok()) << baseline.error().Text();
}

ExperimentReport ProjectTest::Try(std::string_view description) {
  ExperimentRequest request;
  request.description = description;
  auto report = Open().Experiment(request);
  EXPECT_TRUE(report.ok()) << report.error().Text();
  return report.ok() ? std::move(report).value() : ExperimentReport{};
}

ExperimentReport ProjectTest::TryProgram(std::string_view content) {
  Write("src/program", content);
  Commit("Another program");
  return Try();
}

void ProjectTest::ExpectSound() {
  const auto report = Open().Verify();
  ASSERT_TRUE(report.ok()) << report.error().Text();
  EXPECT_EQ(report->problems, std::vector<std::string>{});
  EXPECT_GT(report->events, 0);
}

}  // namespace pawl::loop
