#include "os/dialogue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"

namespace pawl::os {
namespace {

Result<Dialogue> Shell(std::string script, std::chrono::milliseconds timeout) {
  return Dialogue::Start(
      {.argv = {"sh", "-c", std::move(script)}, .env = BasicEnvironment(), .timeout = timeout});
}

constexpr std::chrono::milliseconds kLong{60'000};
constexpr std::chrono::milliseconds kShort{50};

TEST(Dialogue, AnswersManyQuestions) {
  auto talk = Shell("while read -r word; do echo \"got $word\"; done", kLong);
  ASSERT_TRUE(talk.ok()) << talk.error().Text();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(talk->Ask(Format("{}\n", i)).ok());
    EXPECT_EQ(talk->Line().value(), Format("got {}", i));
  }
}

TEST(Dialogue, LinesAndBytesFollowOneAnother) {
  auto talk = Dialogue::Start({.argv = {"cat"}, .env = BasicEnvironment(), .timeout = kLong});
  ASSERT_TRUE(talk.ok());
  const std::string block(Dialogue::kMaxRequestBytes - 10, '\n');
  ASSERT_TRUE(talk->Ask("head\n" + block).ok());
  EXPECT_EQ(talk->Line().value(), "head");
  EXPECT_EQ(talk->Bytes(block.size()).value(), block);
  ASSERT_TRUE(talk->Ask("tail\n").ok());
  EXPECT_EQ(talk->Bytes(5).value(), "tail\n");
}

TEST(Dialogue, TheEndOfTheToolIsToldWithItsWords) {
  auto talk = Shell("echo half; echo woe >&2", kLong);
  ASSERT_TRUE(talk.ok());
  EXPECT_EQ(talk->Line().value(), "half");
  const auto line = talk->Line();
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().code, Code::kIo);
  EXPECT_NE(line.error().message.find("sh ended before it had answered: woe"), std::string::npos);
  // Nobody reads any more; that is an error, not a signal that ends this process.
  Status asked = OkStatus();
  for (int i = 0; i < 100 && asked.ok(); ++i) asked = talk->Ask(std::string(30'000, 'x'));
  EXPECT_FALSE(asked.ok());
}

TEST(Dialogue, SilenceAndEndlessLinesAreErrors) {
  auto silent = Shell("read -r word; sleep 100", kShort);
  ASSERT_TRUE(silent.ok());
  ASSERT_TRUE(silent->Ask("well?\n").ok());
  EXPECT_EQ(silent->Line().error().code, Code::kTimeout);
  auto endless = Shell("yes | tr -d '\\n'", kLong);
  ASSERT_TRUE(endless.ok());
  EXPECT_EQ(endless->Line(1000).error().code, Code::kResourceExhausted);
}

TEST(Dialogue, LeavesNothingBehind) {
  pid_t left = 0;
  {
    auto talk = Shell("sleep 100 & echo $!; wait", kLong);
    ASSERT_TRUE(talk.ok());
    left = static_cast<pid_t>(ParseInt(talk->Line().value()).value());
    ASSERT_EQ(::kill(left, 0), 0);
  }
  // The signal is sent; it takes effect, and init reaps the orphan, in their own time.
  const auto lives = [&] {
    const auto status = ReadFile(Format("/proc/{}/stat", left));
    return status.ok() && status->find(" Z ") == std::string::npos;
  };
  const auto until = Monotonic::now() + std::chrono::seconds(30);
  while (lives() && Monotonic::now() < until) ::usleep(1000);
  EXPECT_FALSE(lives());
}

TEST(Dialogue, AProgramThatIsNotThereIsNamed) {
  const auto talk = Dialogue::Start({.argv = {"pawl-no-such-tool"}, .env = BasicEnvironment()});
  ASSERT_FALSE(talk.ok());
  EXPECT_EQ(talk.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace pawl::os
