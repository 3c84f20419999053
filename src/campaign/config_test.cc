#include "campaign/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "campaign/contract.h"
#include "campaign/repository_fixture.h"

namespace pawl::campaign {
namespace {

constexpr std::string_view kContract = R"({"metrics": {"accuracy": {"direction": "higher"}}})";

constexpr std::string_view kGood = R"({
  "project_name": "demo",
  "mutable_paths": ["src/kernels", "./src/runtime.py"],
  "fixed_paths": ["eval", "bench.py"],
  "commands": {"smoke": "true", "perf": "python3 bench.py {run_dir}", "quality": "true {root}"},
  "timeouts_seconds": {"smoke": 300, "perf": 1800.0},
  "objective": {"metric": "latency.median_s", "direction": "lower",
                "min_improvement_fraction": 0.005},
  "performance_guardrails": {"latency.p95_s": {"max_rel_regression": 0.01},
                             "peak_vram_mb": {"direction": "lower", "required": false}},
  "target": {"require_a5500": true, "architecture": "sm_86", "expected_compute_capability": 8.6,
             "gpu_count": 1}
})";

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    WriteText(root() / "config/quality_contract.json", kContract);
    WriteText(root() / "src/kernels/a.cu", "a");
    WriteText(root() / "src/runtime.py", "r");
    WriteText(root() / "eval/score.py", "s");
    WriteText(root() / "bench.py", "b");
  }
  const Path& root() const { return folder_.path(); }
  Path File(std::string_view name = "config/autoresearch.json") const { return root() / name; }

  Result<LoadedConfig> Load(std::string_view text,
                            std::string_view name = "config/autoresearch.json") {
    WriteText(File(name), text);
    return LoadConfig(File(name));
  }

  // The message with the temporary folder taken out.
  std::string Neutral(std::string message) const {
    const std::string name = root().string();
    for (auto at = message.find(name); at != std::string::npos; at = message.find(name))
      message.replace(at, name.size(), "ROOT");
    return message;
  }

  // kGood with one key (dotted) replaced, or removed when `value` is empty.
  static std::string With(std::string_view key, std::string_view value) {
    Json json = ParseJson(kGood, "good").value();
    Json* at = &json;
    const auto parts = Split(key, '/');
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      Json& next = (*at->AsObject())[parts[i]];
      if (next.is_null()) next = JsonObject{};
      at = &next;
    }
    if (value.empty())
      at->AsObject()->Erase(parts.back());
    else
      (*at->AsObject())[parts.back()] = ParseJson(value, "value").value();
    return json.Compact();
  }

 private:
  TempFolder folder_;
};

TEST_F(ConfigTest, ReadsWhatDitArReads) {
  const auto loaded = Load(kGood);
  ASSERT_TRUE(loaded.ok()) << loaded.error().Text();
  const Config& config = loaded->config;
  EXPECT_EQ(config.root, root());
  EXPECT_EQ(config.state_dir, root() / ".autoresearch");
  EXPECT_EQ(config.results_tsv, root() / ".autoresearch/results.tsv");
  EXPECT_EQ(config.contract_file, root() / "config/quality_contract.json");
  EXPECT_EQ(config.knowledge_dirs, std::vector<Path>{root() / "knowledge/handbook"});
  EXPECT_EQ(config.mutable_paths, (std::vector<std::string>{"src/kernels", "src/runtime.py"}));
  EXPECT_EQ(config.fixed_paths, (std::vector<std::string>{"eval", "bench.py"}));
  EXPECT_EQ(config.timeouts.at(Stage::kSmoke), std::chrono::seconds(300));
  EXPECT_EQ(config.timeouts.at(Stage::kQuality), std::chrono::seconds(1800));
  EXPECT_EQ(config.timeouts.size(), 8U);
  EXPECT_DOUBLE_EQ(config.objective.min_improvement_fraction, 0.005);
  ASSERT_EQ(config.guardrails.size(), 2U);
  EXPECT_EQ(config.guardrails[0].metric, "latency.p95_s");
  EXPECT_EQ(config.guardrails[0].max_rel_regression, 0.01);
  EXPECT_FALSE(config.guardrails[0].max_abs_regression.has_value());
  EXPECT_FALSE(config.guardrails[1].required);
  EXPECT_EQ(config.target.compute_capability, "8.6");
  EXPECT_TRUE(config.sandbox.tree_writable) << "dit-ar's commands build for themselves";
  EXPECT_EQ(config.Command(Stage::kBuild), nullptr);
  EXPECT_TRUE(CheckAgainstDisk(config).empty());
  EXPECT_EQ(HarnessPaths(config),
            (std::vector<std::string>{"bench.py", "config/autoresearch.json",
                                      "config/quality_contract.json", "eval"}));
}

TEST_F(ConfigTest, RootIsTheConfigsFolderUnlessThatIsNamedConfig) {
  WriteText(root() / "lane/config/quality_contract.json", kContract);
  const auto beside = Load(kGood, "lane/lane.json");
  ASSERT_TRUE(beside.ok()) << beside.error().Text();
  EXPECT_EQ(beside->config.root, root() / "lane");
}

TEST_F(ConfigTest, RelativeProjectRootIsTakenFromTheCurrentFolder) {
  const Path before = std::filesystem::current_path();
  ASSERT_EQ(::chdir(root().c_str()), 0);
  WriteText(root() / "elsewhere/one.json", With("project_root", R"(".")"));
  const auto loaded = LoadConfig("elsewhere/one.json");
  ASSERT_EQ(::chdir(before.c_str()), 0);
  ASSERT_TRUE(loaded.ok()) << loaded.error().Text();
  EXPECT_EQ(loaded->config.root, root());
  EXPECT_EQ(HarnessPath(loaded->config, loaded->config.file), "elsewhere/one.json");
}

TEST_F(ConfigTest, TomlGivesTheSameConfig) {
  const auto json = Load(kGood);
  const auto toml = Load(R"(
project_name = "demo"
mutable_paths = ["src/kernels", "./src/runtime.py"]
fixed_paths = ["eval", "bench.py"]
[commands]
smoke = "true"
perf = "python3 bench.py {run_dir}"
quality = "true {root}"
[timeouts_seconds]
smoke = 300
perf = 1800.0
[objective]
metric = "latency.median_s"
direction = "lower"
min_improvement_fraction = 0.005
[performance_guardrails."latency.p95_s"]
max_rel_regression = 0.01
[performance_guardrails.peak_vram_mb]
direction = "lower"
required = false
[target]
require_a5500 = true
architecture = "sm_86"
expected_compute_capability = 8.6
gpu_count = 1
)",
                         "config/autoresearch.toml");
  ASSERT_TRUE(json.ok());
  ASSERT_TRUE(toml.ok()) << toml.error().Text();
  // Equal sources mean equal configs: everything else follows from the source.
  EXPECT_EQ(toml->config.source, json->config.source);
  EXPECT_EQ(toml->config.mutable_paths, json->config.mutable_paths);
  EXPECT_EQ(toml->config.guardrails.size(), json->config.guardrails.size());
}

TEST_F(ConfigTest, WallProtocolHasItsOwnDefaults) {
  const auto loaded = Load(R"({"protocol": "wall", "mutable_paths": ["src"],
    "commands": {"perf": "true {seed}", "quality": "true", "prepare": "true {seed}"},
    "objective": {"metric": "wall", "direction": "lower"}, "measure": {"runs": 5},
    "sandbox": {"min_level": "L3", "read": ["/opt/tools/"], "set": {"OMP_NUM_THREADS": "2"}}})");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Text();
  EXPECT_FALSE(loaded->config.sandbox.tree_writable);
  EXPECT_EQ(loaded->config.measure_runs, 5);
  EXPECT_EQ(loaded->config.sandbox.min_level, os::IsolationLevel::kL3);
  EXPECT_EQ(loaded->config.sandbox.read, std::vector<Path>{"/opt/tools"});
  ASSERT_EQ(loaded->notes.size(), 2U);  // no fixed paths, no smoke command
  EXPECT_FALSE(loaded->notes[0].fatal);
}

TEST_F(ConfigTest, CommentsAreNoUnknownKeys) {
  EXPECT_TRUE(Load(With("_note", R"("why")")).ok());
  EXPECT_TRUE(Load(With("$schema", R"("x")")).ok());
}

TEST_F(ConfigTest, MissingFile) {
  const auto loaded = LoadConfig(root() / "config/none.json");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kNotFound);
  EXPECT_EQ(Neutral(loaded.error().message), "Config does not exist: ROOT/config/none.json");
}

TEST_F(ConfigTest, RootThatIsNoObject) {
  const auto loaded = Load("[1]");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message, "Config root must be a JSON object");
}

TEST_F(ConfigTest, SyntaxErrorNamesTheLine) {
  const auto loaded = Load("{\n  \"a\": 1,\n  \"a\": 2\n}");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("autoresearch.json:3:"), std::string::npos)
      << loaded.error().message;
}

TEST_F(ConfigTest, AllProblemsAtOnceWithDitArsFirst) {
  std::filesystem::remove(root() / "config/quality_contract.json");
  const auto loaded = Load(R"({"mutable_path": ["src"], "timeouts_seconds": {"perf": 1.5}})");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
  EXPECT_EQ(Neutral(loaded.error().message),
            "Invalid config:\n"
            "- mutable_paths must contain at least one path\n"
            "- commands.perf is required\n"
            "- commands.quality is required\n"
            "- objective.metric is required\n"
            "- objective.direction must be 'lower' or 'higher'\n"
            "- quality contract not found: ROOT/config/quality_contract.json\n"
            "- ROOT/config/autoresearch.json: timeouts_seconds.perf: must be a whole number, got "
            "1.5\n"
            "- ROOT/config/autoresearch.json: mutable_path: unknown key; did you mean "
            "`mutable_paths`?");
}

TEST_F(ConfigTest, NamesOfTheConfigAreShownEscaped) {
  const auto loaded = Load(With("quality_contract", "\"a\\n- b\\u001b[2J\""));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message.find('\x1b'), std::string::npos);
  EXPECT_EQ(loaded.error().message.find("\n- b"), std::string::npos);
}

struct BadConfig {
  std::string_view key;      // '/'-separated, in kGood
  std::string_view value;    // JSON, "" removes the key
  std::string_view problem;  // after "- ", with FILE for the config's path
};

constexpr BadConfig kBadConfigs[] = {
#include "campaign/config_bad_cases.inc"
};

TEST_F(ConfigTest, EveryBadConfigHasItsOwnMessage) {
  std::size_t cases = 0;
  for (const BadConfig& bad : kBadConfigs) {
    const auto loaded = Load(With(bad.key, bad.value));
    ASSERT_FALSE(loaded.ok()) << bad.key << " = " << bad.value;
    std::string expected = Format("Invalid config:\n- {}", bad.problem);
    if (const auto at = expected.find("FILE"); at != std::string::npos)
      expected.replace(at, 4, "ROOT/config/autoresearch.json");
    EXPECT_EQ(Neutral(loaded.error().message), expected) << bad.key << " = " << bad.value;
    ++cases;
  }
  EXPECT_GE(cases, 40U);
}

TEST_F(ConfigTest, WallRefusesWhatItCannotMeasure) {
  const auto loaded = Load(R"({"protocol": "wall", "mutable_paths": ["src"],
    "commands": {"perf": "true", "quality": "true"},
    "objective": {"metric": "latency.p50", "direction": "higher"},
    "performance_guardrails": {"peak_vram_mb": {}}})");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(Neutral(loaded.error().message),
            "Invalid config:\n"
            "- ROOT/config/autoresearch.json: objective.metric: must be `wall`, `cpu` or "
            "`peak_rss` under protocol `wall`, got `latency.p50`\n"
            "- ROOT/config/autoresearch.json: objective.direction: must be `lower` under protocol "
            "`wall`\n"
            "- ROOT/config/autoresearch.json: performance_guardrails.peak_vram_mb: must be `wall`, "
            "`cpu` or `peak_rss` under protocol `wall`");
}

TEST_F(ConfigTest, DiskChecksFindWhatIsMissing) {
  std::filesystem::create_directories(root() / "hollow/inner");
  std::filesystem::create_symlink("../eval", root() / "src/alias");
  std::filesystem::create_symlink("/usr", root() / "src/away");
  const auto loaded = Load(R"({
    "mutable_paths": ["src/runtime.py", "src/gone", "lib/*.py", "src/alias", "src/away"],
    "fixed_paths": ["eval", "none.py", "hollow", "data/*.bin"],
    "commands": {"perf": "no-such-program-here x", "quality": "cd x && true", "setup": "true"},
    "setup": {"lock_files": ["requirements.txt"]},
    "objective": {"metric": "m", "direction": "lower"}})");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Text();
  std::string text;
  for (const ConfigIssue& issue : CheckAgainstDisk(loaded->config))
    text += Format("{} {}: {}\n", issue.fatal ? "error" : "note", issue.where, issue.message);
  const std::string file = "ROOT/config/autoresearch.json: ";
  EXPECT_EQ(
      Neutral(text),
      "error " + file + "fixed_paths: fixed path missing: none.py\n" + "error " + file +
          "fixed_paths: fixed path holds no file: hollow\n" + "error " + file +
          "fixed_paths: fixed path missing: data/*.bin (globs are not "
          "expanded; name the folder)\n" +
          "note " + file + "mutable_paths: mutable path does not currently exist: src/gone\n" +
          "error " + file +
          "mutable_paths: `lib/*.py` matches nothing: globs are not expanded; "
          "name the folder\n" +
          "error " + file + "mutable_paths: `src/alias` is a link into the fixed path `eval`\n" +
          "error " + file + "mutable_paths: `src/away` is a link that leaves the project\n" +
          "error " + file + "setup.lock_files: no such file: requirements.txt\n" + "error " + file +
          "commands.perf: program `no-such-program-here` is not on PATH\n");
}

TEST(FillCommandTest, FillsAndUnescapes) {
  const PlaceHolders values{"/r", "/run dir", "/s", "77"};
  EXPECT_EQ(
      FillCommand("x {root} {run_dir}/a {setup_dir} {seed} awk '{{print $1}}'", values).value(),
      "x /r /run dir/a /s 77 awk '{print $1}'");
}

TEST(StageTest, NamesRoundTrip) {
  for (const char* name :
       {"setup", "check", "build", "prepare", "smoke", "perf", "quality", "profile"})
    EXPECT_EQ(StageName(ParseStage(name).value()), name);
  EXPECT_FALSE(ParseStage("perv").has_value());
}

struct BadContract {
  std::string_view text;
  std::string_view message;
};

TEST(ContractTest, EveryBadContractHasItsOwnMessage) {
  const BadContract bad[] = {
      {"[]", "quality contract root must be a JSON object"},
      {"{}", "Invalid quality contract:\n- quality contract contains no metrics"},
      {R"({"metrics": {}})", "Invalid quality contract:\n- quality contract contains no metrics"},
      {R"({"metrics": []})",
       "Invalid quality contract:\n- c.json: metrics: expected an object, got list"},
      {R"({"metrics": {"a": 1}})",
       "Invalid quality contract:\n- c.json: metrics.a: expected an object, got number"},
      {R"({"metrics": {"a": {"direction": "up"}}})",
       "Invalid quality contract:\n- c.json: metrics.a.direction: unknown word `up`; expected "
       "`lower`, `higher`"},
      {R"({"metrics": {"a": {"direction": "Higher"}}})",
       "Invalid quality contract:\n- c.json: metrics.a.direction: unknown word `Higher`; did you "
       "mean `higher`?"},
      {R"({"metrics": {"a": {"max_abs_regression": -1}}})",
       "Invalid quality contract:\n- c.json: metrics.a.max_abs_regression: must be finite and not "
       "below 0, got -1"},
      {R"({"metrics": {"a": {"max_rel_regression": true}}})",
       "Invalid quality contract:\n- c.json: metrics.a.max_rel_regression: expected a number, got "
       "true/false"},
      {R"({"metrics": {"a": {"max_regression": 1}}})",
       "Invalid quality contract:\n- c.json: metrics.a.max_regression: unknown key; did you mean "
       "`max_abs_regression`?"},
      {R"({"metrics": {"a": {}}, "strict_zero_regression": "yes"})",
       "Invalid quality contract:\n- c.json: strict_zero_regression: expected true or false, got "
       "text"},
      {R"({"metrics": {"a": {}}, "cases": {}})",
       "Invalid quality contract:\n- c.json: cases: unknown key; known here are "
       "`strict_zero_regression`, `require_case_passes`, `metrics`"},
      {R"({"metrics": {" ": {}}})",
       "Invalid quality contract:\n- c.json: metrics: a metric's name is empty"},
  };
  for (const BadContract& contract : bad) {
    const auto parsed = ParseContract(ParseJson(contract.text, "c.json").value(), "c.json");
    ASSERT_FALSE(parsed.ok()) << contract.text;
    EXPECT_EQ(parsed.error().message, contract.message);
  }
}

TEST(ContractTest, DefaultsAreDitArs) {
  const auto parsed =
      ParseContract(ParseJson(R"({"metrics": {"b": {}, "a": {}}})", "c").value(), "c");
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->strict_zero_regression);
  EXPECT_TRUE(parsed->require_case_passes);
  ASSERT_EQ(parsed->metrics.size(), 2U);
  EXPECT_EQ(parsed->metrics[0].name, "b") << "file order";
  EXPECT_EQ(parsed->metrics[0].direction, Direction::kHigher);
  EXPECT_EQ(parsed->metrics[0].max_abs_regression, 0);
}

TEST(ContractTest, AnExitCodeSufficesUnderWall) {
  EXPECT_TRUE(ParseContract(JsonObject{}, "c", Protocol::kWall).ok());
  EXPECT_FALSE(
      ParseContract(JsonObject{{"require_case_passes", false}}, "c", Protocol::kWall).ok());
}

}  // namespace
}  // namespace pawl::campaign
