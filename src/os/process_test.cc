#include "os/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "base/time.h"

namespace pawl::os {
namespace {

ToolCall Shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}, .env = BasicEnvironment()};
}

TEST(RunTool, ReturnsBothStreamsAndTheExitCode) {
  const auto result = RunTool(Shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(RunTool(Shell("kill -9 $$"))->exit_code, 137);
}

TEST(RunTool, FeedsInputWhileOutputFlowsWithoutDeadlock) {
  ToolCall call{.argv = {"cat"}, .env = BasicEnvironment()};
  call.input.assign(std::size_t{5} << 20, 'x');
  const auto result = RunTool(call);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, call.input);
  // A tool that never reads its input is no problem either.
  call.argv = {"true"};
  EXPECT_EQ(RunTool(call)->exit_code, 0);
}

TEST(RunTool, DrainsTwoFullPipes) {
  const auto result =
      RunTool(Shell("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 0"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out.size(), 300'000U);
  EXPECT_EQ(result->err.size(), 300'000U);
}

TEST(RunTool, HandsOverTheEnvironmentFolderAndNothingElse) {
  ToolCall call = Shell("pwd; ls /proc/self/fd | wc -l; echo \"$A-$HOME\"");
  call.env = {"A=b", "PATH=/usr/bin:/bin"};
  call.cwd = "/usr";
  const Fd leak(::open("/dev/null", O_RDONLY));  // deliberately without close-on-exec
  const auto result = RunTool(call);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "/usr\n4\nb-\n");  // 0, 1, 2 and the one that ls opens itself
}

TEST(RunTool, EndsTheWholeGroupAtTheLimit) {
  ToolCall call = Shell("sleep 1000 & echo $!; trap '' TERM; sleep 1000");
  call.timeout = milliseconds(200);
  const auto refused = RunTool(call);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kTimeout);

  // A background process of a tool that ended does not outlive it either, nor hold up the answer.
  const auto result = RunTool(Shell("sleep 1000 & echo $!"));
  ASSERT_TRUE(result.ok());
  const auto pid = ParseInt(Trim(result->out));
  ASSERT_TRUE(pid.has_value());
  const Path entry = Format("/proc/{}/stat", *pid);
  const auto deadline = Monotonic::now() + std::chrono::seconds(20);
  while (Exists(entry) && ReadFile(entry).ValueOr("").find(") Z ") == std::string::npos) {
    ASSERT_LT(Monotonic::now(), deadline) << "the background process lives on";
    ::usleep(1000);
  }
}

TEST(RunTool, StopsAFlood) {
  ToolCall call{.argv = {"cat", "/dev/zero"}, .env = BasicEnvironment()};
  call.max_output_bytes = 1 << 20;
  EXPECT_EQ(RunTool(call).error().code, Code::kResourceExhausted);
}

TEST(RunTool, SaysWhatCouldNotBeStarted) {
  const auto absent = RunTool({.argv = {"no-such-program-here"}, .env = {}});
  EXPECT_EQ(absent.error().code, Code::kNotFound);
  EXPECT_NE(absent.error().message.find("no-such-program-here"), std::string::npos);
  ToolCall call = Shell("true");
  call.cwd = "/no/such/folder";
  EXPECT_NE(RunTool(call).error().message.find("/no/such/folder"), std::string::npos);
}

TEST(RunTool, WorksWhenPawlWasStartedWithClosedDescriptors) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 64; ++fd) ::close(fd);
    const auto result = RunTool(Shell("echo out; echo err >&2"));
    ::_exit(result.ok() && result->out == "out\n" && result->err == "err\n" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RunToolOrError, QuotesTheLastWords) {
  const auto failed = RunToolOrError(Shell("echo 'fatal: it is \033[31mred' >&2; exit 3"));
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("exit code 3: fatal: it is \\x1b[31mred"),
            std::string::npos)
      << failed.error().message;
  EXPECT_EQ(RunToolOrError(Shell("printf yes")).value(), "yes");
}

TEST(BasicEnvironment, CarriesNothingThatSteersTools) {
  ::setenv("GIT_DIR", "/elsewhere", 1);
  ::setenv("LD_PRELOAD", "", 1);
  const auto env = BasicEnvironment();
  ::unsetenv("GIT_DIR");
  ::unsetenv("LD_PRELOAD");
  for (const std::string& entry : env) {
    EXPECT_TRUE(entry.starts_with("PATH=") || entry.starts_with("HOME=") ||
                entry.starts_with("TZ=") || entry == "LANG=C.UTF-8")
        << entry;
  }
  EXPECT_TRUE(std::count(env.begin(), env.end(), "LANG=C.UTF-8") == 1);
}

TEST(StopSignals, SetTheFlagAndWakeAWaiter) {
  const pid_t child = ::fork();
  if (child == 0) {
    InstallStopSignals();
    if (StopRequested()) ::_exit(2);
    ::raise(SIGTERM);
    pollfd wait{StopDescriptor(), POLLIN, 0};
    ::_exit(StopRequested() && ::poll(&wait, 1, 0) == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(MachineCode, TellsAFullMachineFromABrokenDiskAndFromOtherReasons) {
  EXPECT_EQ(MachineCode("cp: error writing 'x': No space left on device"),
            Code::kResourceExhausted);
  EXPECT_EQ(MachineCode("fatal: sha1 file 'x' write error. Out of diskspace"),
            Code::kResourceExhausted);
  EXPECT_EQ(MachineCode("bwrap: Can't create /dev/shm: Input/output error"), Code::kIo);
  EXPECT_EQ(MachineCode("fatal: bad object"), std::nullopt);
}

}  // namespace
}  // namespace pawl::os
