// What candidate code can reach from inside a run: files, processes, the network, the kernel, the
// caller's environment. Each attempt that got through would be worth a gain.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

// Something on this machine that a candidate could talk to.
class Listeners {
 public:
  explicit Listeners(const test::Path& socket) : path_(socket.string()) {
    name_ = "@" + path_;
    tcp_ = Bind(SOCK_STREAM, tcp_port_);
    udp_ = Bind(SOCK_DGRAM, udp_port_);
    local_ = BindLocal(path_);
    abstract_ = BindLocal(name_);
  }

  std::vector<std::vector<std::string>> Attempts() const {
    return {{"connect-tcp", Format("{}", tcp_port_)},
            {"send-udp", Format("{}", udp_port_)},
            {"connect-unix", path_},
            {"connect-unix", name_}};
  }
  // Whether a datagram has come in. Sending one proves nothing: at L3 a command talks to itself.
  bool Heard() const {
    char byte = 0;
    return ::recv(udp_.get(), &byte, 1, MSG_DONTWAIT) >= 0;
  }

 private:
  static os::Fd Bind(int type, int& port) {
    os::Fd end(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(end.get(), generic, length), 0);
    EXPECT_EQ(::getsockname(end.get(), generic, &length), 0);
    port = ntohs(address.sin_port);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(end.get(), 8), 0);
    }
    return end;
  }

  static os::Fd BindLocal(const std::string& name) {
    os::Fd end(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(end.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(end.get(), 8), 0);
    if (name.front() != '@') {
      EXPECT_EQ(::chmod(name.c_str(), 0777), 0);
    }
    return end;
  }

  std::string path_, name_;
  int tcp_port_ = 0, udp_port_ = 0;
  os::Fd tcp_, udp_, local_, abstract_;
};

class Isolation : public testing::TestWithParam<const char*> {
 protected:
  static ProjectOptions Options() {
    ProjectOptions options;
    options.level = GetParam();
    return WithAttack(options);
  }
  // One candidate that makes all attempts; none may get through.
  static void ExpectNoneThrough(Project& project,
                                const std::vector<std::vector<std::string>>& attempts,
                                const std::vector<std::string>& environment = {}) {
    project.Reset();
    project.Write("src/program.sh", project.Read("src/program.sh") + Attempts(attempts));
    project.Commit();
    const Outcome outcome = project.Experiment({}, environment);
    EXPECT_TRUE(Worthless(project, outcome));
    EXPECT_TRUE(AllRefused(project.Log(outcome, "perf"), attempts.size()));
  }
};

// What only the user and Pawl may read.
std::vector<std::vector<std::string>> Reads(const Project& project) {
  const std::string root = project.root().string();
  const std::string state = project.state().string();
  return {{"read", project.home() / ".ssh/id"},
          {"list", project.home()},
          {"read", root + "/README.private"},
          {"list", root + "/.git"},
          {"read", state + "/pawl.sqlite3"},
          {"list", state + "/objects"},
          {"list", state + "/baseline"},
          {"list", state + "/runs"},
          {"read", "/etc/shadow"},
          {"read", "/proc/1/environ"},
          {"read-through-proc", project.home() / ".ssh/id"},
          {"search-proc", "token-of-the-user"}};
}

TEST_P(Isolation, FilesOfTheUserAndOfPawlCannotBeRead) {
  Project project(Options());
  project.Write(project.home() / ".ssh/id", "secret\n");
  PAWL_OPEN_OR_SKIP(project);
  ASSERT_TRUE(Worthless(project, project.Try("true\n")));  // so that there are other runs
  project.Write(".git/info/exclude", "README.private\n");
  project.Write("README.private", "secret\n");
  ExpectNoneThrough(project, Reads(project), {"TOKEN=token-of-the-user"});
}

TEST_P(Isolation, NothingOutsideTheRunCanBeWritten) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  const std::string state = project.state().string();
  const std::string shared = std::filesystem::temp_directory_path() / "pawl-adversary-was-here";
  const std::vector<std::vector<std::string>> attempts = {
      {"write", project.home() / ".bashrc"},
      {"write", project.root() / "README"},
      {"write", project.root() / "harness/quality.sh"},
      {"write", project.root() / ".git/config"},
      {"write", state + "/pawl.sqlite3"},
      {"write", state + "/results.tsv"},
      {"write", state + "/best.json"},
      {"write", "/etc/pawl-adversary-was-here"},
      {"write", "/usr/local/bin/pawl-adversary-was-here"},
      {"write", "/proc/sys/kernel/core_pattern"},
      {"write", "/sys/fs/cgroup/cgroup.procs"}};
  ExpectNoneThrough(project, attempts);
  // A private temporary folder may take it; the machine's must not have it.
  const Outcome outcome = project.Try(Format("echo x >'{}' || true\n", shared));
  EXPECT_TRUE(Worthless(project, outcome));
  EXPECT_FALSE(os::Exists(shared));
  EXPECT_EQ(project.Verify().exit_code, 0);
}

TEST_P(Isolation, NobodyCanBeReachedOverTheNetwork) {
  Project project(Options());
  const Listeners listeners(project.home() / "s");
  PAWL_OPEN_OR_SKIP(project);
  auto attempts = listeners.Attempts();
  std::vector<std::vector<std::string>> datagrams;
  std::erase_if(attempts, [&](const auto& attempt) {
    if (attempt.front() != "send-udp") return false;
    datagrams.push_back(attempt);
    return true;
  });
  attempts.push_back({"raw-socket"});
  ExpectNoneThrough(project, attempts);
  ASSERT_EQ(datagrams.size(), 1U);
  const Outcome sent = project.Try(Attempts(datagrams));
  EXPECT_NE(project.Log(sent, "perf").find("send-udp"), std::string::npos);
  EXPECT_FALSE(listeners.Heard());
}

TEST_P(Isolation, OtherProcessesCannotBeTouched) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  ExpectNoneThrough(project, {{"trace-parent"},
                              {"read-parent-memory"},
                              {"kill-by-command-line", project.config_file().string()},
                              {"inherited-descriptors"},
                              {"type-into-terminal"}});
}

TEST_P(Isolation, RightsCannotBeGained) {
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  ExpectNoneThrough(project, {{"is-root"},
                              {"become-root"},
                              {"set-id-copy", "/tmp"},
                              {"mount"},
                              {"unshare"},
                              {"chroot"},
                              {"make-device", "/tmp/device"},
                              {"set-clock"},
                              {"bpf"},
                              {"userfaultfd"},
                              {"perf-events"},
                              {"keyring"}});
}

// Killing everything in sight ends the candidate and nobody else.
TEST_P(Isolation, KillingEverythingEndsOnlyTheCandidate) {
  if (std::string_view(GetParam()) == "L2" && ::geteuid() != 0) {
    GTEST_SKIP() << "at L2 without another user the blow would hit this user's own session";
  }
  Project project(Options());
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      "ops=5\nif test $stage = perf; then kill -STOP 1; kill -9 1; kill -9 $PPID; "
      "kill -9 -1; kill -9 0; fi\n");
  EXPECT_TRUE(Refused(project, outcome, "crash", "perf"));
  EXPECT_TRUE(Kept(project, project.Try("ops=9\n"), "shared"));
}

TEST_P(Isolation, TheCallersEnvironmentDoesNotReachTheRun) {
  Project project(Options());
  project.Write(project.home() / "trojan/cksum", "#!/bin/sh\necho 0\n", 0755);
  project.Write(project.home() / "trojan/test", "#!/bin/sh\nexit 0\n", 0755);
  project.Write(project.home() / "start.sh", "ops=1\n");
  PAWL_OPEN_OR_SKIP(project);
  const std::string home = project.home().string();
  project.Write("src/program.sh", project.Read("src/program.sh") +
                                      "case $PATH in *trojan*) ops=1;; esac\n" +
                                      "test \"$(cksum </dev/null)\" = 0 && ops=1\n" +
                                      Attempts({{"variable", "AWS_SECRET_ACCESS_KEY"},
                                                {"variable", "PYTHONPATH"},
                                                {"variable", "PYTHONSTARTUP"},
                                                {"variable", "BASH_ENV"},
                                                {"variable", "ENV"},
                                                {"variable", "PERL5OPT"},
                                                {"variable", "CUDA_INJECTION64_PATH"},
                                                {"variable", "GIT_DIR"},
                                                {"variable", "SSH_AUTH_SOCK"},
                                                {"variable", "XDG_CACHE_HOME"},
                                                {"variable", "LD_AUDIT"}}));
  project.Commit();
  const Outcome outcome = project.Experiment(
      {}, {"AWS_SECRET_ACCESS_KEY=x", "PYTHONPATH=" + home, "PYTHONSTARTUP=" + home + "/start.py",
           "BASH_ENV=" + home + "/start.sh", "ENV=" + home + "/start.sh", "PERL5OPT=-x",
           "CUDA_INJECTION64_PATH=/x.so", "SSH_AUTH_SOCK=" + home + "/agent",
           "XDG_CACHE_HOME=" + home, "LD_AUDIT=", "PATH=" + home + "/trojan:/usr/bin:/bin"});
  EXPECT_TRUE(Worthless(project, outcome));
  EXPECT_TRUE(AllRefused(project.Log(outcome, "perf"), 11));
}

INSTANTIATE_TEST_SUITE_P(Levels, Isolation, testing::Values("L3", "L2"),
                         [](const auto& level) { return std::string(level.param); });

// The same attempts where nothing holds them: they do get through, so the refusals above are the
// sandbox's doing. And a keep at L0 takes the user's word.
TEST(WithoutIsolation, TheAttemptsGetThrough) {
  ProjectOptions options;
  options.level = "L0";
  Project project(WithAttack(options));
  project.Write(project.home() / ".ssh/id", "secret\n");
  const Listeners listeners(project.home() / "s");
  PAWL_OPEN_OR_SKIP(project);
  auto attempts = listeners.Attempts();
  attempts.push_back({"read", project.home() / ".ssh/id"});
  attempts.push_back({"list", project.state() / "objects"});
  attempts.push_back({"read", project.state() / "pawl.sqlite3"});
  attempts.push_back({"write", project.home() / ".bashrc"});
  for (const auto& attempt : attempts) {
    SCOPED_TRACE(attempt[0] + " " + attempt[1]);
    const Outcome outcome = project.Try(Attempts({attempt}));
    EXPECT_TRUE(Refused(project, outcome, "discard-invalid", "--trust-candidate"));
    EXPECT_NE(project.Log(outcome, "perf").find(": reached"), std::string::npos);
  }
  EXPECT_TRUE(Kept(
      project,
      project.Try(Attempts({attempts.front()}), Project::Place::kAppended, {"--trust-candidate"}),
      "shared"));
}

}  // namespace
}  // namespace pawl::adversary
