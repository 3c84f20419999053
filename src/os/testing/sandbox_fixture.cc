#include "os/testing/sandbox_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>

#include "base/text.h"

namespace pawl::os {
namespace {

const SandboxProbe& ProbeFor(IsolationLevel level) {
  static std::map<IsolationLevel, SandboxProbe> probes;
  const auto known = probes.find(level);
  if (known != probes.end()) return known->second;
  return probes.emplace(level, ProbeSandbox(level)).first->second;
}

}  // namespace

void SandboxTest::SetUp() {
  const IsolationLevel level = GetParam();
  if (level == IsolationLevel::kL3 && FindProgram("bwrap").empty()) {
    GTEST_SKIP() << "bubblewrap is not installed";
  }
  probe_ = ProbeFor(level);
  ASSERT_EQ(probe_.level, level) << probe_.ToJson().Pretty();
  auto made = ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-sandbox-");
  ASSERT_TRUE(made.ok()) << made.error().Text();
  scratch_.emplace(std::move(made).value());
  ASSERT_EQ(::chmod(scratch_->path().c_str(), 0755), 0);
  // Beside the log, because a build folder may be out of reach for other users.
  std::filesystem::copy_file(ExecutableFolder() / "pawl_os_hostile", At("hostile"));
  static std::atomic<int> counter{0};
  mark_ = Format("PAWL_TEST_MARK={}-{}", ::getpid(), counter.fetch_add(1));
}

void SandboxTest::TearDown() {
  if (mark_.empty()) return;
  const std::vector<pid_t> left = MarkedProcesses(mark_);
  EXPECT_TRUE(left.empty()) << left.size() << " processes survive, such as " << left.front();
}

SandboxSpec SandboxTest::Shell(std::string script) const {
  SandboxSpec spec;
  spec.level = GetParam();
  spec.mounts = SystemMounts();
  spec.env = {"PATH=/usr/bin:/bin", mark_};
  spec.argv = {"/bin/sh", "-c", std::move(script)};
  spec.log = At("log");
  spec.limits.timeout = std::chrono::seconds(60);
  spec.limits.memory_bytes = std::uint64_t{512} << 20;
  return spec;
}

SandboxSpec SandboxTest::Hostile(std::string_view what, std::string_view argument) const {
  SandboxSpec spec = Shell("");
  spec.mounts.push_back({At("hostile"), At("hostile"), Access::kReadOnly});
  spec.argv = {At("hostile").string(), std::string(what), std::string(argument)};
  return spec;
}

RunOutcome SandboxTest::Run(const SandboxSpec& spec) const {
  const auto outcome = RunSandboxed(spec, probe_);
  if (outcome.ok()) return outcome.value();
  ADD_FAILURE() << outcome.error().Text() << "\n" << Log();
  return {.exit_code = -1};
}

std::string SandboxTest::Log() const {
  return ReadFile(At("log")).ValueOr(std::string("(no log)"));
}

Mount SandboxTest::Writable(std::string_view name) const {
  EXPECT_TRUE(MakeFolders(At(name)).ok());
  return {At(name), At(name), Access::kWritable};
}

std::vector<pid_t> MarkedProcesses(std::string_view mark) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = ParseInt(entry.path().filename().string());
    if (!pid) continue;
    const std::string environment = ReadFile(entry.path() / "environ").ValueOr(std::string());
    if (environment.find(mark) == std::string::npos) continue;
    const std::string status = ReadFile(entry.path() / "status").ValueOr("State:\tZ");
    if (status.find("State:\tZ") == std::string::npos) found.push_back(static_cast<pid_t>(*pid));
  }
  return found;
}

std::string Answer(std::string_view log, std::string_view name) {
  for (const std::string_view line : Split(log, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) {
      return std::string(line.substr(name.size() + 1));
    }
  }
  return "(no answer)";
}

std::string LevelParam(const ::testing::TestParamInfo<IsolationLevel>& info) {
  return std::string(LevelName(info.param));
}

}  // namespace pawl::os
