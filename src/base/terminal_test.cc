// The terminal is tested through a pseudo-terminal, as a person would see it.
#include "base/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/text.h"

namespace pawl {
namespace {

class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    int child = -1;
    EXPECT_EQ(openpty(&master_, &child, nullptr, nullptr, &size), 0);
    file_ = fdopen(child, "w");
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    EXPECT_EQ(std::fclose(file_), 0);
    EXPECT_EQ(close(master_), 0);
  }

  std::FILE* file() const { return file_; }
  // All that was written so far. The kernel hands it over in its own time, so a mark is written
  // behind it and waited for.
  std::string Seen() const {
    constexpr char kMark = '\x05';
    EXPECT_EQ(std::fputc(kMark, file_), kMark);
    EXPECT_EQ(std::fflush(file_), 0);
    std::string seen;
    char byte = 0;
    while (read(master_, &byte, 1) == 1 && byte != kMark) seen += byte;
    return seen;
  }

 private:
  int master_ = -1;
  std::FILE* file_ = nullptr;
};

// NOLINTBEGIN(concurrency-mt-unsafe): the test program has one thread.
class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
};

TEST_F(TerminalTest, ColoursAndLiveLineOnATerminal) {
  const PseudoTerminal screen(40);
  Terminal terminal(screen.file());
  ASSERT_TRUE(terminal.interactive());
  EXPECT_EQ(terminal.width(), 40);
  EXPECT_EQ(terminal.Paint(Tone::kGood, "keep"), "\x1b[32mkeep\x1b[0m");
  terminal.Live("run 1 of 3");
  EXPECT_EQ(screen.Seen(), "\r\x1b[Krun 1 of 3");
}

TEST_F(TerminalTest, ALineIsPrintedAboveTheLiveLine) {
  const PseudoTerminal screen(40);
  Terminal terminal(screen.file());
  terminal.Live("busy");
  terminal.Line("keep a");
  terminal.ClearLive();
  terminal.Line("end");
  EXPECT_EQ(screen.Seen(), "\r\x1b[Kbusy\r\x1b[Kkeep a\r\nbusy\r\x1b[Kend\r\n");
}

TEST_F(TerminalTest, TheLiveLineNeverWraps) {
  const PseudoTerminal screen(10);
  Terminal terminal(screen.file());
  terminal.Live(terminal.Paint(Tone::kBad, "0123456789abcdef"));
  const std::string seen = screen.Seen();
  EXPECT_EQ(seen, "\r\x1b[K\x1b[31m012345678\x1b[0m");
}

TEST_F(TerminalTest, NoColorKeepsTheLiveLineAndDropsTheColours) {
  setenv("NO_COLOR", "1", 1);
  const PseudoTerminal screen(40);
  const Terminal terminal(screen.file());
  EXPECT_TRUE(terminal.interactive());
  EXPECT_EQ(terminal.Paint(Tone::kBad, "crash"), "crash");
}

TEST_F(TerminalTest, ADumbTerminalGetsPlainLines) {
  setenv("TERM", "dumb", 1);
  const PseudoTerminal screen(40);
  Terminal terminal(screen.file());
  EXPECT_FALSE(terminal.interactive());
  terminal.Live("busy");
  EXPECT_EQ(screen.Seen(), "");
}
// NOLINTEND(concurrency-mt-unsafe)

TEST_F(TerminalTest, AFileGetsPlainLines) {
  char* bytes = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&bytes, &size);
  ASSERT_NE(file, nullptr);
  Terminal terminal(file);
  terminal.Live("busy");
  terminal.Line(terminal.Paint(Tone::kBold, "one"));
  std::fclose(file);
  EXPECT_EQ(std::string(bytes, size), "one\n");
  std::free(bytes);
}

}  // namespace
}  // namespace pawl
