// Commands that try to use up the machine, to stay alive, or to reach out. Each ends with its name,
// and nothing of it survives (SandboxTest::TearDown looks).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/text.h"
#include "base/time.h"
#include "os/testing/sandbox_fixture.h"

namespace pawl::os {
namespace {

class Hostile : public SandboxTest {
 protected:
  void ExpectTimeout(std::string_view what) {
    SandboxSpec spec = SandboxTest::Hostile(what);
    spec.limits.timeout = milliseconds(300);
    spec.limits.term_grace = milliseconds(100);
    spec.limits.processes = 64;
    EXPECT_EQ(Run(spec).end, RunEnd::kTimeout);
    EXPECT_TRUE(MarkedProcesses(mark_).empty());
  }
};
INSTANTIATE_TEST_SUITE_P(, Hostile,
                         ::testing::Values(IsolationLevel::kL3, IsolationLevel::kL2,
                                           IsolationLevel::kL1),
                         LevelParam);

// The largest resident size since the last call.
std::uint64_t OwnPeakMemory() {
  const std::string status = ReadFile("/proc/self/status").ValueOr("");
  const std::size_t at = status.find("VmHWM:");
  const std::string_view rest = std::string_view(status).substr(at + 6);
  if (std::FILE* reset = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", reset);
    std::fclose(reset);
  }
  return static_cast<std::uint64_t>(ParseInt(Trim(rest.substr(0, rest.find("kB")))).value_or(0)) *
         1024;
}

TEST_P(Hostile, KillingTheSupervisorDoesNotHelp) {
  if (GetParam() == IsolationLevel::kL1 && ::geteuid() != 0) {
    GTEST_SKIP() << "level L1 protects the supervisor only by another user";
  }
  const RunOutcome outcome = Run(Shell("kill -KILL $PPID; kill -STOP $PPID; exit 5"));
  EXPECT_EQ(outcome.Describe(), "exit 5");
}

TEST_P(Hostile, AForkBombStopsAtTheProcessLimit) {
  SandboxSpec spec = SandboxTest::Hostile("fork-until-refused");
  spec.limits.processes = 40;
  EXPECT_TRUE(Run(spec).succeeded());
  const auto count = ParseInt(Trim(Log()));
  ASSERT_TRUE(count.has_value()) << Log();
  EXPECT_GT(*count, 20);
  EXPECT_LE(*count, 40);
}

TEST_P(Hostile, AForkBombEndsAtTheTimeLimit) {
  ExpectTimeout("fork-forever");
}
TEST_P(Hostile, IgnoringTermDoesNotHelp) {
  ExpectTimeout("ignore-term");
}
TEST_P(Hostile, StoppedProcessesEndToo) {
  ExpectTimeout("stop");
}

TEST_P(Hostile, AProcessThatHopsAwayIsCaught) {
  EXPECT_TRUE(Run(SandboxTest::Hostile("hop")).succeeded());
  EXPECT_TRUE(MarkedProcesses(mark_).empty());
}

TEST_P(Hostile, ZombiesAreCleared) {
  EXPECT_TRUE(Run(SandboxTest::Hostile("zombies")).succeeded());
}

TEST_P(Hostile, AMemoryBombIsNamed) {
  for (const char* what : {"memory", "memory-in-child"}) {
    SandboxSpec spec = SandboxTest::Hostile(what);
    spec.limits.memory_bytes = std::uint64_t{128} << 20;
    const RunOutcome outcome = Run(spec);
    EXPECT_EQ(outcome.end, RunEnd::kOutOfMemory) << what;
    EXPECT_LT(outcome.wall_s, 30) << what;
  }
}

TEST_P(Hostile, AMemoryBombIsNamedWithoutControlGroupsToo) {
  probe_.memory_group.clear();
  probe_.cpu_group.clear();
  for (const char* what : {"memory", "memory-in-child"}) {
    SandboxSpec spec = SandboxTest::Hostile(what);
    spec.limits.memory_bytes = std::uint64_t{128} << 20;
    EXPECT_EQ(Run(spec).end, RunEnd::kOutOfMemory) << what;
  }
}

TEST_P(Hostile, ADiskFillerStopsAtTheFileLimit) {
  SandboxSpec spec = SandboxTest::Hostile("fill-disk", At("open/f").string());
  spec.mounts.push_back(Writable("open"));
  spec.limits.file_size_bytes = std::uint64_t{8} << 20;
  const RunOutcome outcome = Run(spec);
  EXPECT_EQ(outcome.Describe(), "killed by SIGXFSZ");
  EXPECT_EQ(StampFile(At("open/f"))->size_bytes, std::uint64_t{8} << 20);
}

TEST_P(Hostile, AFloodKeepsItsHeadAndTail) {
  SandboxSpec spec = SandboxTest::Hostile("flood");
  spec.limits.log_bytes = std::uint64_t{1} << 20;
  OwnPeakMemory();
  const std::uint64_t before = OwnPeakMemory();
  const RunOutcome outcome = Run(spec);
  EXPECT_LT(OwnPeakMemory(), before + (std::uint64_t{16} << 20));
  EXPECT_TRUE(outcome.succeeded());
  EXPECT_TRUE(outcome.log_cut);
  EXPECT_EQ(outcome.log_bytes, (std::uint64_t{256} << 20) + 40);
  const std::string log = Log();
  EXPECT_LT(log.size(), (std::size_t{1} << 20) + 100);
  EXPECT_TRUE(log.starts_with("the head of the log\nxxx"));
  EXPECT_TRUE(log.ends_with("xxxthe tail of the log\n"));
  EXPECT_NE(log.find(Format("\n[pawl] {} bytes left out here\n",
                            outcome.log_bytes - (std::uint64_t{1} << 20))),
            std::string::npos);
}

TEST_P(Hostile, SeesNothingOfOthers) {
  ASSERT_TRUE(WriteFileAtomic(At("secret"), "the answer", {.mode = 0600}).ok());
  EXPECT_FALSE(Run(Shell(Format("cat {}", At("secret").string()))).succeeded() && ::geteuid() == 0);
  if (::geteuid() == 0) {
    EXPECT_EQ(Log().find("the answer"), std::string::npos);
    EXPECT_TRUE(Run(SandboxTest::Hostile("kill", Format("{}", ::getpid()))).succeeded());
    EXPECT_NE(Answer(Log(), "kill"), "ok");
    EXPECT_FALSE(
        Run(Shell(Format("cat /proc/{}/environ /proc/1/environ", ::getpid()))).succeeded());
  }
}

// ---- the call filter and the network: L2 and up

class HostileCalls : public SandboxTest {};
INSTANTIATE_TEST_SUITE_P(, HostileCalls,
                         ::testing::Values(IsolationLevel::kL3, IsolationLevel::kL2), LevelParam);

TEST_P(HostileCalls, AreRefused) {
  EXPECT_TRUE(Run(Hostile("calls")).succeeded());
  const std::string log = Log();
  for (const char* name : {"ptrace",       "process_vm_readv",
                           "unshare_user", "clone_user",
                           "setns",        "mount",
                           "bpf",          "perf_event_open",
                           "userfaultfd",  "io_uring_setup",
                           "keyctl",       "kexec_load",
                           "init_module",  "swapon",
                           "reboot",       "clock_settime",
                           "adjtimex",     "tiocsti",
                           "packet",       "netlink"}) {
    EXPECT_EQ(Answer(log, name), "EPERM") << name;
  }
  EXPECT_EQ(Answer(log, "clone3"), "ENOSYS");
  EXPECT_EQ(Answer(log, "unshare_files"), "ok");
  EXPECT_EQ(Answer(log, "socketpair"), "ok");
  const bool own_network = GetParam() == IsolationLevel::kL3;
  EXPECT_EQ(Answer(log, "inet"), own_network ? "ok" : "EPERM");
  EXPECT_EQ(Answer(log, "unix"), own_network ? "ok" : "EPERM");
}

TEST_P(HostileCalls, ReachTheNetworkOnlyWhenTheyMay) {
  const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server.get(), 4), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  SandboxSpec spec = Hostile("connect", Format("{}", ntohs(address.sin_port)));
  EXPECT_TRUE(Run(spec).succeeded());
  EXPECT_EQ(Answer(Log(), "connect"), GetParam() == IsolationLevel::kL3 ? "ECONNREFUSED" : "EPERM");
  spec.network = true;
  EXPECT_TRUE(Run(spec).succeeded());
  EXPECT_EQ(Answer(Log(), "connect"), "ok");
}

TEST_P(HostileCalls, FilesOutsideTheMountsDoNotExistOrDoNotOpen) {
  ASSERT_TRUE(WriteFileAtomic(At("public"), "not for you", {.mode = 0644}).ok());
  EXPECT_FALSE(Run(Shell(Format("cat {}", At("public").string()))).succeeded());
  EXPECT_EQ(Log().find("not for you"), std::string::npos);
}

}  // namespace
}  // namespace pawl::os
