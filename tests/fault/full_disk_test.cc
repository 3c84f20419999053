// A state folder on a disk that is really full.
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/project.h"

namespace pawl::fault {
namespace {

using test::Outcome;
using test::Project;

class SmallDisk {
 public:
  explicit SmallDisk(os::Path path) : path_(std::move(path)) {}
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool Mount() {
    mounted_ = ::mount("pawl-test", path_.c_str(), "tmpfs", 0, "size=64m,mode=0700") == 0;
    return mounted_;
  }
  // Leaves room for `free_bytes` and nothing more.
  void Fill(std::uint64_t free_bytes) {
    struct statvfs info{};
    ASSERT_EQ(::statvfs(path_.c_str(), &info), 0);
    const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_bsize;
    if (free <= free_bytes) return;
    std::ofstream filler(path_ / "filler", std::ios::app);
    filler << std::string(free - free_bytes, 'x');
  }
  void Grow() {
    ASSERT_EQ(::mount("pawl-test", path_.c_str(), "tmpfs", MS_REMOUNT, "size=128m"), 0)
        << std::strerror(errno);
  }

 private:
  os::Path path_;
  bool mounted_ = false;
};

TEST(FullDisk, IsSaidAndTheCampaignGoesOnOnceThereIsRoom) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may mount a small disk";
  test::ProjectOptions options;
  options.level = "L3";
  Project project(options);
  ASSERT_TRUE(os::MakeFolders(project.state()).ok());
  SmallDisk disk(project.state());
  if (!disk.Mount()) GTEST_SKIP() << "mount: " << std::strerror(errno);
  if (!project.Open()) GTEST_SKIP() << "this machine does not offer isolation level L3";

  int stopped = 0;
  for (const std::uint64_t left : {300'000U, 60'000U, 0U}) {
    disk.Fill(left);
    const Outcome outcome = project.Try("ops=9\n");
    // With room enough it may still come through; else it says so and judges nothing.
    if (outcome.verdict() == "keep") continue;
    ++stopped;
    if (outcome.verdict().empty()) {
      EXPECT_EQ(outcome.exit_code, 2) << outcome.Text();
      ASSERT_NE(outcome.json.Find("error"), nullptr) << outcome.Text();
      EXPECT_EQ(outcome.json.Find("error")->StringAt("code"), "resource-exhausted")
          << outcome.Text();
    } else {
      EXPECT_EQ(outcome.verdict(), "infra-fail") << outcome.Text();
    }
    const std::string said = outcome.error() + outcome.reasons();
    EXPECT_TRUE(said.find("No space") != std::string::npos ||
                said.find("Out of diskspace") != std::string::npos ||
                said.find("disk is full") != std::string::npos)
        << outcome.Text();
  }
  EXPECT_GT(stopped, 0);
  disk.Grow();
  const Outcome next = project.Try("ops=7\n");
  EXPECT_EQ(next.verdict(), "keep") << next.Text();
  EXPECT_EQ(project.Verify().exit_code, 0) << project.Verify().Text();
}

}  // namespace
}  // namespace pawl::fault
