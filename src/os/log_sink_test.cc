#include "os/log_sink.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/text.h"

namespace pawl::os {
namespace {

std::string Through(const std::vector<std::string>& pieces, std::uint64_t cap, bool& cut) {
  const auto folder = ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-log-");
  auto sink = LogSink::Open(folder->path() / "log", cap);
  for (const std::string& piece : pieces) EXPECT_TRUE(sink->Append(piece).ok());
  EXPECT_TRUE(sink->Finish().ok());
  cut = sink->cut();
  return ReadFile(folder->path() / "log").value();
}

RC_GTEST_PROP(LogSink, KeepsHeadAndTailOfAnyPieces, (std::vector<std::string> pieces)) {
  const auto cap = *rc::gen::inRange<std::uint64_t>(0, 64);
  const std::string all = std::accumulate(pieces.begin(), pieces.end(), std::string());
  bool cut = false;
  const std::string kept = Through(pieces, cap, cut);
  RC_ASSERT(cut == (all.size() > cap));
  if (!cut) {
    RC_ASSERT(kept == all);
    return;
  }
  const std::uint64_t tail = cap / 2;
  RC_ASSERT(kept == all.substr(0, cap - tail) +
                        Format("\n[pawl] {} bytes left out here\n", all.size() - cap) +
                        all.substr(all.size() - tail));
}

TEST(LogSink, FollowsNoLink) {
  const auto folder = ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-log-");
  std::filesystem::create_symlink("/dev/null", folder->path() / "log");
  EXPECT_FALSE(LogSink::Open(folder->path() / "log", 10).ok());
}

}  // namespace
}  // namespace pawl::os
