// What a well-meaning command finds in its sandbox, and what comes back about it.
#include "os/sandbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/text.h"
#include "base/time.h"
#include "os/process.h"
#include "os/testing/sandbox_fixture.h"

namespace pawl::os {
namespace {

class Sandbox : public SandboxTest {};
INSTANTIATE_TEST_SUITE_P(, Sandbox,
                         ::testing::Values(IsolationLevel::kL3, IsolationLevel::kL2,
                                           IsolationLevel::kL1),
                         LevelParam);

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    if (!entry.path().empty()) ++count;
  }
  return count;
}

TEST_P(Sandbox, TellsExitCodesAndSignalsApart) {
  EXPECT_TRUE(Run(Shell("exit 0")).succeeded());
  const RunOutcome exit = Run(Shell("echo out; echo err >&2; exit 139"));
  EXPECT_EQ(exit.end, RunEnd::kExited);
  EXPECT_EQ(exit.exit_code, 139);
  EXPECT_EQ(exit.Describe(), "exit 139");
  EXPECT_EQ(exit.level, GetParam());
  EXPECT_EQ(Log(), "out\nerr\n");
  const RunOutcome crash = Run(Shell("kill -SEGV $$"));
  EXPECT_EQ(crash.end, RunEnd::kSignalled);
  EXPECT_EQ(crash.signal, SIGSEGV);
  EXPECT_EQ(crash.Describe(), "killed by SIGSEGV");
}

TEST_P(Sandbox, GivesExactlyTheEnvironmentAndDescriptorsThatItShould) {
  SandboxSpec spec = Shell("env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l");
  const Fd leak(::open("/dev/null", O_RDONLY));  // deliberately without close-on-exec
  EXPECT_TRUE(Run(spec).succeeded());
  // PWD is the shell's; 0, 1, 2 and the one that ls opens.
  EXPECT_EQ(Log(), "HOME LOGNAME PATH PAWL_TEST_MARK PWD TMPDIR USER 4\n");
}

TEST_P(Sandbox, HasAPrivateHomeAndTempFolder) {
  SandboxSpec spec = Shell("echo x > $HOME/f && echo y > $TMPDIR/f && echo $HOME");
  spec.env.push_back(Format("HOME={}", kSandboxHome));
  EXPECT_TRUE(Run(spec).succeeded()) << Log();
  const Path home(std::string(Trim(Log())));
  EXPECT_EQ(home == kSandboxHome, GetParam() == IsolationLevel::kL3);
  EXPECT_FALSE(Exists(home));
}

TEST_P(Sandbox, RunsWithoutPrivileges) {
  EXPECT_TRUE(Run(Shell("grep -E '^(Uid|Cap...|NoNewPrivs)' /proc/self/status")).succeeded());
  const std::string log = Log();
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_NE(log.find(Format("{}:\t0000000000000000", set)), std::string::npos) << log;
  }
  EXPECT_NE(log.find("NoNewPrivs:\t1"), std::string::npos);
  if (::geteuid() == 0) {
    EXPECT_EQ(log.find("Uid:\t0"), std::string::npos) << log;
  }
}

TEST_P(Sandbox, WritesOnlyWhereItMay) {
  SandboxSpec spec =
      Shell(Format("cd {}; echo new > open/f && mkdir open/d && cat open/old/f; "
                   "echo x > closed/f; echo x > /usr/pawl-test; true",
                   At("").string()));
  ASSERT_TRUE(MakeFolders(At("open/old")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("open/old/f"), "old\n", {.mode = 0600}).ok());
  ASSERT_TRUE(MakeFolders(At("closed")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("closed/f"), "kept", {}).ok());
  spec.mounts.push_back(Writable("open"));
  spec.mounts.push_back({At("closed"), At("closed"), Access::kReadOnly});
  EXPECT_TRUE(Run(spec).succeeded()) << Log();
  EXPECT_EQ(ReadFile(At("open/f"), {.follow_links = false}).value(), "new\n");
  EXPECT_NE(Log().find("old\n"), std::string::npos) << Log();
  EXPECT_FALSE(Exists("/usr/pawl-test"));
  if (GetParam() == IsolationLevel::kL1 && ::geteuid() != 0) {
    GTEST_SKIP() << "level L1 keeps nothing from a command of the same user";
  }
  EXPECT_EQ(ReadFile(At("closed/f")).value(), "kept");
}

TEST_P(Sandbox, MeasuresFromOutside) {
  const RunOutcome sleep = Run(Shell("sleep 0.2"));
  EXPECT_GE(sleep.wall_s, 0.2);
  EXPECT_LT(sleep.cpu_s, 0.2);
  const RunOutcome burn = Run(Hostile("burn"));
  EXPECT_GE(burn.cpu_s, 0.19);
  const RunOutcome memory = Run(Shell("head -c 60000000 /dev/zero | tail -c 60000000 | wc -c"));
  EXPECT_GT(memory.peak_rss_bytes, std::uint64_t{50} << 20);
  EXPECT_LT(sleep.peak_rss_bytes, std::uint64_t{30} << 20);
  EXPECT_GT(sleep.setup_s, 0);
  EXPECT_GT(sleep.teardown_s, 0);
}

TEST_P(Sandbox, CountsTheCpuTimeOfChildrenThatNobodyWaitsFor) {
  if (probe_.cpu_group.empty()) GTEST_SKIP() << "no control group can be made here";
  EXPECT_GE(Run(Hostile("hide-cpu")).cpu_s, 0.29);
}

TEST_P(Sandbox, NamesWhatCannotBeStarted) {
  SandboxSpec spec = Shell("");
  spec.argv = {"/no/such/program"};
  EXPECT_EQ(Run(spec).exit_code, 127);
  spec.argv = {"/etc/passwd"};
  EXPECT_EQ(Run(spec).exit_code, 126);
  spec.argv = {"true"};  // found on the command's PATH
  EXPECT_EQ(Run(spec).exit_code, 0);

  spec.cwd = "/no/such/folder";
  const auto folder = RunSandboxed(spec, probe_);
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("enter the working folder"), std::string::npos);
  spec = Shell("true");
  spec.mounts.push_back({At("absent"), At("absent"), Access::kReadOnly});
  const auto mount = RunSandboxed(spec, probe_);
  ASSERT_FALSE(mount.ok());
  EXPECT_NE(mount.error().message.find("absent"), std::string::npos);
  spec = Shell("true");
  spec.level = IsolationLevel::kL3;
  SandboxProbe less = probe_;
  less.level = IsolationLevel::kL1;
  EXPECT_EQ(RunSandboxed(spec, less).error().code, Code::kUnsupported);
}

TEST_P(Sandbox, EndsAtTheLimitAndLetsTheCommandClearUpFirst) {
  SandboxSpec spec = Shell(Format("trap 'echo cleared > {}/open/f; exit 3' TERM; sleep 100 & wait",
                                  scratch_->path().string()));
  spec.mounts.push_back(Writable("open"));
  spec.limits.timeout = milliseconds(200);
  spec.limits.term_grace = std::chrono::seconds(20);
  const RunOutcome outcome = Run(spec);
  EXPECT_EQ(outcome.end, RunEnd::kTimeout);
  EXPECT_GE(outcome.wall_s, 0.2);
  EXPECT_LT(outcome.wall_s, 15);
  EXPECT_EQ(ReadFile(At("open/f")).ValueOr("nothing"), "cleared\n");
}

TEST_P(Sandbox, BackgroundProcessesEndWithTheCommand) {
  SandboxSpec spec =
      Shell(Format("(sleep 1; echo late > {0}/open/f) & "
                   "(setsid sh -c 'sleep 1; echo late > {0}/open/g') & echo done",
                   scratch_->path().string()));
  spec.mounts.push_back(Writable("open"));
  EXPECT_TRUE(Run(spec).succeeded());
  EXPECT_EQ(Log(), "done\n");
  EXPECT_TRUE(MarkedProcesses(mark_).empty());
  EXPECT_FALSE(Exists(At("open/f")) || Exists(At("open/g")));
}

TEST_P(Sandbox, RunsSideBySideAndLeaksNoDescriptors) {
  EXPECT_TRUE(Run(Shell("true")).succeeded());
  const std::size_t before = OpenDescriptors();
  std::vector<std::thread> threads;
  std::array<int, 4> good{};
  for (std::size_t i = 0; i < good.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 5; ++run) {
        SandboxSpec spec = Shell(Format("echo {}; sleep 0.01; exit {}", i, i));
        spec.log = At(Format("log-{}", i));
        const auto outcome = RunSandboxed(spec, probe_);
        if (outcome.ok() && outcome->exit_code == static_cast<int>(i) &&
            ReadFile(spec.log).ValueOr("") == Format("{}\n", i)) {
          ++good[i];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, (std::array<int, 4>{5, 5, 5, 5}));
  EXPECT_EQ(OpenDescriptors(), before);
}

// In a child, because the request to stop stays for the rest of a process's life.
TEST_P(Sandbox, StopsWhenPawlIsAskedTo) {
  const pid_t pawl = ::fork();
  if (pawl == 0) {
    InstallStopSignals();
    SandboxSpec spec = Shell(Format("touch {}/open/started; sleep 100", scratch_->path().string()));
    spec.mounts.push_back(Writable("open"));
    const auto outcome = RunSandboxed(spec, probe_);
    ::_exit(outcome.ok() && outcome->end == RunEnd::kCancelled ? 0 : 1);
  }
  const auto deadline = Monotonic::now() + std::chrono::seconds(60);
  while (!Exists(At("open/started")) && Monotonic::now() < deadline) ::usleep(2000);
  ::kill(pawl, SIGTERM);
  int status = -1;
  ASSERT_EQ(::waitpid(pawl, &status, 0), pawl);
  EXPECT_EQ(status, 0);
}

TEST_P(Sandbox, NothingOutlivesAPawlThatIsKilled) {
  const pid_t pawl = ::fork();
  if (pawl == 0) {
    SandboxSpec spec = Shell(
        Format("setsid sleep 100 & touch {}/open/started; sleep 100", scratch_->path().string()));
    spec.mounts.push_back(Writable("open"));
    RunSandboxed(spec, probe_).Ignore("killed meanwhile");
    ::_exit(1);
  }
  const auto deadline = Monotonic::now() + std::chrono::seconds(60);
  while (!Exists(At("open/started")) && Monotonic::now() < deadline) ::usleep(2000);
  EXPECT_FALSE(MarkedProcesses(mark_).empty());
  ::kill(pawl, SIGKILL);
  ::waitpid(pawl, nullptr, 0);
  while (!MarkedProcesses(mark_).empty() && Monotonic::now() < deadline) ::usleep(2000);

  // What it left on disk goes when the next Pawl starts.
  EXPECT_EQ(ProbeSandbox(GetParam()).level, GetParam());
  for (const Path& home : {probe_.memory_group, probe_.cpu_group}) {
    if (home.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(home)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(Format("pawl-{}-", pawl)));
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator("/tmp")) {
    EXPECT_NE(ReadFile(entry.path() / "lock").ValueOr(""), Format("process {}", pawl));
  }
}

// ---- what only one level can

class SandboxL3 : public SandboxTest {};
INSTANTIATE_TEST_SUITE_P(, SandboxL3, ::testing::Values(IsolationLevel::kL3), LevelParam);

TEST_P(SandboxL3, ShowsMountsUnderOtherNamesInOrder) {
  ASSERT_TRUE(MakeFolders(At("tree/harness")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("tree/harness/eval"), "forged", {}).ok());
  ASSERT_TRUE(WriteFileAtomic(At("tree/code"), "code", {}).ok());
  ASSERT_TRUE(MakeFolders(At("locked")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("locked/eval"), "locked", {}).ok());
  SandboxSpec spec = Shell("cat harness/eval code; echo x > harness/eval; true");
  spec.mounts.push_back({At("tree"), "/root/pawl/work", Access::kWritable});
  spec.mounts.push_back({At("locked"), "/root/pawl/work/harness", Access::kReadOnly});
  spec.cwd = "/root/pawl/work";
  EXPECT_TRUE(Run(spec).succeeded());
  EXPECT_TRUE(Log().starts_with("lockedcode")) << Log();
  EXPECT_EQ(ReadFile(At("locked/eval")).value(), "locked");
  EXPECT_EQ(ReadFile(At("tree/harness/eval")).value(), "forged");
}

TEST_P(SandboxL3, ReachesAToolchainBehindAClosedFolder) {
  ASSERT_TRUE(MakeFolders(At("closed/tool")).ok());
  ASSERT_TRUE(
      WriteFileAtomic(At("closed/tool/run"), "#!/bin/sh\necho tool\n", {.mode = 0755}).ok());
  ASSERT_EQ(::chmod(At("closed").c_str(), 0700), 0);
  SandboxSpec spec = Shell(At("closed/tool/run").string());
  spec.mounts.push_back({At("closed/tool"), At("closed/tool"), Access::kReadOnly});
  EXPECT_TRUE(Run(spec).succeeded());
  EXPECT_EQ(Log(), "tool\n");
}

TEST_P(SandboxL3, OwnProcessTableHostNameAndUsers) {
  EXPECT_TRUE(Run(Shell("ls /proc | grep -c '^[0-9]'; hostname; cat /etc/passwd | wc -l; "
                        "ls /dev | tr '\\n' ' '"))
                  .succeeded());
  const std::string log = Log();
  const std::vector<std::string_view> lines = Split(log, '\n');
  ASSERT_GE(lines.size(), 4U) << log;
  EXPECT_LE(ParseInt(lines[0]).value_or(99), 4);  // shim, shell, ls, grep
  EXPECT_EQ(lines[1], "pawl");
  EXPECT_EQ(log.find("vda"), std::string::npos);
}

class SandboxL2 : public SandboxTest {};
INSTANTIATE_TEST_SUITE_P(, SandboxL2, ::testing::Values(IsolationLevel::kL2), LevelParam);

TEST_P(SandboxL2, SaysWhichFolderIsInTheWay) {
  SandboxSpec spec = Shell("true");
  ASSERT_TRUE(MakeFolders(At("a/b")).ok());
  spec.mounts.push_back({At("a/b"), "/elsewhere", Access::kReadOnly});
  EXPECT_EQ(RunSandboxed(spec, probe_).error().code, Code::kUnsupported);
  if (::geteuid() != 0) GTEST_SKIP() << "the rest is about running as another user";
  ASSERT_EQ(::chmod(At("a").c_str(), 0700), 0);
  spec.mounts.back() = {At("a/b"), At("a/b"), Access::kReadOnly};
  const auto refused = RunSandboxed(spec, probe_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_NE(refused.error().message.find(At("a").string() + " (mode 700)"), std::string::npos);
}

// ---- the ladder

TEST(SandboxProbe, ObeysTheCeilingAndSaysWhatItFound) {
  for (const IsolationLevel ceiling : {IsolationLevel::kL0, IsolationLevel::kL1}) {
    const SandboxProbe probe = ProbeSandbox(ceiling);
    EXPECT_EQ(probe.level, ceiling);
    ASSERT_FALSE(probe.findings.empty());
    EXPECT_TRUE(probe.findings[0].starts_with(LevelName(ceiling)));
    EXPECT_EQ(probe.ToJson().StringAt("level"), LevelName(ceiling));
  }
  EXPECT_EQ(ParseLevel("L2"), IsolationLevel::kL2);
  EXPECT_EQ(ParseLevel("l2"), std::nullopt);
}

TEST(SandboxProbe, AnOrdinaryUserReachesL3ThroughAUserNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "already an ordinary user: the other tests show it";
  if (FindProgram("bwrap").empty()) GTEST_SKIP() << "bubblewrap is not installed";
  auto folder = ScratchFolder::Make("/tmp", "pawl-nobody-");
  ASSERT_TRUE(folder.ok());
  ASSERT_EQ(::chown(folder->path().c_str(), 65534, 65534), 0);
  const pid_t user = ::fork();
  if (user == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(10);
    if (::access((ExecutableFolder() / "pawl-shim").c_str(), X_OK) != 0) ::_exit(77);
    SandboxSpec spec;
    const SandboxProbe probe = ProbeSandbox();
    if (probe.level != IsolationLevel::kL3 || probe.own_uid) ::_exit(12);
    spec.mounts = SystemMounts();
    spec.mounts.push_back({folder->path(), "/work", Access::kWritable});
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.argv = {"/bin/sh", "-c", "id -u > /work/f && ! touch /x /dev/x 2> /work/errors"};
    spec.log = folder->path() / "log";
    const auto outcome = RunSandboxed(spec, probe);
    if (!outcome.ok() || !outcome->succeeded()) ::_exit(13);
    ::_exit(ReadFile(folder->path() / "f").ValueOr("") == "65534\n" ? 0 : 14);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(user, &status, 0), user);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "other users cannot reach the build folder";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace pawl::os
