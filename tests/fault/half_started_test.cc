// Bubblewraps whose outer half was killed before it let the inner half go on: the one moment at
// which a sandbox does not die with its Pawl. Here bubblewrap is made to stop at that moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "base/text.h"
#include "loop/leftovers.h"
#include "os/files.h"
#include "os/process.h"
#include "support/processes.h"

namespace pawl::fault {
namespace {

// A sandbox that stays half started as long as this lives.
class HalfStartedSandbox {
 public:
  // `marker` is part of its command line.
  explicit HalfStartedSandbox(const std::string& marker) {
    const std::string program = marker + "/pawl-shim";
    std::array<int, 2> ready{};
    if (::pipe2(ready.data(), O_CLOEXEC) != 0) return;
    hold_ = ready[1];
    outer_ = ::fork();
    if (outer_ == 0) {
      ::dup2(ready[0], kReady);
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), kInfo);
      ::execlp("bwrap", "bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent",
               "--ro-bind", "/", "/", "--info-fd", "21", "--userns-block-fd", "20", "--",
               program.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ready[0]);
  }
  ~HalfStartedSandbox() {
    KillOuter();
    ::close(hold_);
  }
  HalfStartedSandbox(const HalfStartedSandbox&) = delete;
  HalfStartedSandbox& operator=(const HalfStartedSandbox&) = delete;

  // The process that waits to be let go on; 0 when bubblewrap does not get so far here.
  [[nodiscard]] pid_t WaitForInner() const {
    while (::waitpid(outer_, nullptr, WNOHANG) == 0) {
      const auto children =
          os::ReadFile(Format("/proc/{0}/task/{0}/children", static_cast<int>(outer_)));
      if (!children.ok()) return 0;
      if (const auto inner = ParseInt(Trim(*children)); inner) return static_cast<pid_t>(*inner);
    }
    return 0;
  }

  void KillOuter() {
    if (outer_ <= 0) return;
    ::kill(outer_, SIGKILL);
    ::waitpid(outer_, nullptr, 0);
    outer_ = 0;
  }

 private:
  static constexpr int kReady = 20;
  static constexpr int kInfo = 21;
  pid_t outer_ = 0;
  int hold_ = -1;
};

class HalfStarted : public testing::Test {
 protected:
  void SetUp() override {
    if (!os::FindTool("bwrap").ok()) GTEST_SKIP() << "bubblewrap is not installed";
    marker_ = "/half-started-" + std::to_string(::getpid());
    sandbox_ = std::make_unique<HalfStartedSandbox>(marker_);
    if (sandbox_->WaitForInner() == 0) {
      GTEST_SKIP() << "bubblewrap makes no user namespaces on this machine";
    }
  }

  std::string marker_;
  std::unique_ptr<HalfStartedSandbox> sandbox_;
};

TEST_F(HalfStarted, IsEndedWhenItsOuterHalfIsGone) {
  sandbox_->KillOuter();
  ASSERT_TRUE(test::Lives(marker_)) << "there was nothing to end";
  ASSERT_TRUE(loop::EndHalfStarted().ok());
  EXPECT_TRUE(test::Becomes(false, marker_));
}

TEST_F(HalfStarted, IsLeftAloneWhileItsOuterHalfLives) {
  ASSERT_TRUE(loop::EndHalfStarted().ok());
  const pid_t inner = sandbox_->WaitForInner();
  ASSERT_GT(inner, 0);
  EXPECT_TRUE(os::Exists(Format("/proc/{}", static_cast<int>(inner))));
  sandbox_->KillOuter();
  ASSERT_TRUE(loop::EndHalfStarted().ok());
  EXPECT_TRUE(test::Becomes(false, marker_));
}

}  // namespace
}  // namespace pawl::fault
