// What Pawl adds on top of the commands that it runs: one sandboxed run, one whole experiment and
// how it splits, program start-up, and the re-check of large fixed data. Prints; passes or fails
// nothing.
//
//   referee_bench [experiments]      (pawl must lie beside this program)
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "campaign/harness_lock.h"
#include "loop/engine.h"
#include "os/files.h"
#include "os/process.h"
#include "os/sandbox.h"
#include "store/artifacts.h"

namespace {

using namespace pawl;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Print(const char* what, double milliseconds, const char* budget) {
  std::printf("%-66s %9.2f ms   %s\n", what, milliseconds, budget);
}

Status Call(const os::Path& cwd, std::vector<std::string> argv) {
  os::ToolCall call;
  call.argv = std::move(argv);
  call.env = os::BasicEnvironment();
  call.cwd = cwd;
  const auto result = os::RunToolOrError(call);
  return result.ok() ? OkStatus() : Status(result.error());
}

Status WriteText(const os::Path& path, std::string_view text) {
  PAWL_TRY(os::MakeFolders(path.parent_path()));
  return os::WriteFileAtomic(path, text, {.mode = 0644, .durable = false});
}

// Sums what the stages took, as seen from outside, sandbox included.
class StageClock : public loop::Observer {
 public:
  void OnStageStart(std::string_view /*stage*/, int /*index*/, int /*count*/) override {
    start_ = Monotonic::now();
  }
  void OnStageEnd(std::string_view /*stage*/, std::string_view /*how*/,
                  double /*wall_s*/) override {
    stages_ms += SecondsSince(start_) * 1e3;
    ++runs;
  }
  double stages_ms = 0;
  int runs = 0;

 private:
  Monotonic::time_point start_;
};

Status BenchRun(const os::Path& place) {
  const os::SandboxProbe probe = os::ProbeSandbox();
  std::vector<double> plain;
  std::vector<double> bare;
  std::vector<double> sandboxed;
  for (int i = 0; i < 50; ++i) {
    auto start = Monotonic::now();
    PAWL_TRY(Call(place, {"/bin/true"}));
    plain.push_back(SecondsSince(start) * 1e3);
    start = Monotonic::now();
    if (probe.level == os::IsolationLevel::kL3) {
      PAWL_TRY(Call(place,
                    {"bwrap", "--unshare-all", "--die-with-parent", "--as-pid-1", "--ro-bind", "/",
                     "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true"}));
    }
    bare.push_back(SecondsSince(start) * 1e3);
    os::SandboxSpec spec;
    spec.level = probe.level;
    spec.mounts = os::SystemMounts();
    spec.env = os::BasicEnvironment();
    spec.argv = {"/bin/true"};
    spec.cwd = "/";
    spec.log = place / "run.log";
    start = Monotonic::now();
    const auto outcome = os::RunSandboxed(spec, probe);
    if (!outcome.ok()) return outcome.error();
    sandboxed.push_back(SecondsSince(start) * 1e3);
  }
  Print("a plain process (/bin/true)", Median(plain), "");
  const std::string what = Format("the same in a sandbox at {}", os::LevelName(probe.level));
  Print("the same under bubblewrap with the fewest options (floor)", Median(bare), "");
  Print(what.c_str(), Median(sandboxed), "");
  Print("added to each run", Median(sandboxed) - Median(plain), "(budget 12 ms)");
  return OkStatus();
}

// The candidate's file says how fast it claims to be, so that every experiment is a keep or a
// refusal by choice and costs next to nothing.
Status MakeProject(const os::Path& root) {
  PAWL_TRY(WriteText(root / "src/value.json", "{\"latency\": {\"median_s\": 1000.0}}\n"));
  PAWL_TRY(WriteText(root / "eval/quality.json", "{\"metrics\": {\"accuracy\": 1.0}}\n"));
  PAWL_TRY(WriteText(root / "contract.json",
                     "{\"metrics\": {\"accuracy\": {\"direction\": \"higher\"}}}\n"));
  PAWL_TRY(WriteText(root / "pawl.toml",
                     "mutable_paths = [\"src\"]\nfixed_paths = [\"eval\"]\n"
                     "quality_contract = \"contract.json\"\n"
                     "[commands]\nperf = 'cat {root}/src/value.json > {run_dir}/perf.json'\n"
                     "quality = 'cat {root}/eval/quality.json > {run_dir}/quality.json'\n"
                     "[objective]\nmetric = \"latency.median_s\"\ndirection = \"lower\"\n"
                     "[integrity]\noutside_clock = \"off\"\n"));
  PAWL_TRY(WriteText(root / ".gitignore", "/.autoresearch/\n"));
  PAWL_TRY(Call(root, {"git", "init", "-q", "-b", "autoresearch/bench"}));
  PAWL_TRY(Call(root, {"git", "add", "-A"}));
  return Call(root, {"git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit",
                     "-q", "-m", "Start"});
}

Status BenchExperiment(const os::Path& root, int count) {
  PAWL_TRY(MakeProject(root));
  StageClock clock;
  PAWL_ASSIGN(loop::Engine engine, loop::Engine::Open({.config_file = root / "pawl.toml"}, &clock));
  PAWL_TRY(engine.Init(false));
  PAWL_TRY(engine.Baseline(loop::Engine::BaselineMode::kFirst));
  std::vector<double> total;
  std::vector<double> rest;
  int runs = 0;
  for (int i = 0; i < count; ++i) {
    PAWL_TRY(WriteText(root / "src/value.json",
                       Format("{{\"latency\": {{\"median_s\": {}.0}}}}\n", 999 - i)));
    PAWL_TRY(Call(root, {"git", "-c", "user.name=bench", "-c", "user.email=bench@localhost",
                         "commit", "-q", "-a", "-m", "Next"}));
    clock.stages_ms = 0;
    clock.runs = 0;
    loop::ExperimentRequest request;
    request.description = "the next value";
    const auto start = Monotonic::now();
    PAWL_ASSIGN(const loop::ExperimentReport report, engine.Experiment(request));
    total.push_back(SecondsSince(start) * 1e3);
    rest.push_back(total.back() - clock.stages_ms);
    runs = clock.runs;
    if (report.verdict.kind != campaign::VerdictKind::kKeep) {
      return MakeError(Code::kInternal,
                       "the bench's candidate was not kept: " + Join(report.verdict.reasons, "; "));
    }
  }
  std::printf("%d experiments, each a keep, of %d runs each: medians\n", count, runs);
  Print("one experiment, sandboxed commands included", Median(total), "");
  Print("  of it intake, materialising, judging, recording, promoting", Median(rest),
        "(budget 60 ms)");
  return OkStatus();
}

Status BenchStartUp(const os::Path& root) {
  const std::string pawl = (os::ExecutableFolder() / "pawl").string();
  std::vector<double> version;
  std::vector<double> status;
  for (int i = 0; i < 30; ++i) {
    auto start = Monotonic::now();
    PAWL_TRY(Call(root, {pawl, "--version"}));
    version.push_back(SecondsSince(start) * 1e3);
    start = Monotonic::now();
    PAWL_TRY(Call(root, {pawl, "status"}));
    status.push_back(SecondsSince(start) * 1e3);
  }
  Print("pawl --version, process included", Median(version), "(budget 10 ms)");
  Print("pawl status on this campaign, process included", Median(status), "(budget 30 ms)");
  return OkStatus();
}

// Ten files of 1 GB without blocks on disk: what counts is that unchanged files are not read.
Status BenchFixedData(const os::Path& root) {
  PAWL_TRY(os::MakeFolders(root / "eval/data"));
  for (int i = 0; i < 10; ++i) {
    const os::Path file = root / Format("eval/data/{}.bin", i);
    std::ofstream(file).put('\n');
    std::error_code error;
    std::filesystem::resize_file(file, 1'000'000'000, error);
    if (error) return SystemError("resize " + file.string(), error.value());
  }
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(root / "pawl.toml"));
  PAWL_ASSIGN(store::Artifacts artifacts, store::Artifacts::Open(root / ".autoresearch/bench"));
  auto start = Monotonic::now();
  PAWL_ASSIGN(const campaign::HarnessLock lock, campaign::LockHarness(loaded.config, artifacts));
  Print("10 GB of fixed data: locked (read in full)", SecondsSince(start) * 1e3, "");
  start = Monotonic::now();
  PAWL_ASSIGN(const auto changed,
              campaign::ChangedHarness(lock, loaded.config, campaign::LockCheck::kQuick));
  if (!changed.empty()) return MakeError(Code::kInternal, "unchanged data was called changed");
  Print("  re-checked unchanged", SecondsSince(start) * 1e3, "(budget 100 ms)");
  return OkStatus();
}

Status Bench(int experiments) {
  PAWL_ASSIGN(const os::ScratchFolder place,
              os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-bench"));
  PAWL_TRY(BenchRun(place.path()));
  const os::Path root = place.path() / "project";
  PAWL_TRY(os::MakeFolders(root));
  PAWL_TRY(BenchExperiment(root, experiments));
  PAWL_TRY(BenchStartUp(root));
  PAWL_TRY(BenchFixedData(root));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-66s %9.1f MB   (budget 64 MB)\n", "this process's own peak memory",
              static_cast<double>(usage.ru_maxrss) / 1024);
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const int experiments = argc > 1 ? std::atoi(argv[1]) : 30;
  const Status status = Bench(experiments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "referee_bench: %s\n", status.error().Text().c_str());
  return 1;
}
