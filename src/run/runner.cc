#include "run/runner.h"

#include "base/text.h"
#include "run/result_files.h"
#include "run/stage_view.h"

namespace pawl::run {

using campaign::Stage;

namespace {

constexpr std::size_t kLastLines = 20;

os::SandboxLimits LimitsOf(const campaign::Config& config, Stage stage) {
  os::SandboxLimits limits;
  limits.timeout = config.timeouts.at(stage);
  limits.memory_bytes = config.sandbox.memory_mb << 20;
  limits.processes = config.sandbox.processes;
  limits.file_size_bytes = config.sandbox.file_size_mb << 20;
  limits.log_bytes = config.sandbox.output_mb << 20;
  return limits;
}

std::string LastWords(const Path& log, std::uint64_t max_bytes) {
  // The cut adds a line of its own to the log.
  Result<std::string> bytes = os::ReadFile(log, {.max_bytes = max_bytes + 65536});
  if (!bytes.ok()) return "log cannot be read: " + bytes.error().message;
  const std::string_view text = Trim(*bytes);
  std::size_t start = text.size();
  for (std::size_t lines = 0; start > 0 && lines < kLastLines; ++lines) {
    const std::size_t line_break = text.rfind('\n', start - 1);
    start = line_break == std::string_view::npos ? 0 : line_break;
  }
  return Printable(Trim(text.substr(start)));
}

std::string LogName(const StageRequest& request) {
  const std::string_view stage = campaign::StageName(request.stage);
  return request.index == 0 ? Format("{}.log", stage) : Format("{}-{}.log", stage, request.index);
}

}  // namespace

Runner::Runner(const campaign::Config& config, const os::SandboxProbe& probe)
    : config_(config), probe_(probe) {}

Result<StageResult> Runner::Run(const Workplace& place, const StageRequest& request) const {
  const std::string* text = config_.Command(request.stage);
  PAWL_CHECK(text != nullptr);
  PAWL_ASSIGN(StageView view, MakeStageView(config_, place, request, probe_));

  StageResult result;
  PAWL_ASSIGN(result.command, campaign::FillCommand(*text, view.shown));
  result.log = place.private_dir / LogName(request);
  const ResultFiles files(config_.protocol, request.stage, view.host_run_dir);

  os::SandboxSpec spec;
  spec.level = probe_.level;
  spec.mounts = view.mounts;
  spec.env = Environment();
  spec.argv = {"/bin/sh", "-c", result.command};
  spec.cwd = view.cwd;
  spec.log = result.log;
  spec.network = view.rights.network;
  spec.gpu = config_.sandbox.gpu;
  spec.limits = LimitsOf(config_, request.stage);
  PAWL_ASSIGN(result.outcome, os::RunSandboxed(spec, probe_));

  // Nothing of the command lives any more: its files can be read.
  files.Collect(result);
  if (!view.host_outputs.empty()) FindOddOutputs(view.host_outputs, result.integrity);
  const bool mounted = probe_.level == os::IsolationLevel::kL3;
  if (!view.rights.judge_side && (view.rights.tree_writable || !mounted)) {
    FindChangedHarness(config_, place.tree, place.harness_tree, place.prefix,
                       campaign::StageName(request.stage), result.integrity);
  }
  if (!result.outcome.succeeded()) {
    result.last_words = LastWords(result.log, spec.limits.log_bytes);
  }
  return result;
}

std::vector<std::string> Runner::Environment() const {
  return StageEnvironment(config_.sandbox);
}

}  // namespace pawl::run
