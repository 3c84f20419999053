// Whole configs, JSON or TOML by their first character: what is taken keeps its own rules, every
// line of a refusal names the file with a place or key, or is one of dit-ar's own.
#include <array>
#include <cmath>

#include "campaign/config.h"
#include "campaign/scope_path.h"
#include "input.h"

namespace {

namespace campaign = pawl::campaign;
using campaign::Config;
using pawl::os::Path;

// A project with all that a sound config names; it ends with the process.
const Path& Project() {
  static const pawl::os::ScratchFolder folder = [] {
    auto made = pawl::os::ScratchFolder::MakeTemporary("config-fuzz");
    PAWL_CHECK(made.ok());
    PAWL_CHECK(pawl::os::MakeFolders(made->path() / "harness").ok());
    PAWL_CHECK(pawl::os::MakeFolders(made->path() / "src").ok());
    PAWL_CHECK(pawl::os::WriteFileAtomic(made->path() / "harness" / "contract.json", "{}",
                                         {.durable = false})
                   .ok());
    return std::move(made).value();
  }();
  return folder.path();
}

bool IsKnownLine(std::string_view line, std::string_view file) {
  constexpr std::array<std::string_view, 5> kCompat = {
      "- mutable_paths must contain at least one path", "- commands.perf is required",
      "- commands.quality is required", "- objective.metric is required",
      "- objective.direction must be 'lower' or 'higher'"};
  for (const std::string_view known : kCompat) {
    if (line == known) return true;
  }
  return line.starts_with("- quality contract not found: ") ||
         line.starts_with(pawl::Format("- {}: ", file));
}

void CheckRefusal(const pawl::Error& error, const Path& file) {
  PAWL_CHECK(error.code == pawl::Code::kInvalidArgument);
  const std::vector<std::string_view> lines = pawl::Split(error.message, '\n');
  for (const std::string_view line : lines) PAWL_CHECK(pawl::fuzz::IsPrintableLine(line));
  if (lines[0] == "Config root must be a JSON object") return;
  if (lines[0] != "Invalid config:") {
    PAWL_CHECK(lines.size() == 1 && lines[0].starts_with(file.string() + ":"));
    return;
  }
  PAWL_CHECK(lines.size() > 1);
  for (std::size_t i = 1; i < lines.size(); ++i) PAWL_CHECK(IsKnownLine(lines[i], file.string()));
}

void CheckAmounts(const Config& config) {
  const auto sound = [](double value) { return std::isfinite(value) && value >= 0; };
  PAWL_CHECK(sound(config.objective.min_improvement_fraction));
  PAWL_CHECK(sound(config.objective.min_improvement_abs));
  for (const campaign::Guardrail& guardrail : config.guardrails) {
    PAWL_CHECK(!guardrail.metric.empty());
    PAWL_CHECK(sound(guardrail.max_abs_regression.value_or(0)));
    PAWL_CHECK(sound(guardrail.max_rel_regression.value_or(0)));
  }
  PAWL_CHECK(config.timeouts.size() == 8);
  for (const auto& [stage, timeout] : config.timeouts) PAWL_CHECK(timeout.count() > 0);
  PAWL_CHECK(config.measure_runs >= 1);
}

void CheckPlaces(const Config& config) {
  for (const Path* path : {&config.file, &config.root, &config.state_dir, &config.results_tsv,
                           &config.contract_file}) {
    PAWL_CHECK(path->is_absolute());
  }
  PAWL_CHECK(!config.mutable_paths.empty());
  for (const std::string& path : config.mutable_paths) {
    const auto normal = campaign::NormaliseRelative(path);
    PAWL_CHECK(normal.ok() && *normal == path);
    // What candidates change must not be what judges them.
    for (const std::string& fixed : campaign::HarnessPaths(config)) {
      PAWL_CHECK(!campaign::Overlap(path, fixed));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pawl::fuzz::TextOf(data, size);
  const bool json = pawl::Trim(text).starts_with('{');
  const Path file = Project() / (json ? "pawl.json" : "pawl.toml");
  PAWL_CHECK(pawl::os::WriteFileAtomic(file, text, {.durable = false}).ok());
  const pawl::Result<campaign::LoadedConfig> loaded = campaign::LoadConfig(file);
  if (!loaded.ok()) {
    CheckRefusal(loaded.error(), file);
    return 0;
  }
  const Config& config = loaded->config;
  CheckAmounts(config);
  CheckPlaces(config);
  PAWL_CHECK(config.Command(campaign::Stage::kPerf) != nullptr);
  PAWL_CHECK(config.Command(campaign::Stage::kQuality) != nullptr);
  for (const auto& [stage, command] : config.commands) {
    PAWL_CHECK(campaign::FillCommand(command, {"/r", "/u", "/s", "1"}).ok());
  }
  for (const campaign::ConfigIssue& note : loaded->notes) {
    PAWL_CHECK(!note.fatal && pawl::fuzz::IsPrintableLine(note.where));
    PAWL_CHECK(pawl::fuzz::IsPrintableLine(note.message));
  }
  const auto stored = pawl::ParseJson(config.source.Canonical(), "record");
  PAWL_CHECK(stored.ok() && *stored == config.source);
  return 0;
}
