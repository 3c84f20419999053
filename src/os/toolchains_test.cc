#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "os/sandbox.h"

namespace pawl::os {
namespace {

namespace fs = std::filesystem;

class Toolchains : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::Make(fs::temp_directory_path(), "pawl-tools-");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(made).value());
    root_ = fs::canonical(scratch_->path());
    old_path_ = std::getenv("PATH");
    old_home_ = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "/";
    ::setenv("HOME", (root_ / "home").c_str(), 1);
    project_ = root_ / "project";
    fs::create_directories(project_);
  }
  void TearDown() override {
    ::setenv("PATH", old_path_.c_str(), 1);
    ::setenv("HOME", old_home_.c_str(), 1);
  }
  void Program(const Path& relative, std::string_view content =
                                         "\x7f"
                                         "ELF") {
    fs::create_directories((root_ / relative).parent_path());
    ASSERT_TRUE(WriteFileAtomic(root_ / relative, content, {.mode = 0755, .durable = false}).ok());
  }
  void OnPath(const Path& relative) {
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", ((root_ / relative).string() + ":" + path).c_str(), 1);
  }
  std::vector<std::string> Find(std::string_view command) const {
    std::vector<std::string> names;
    for (const Path& folder : FindToolchainFolders(command, project_)) {
      names.push_back(folder.lexically_relative(root_).string());
    }
    return names;
  }
  using Names = std::vector<std::string>;

  std::optional<ScratchFolder> scratch_;
  Path root_, project_;
  std::string old_path_, old_home_;
};

TEST_F(Toolchains, SystemProgramsNeedNothing) {
  EXPECT_EQ(Find("sh -c true && ls | sort; cat /etc/passwd"), Names{});
  EXPECT_EQ(Find("no-such-program-here x"), Names{});
}

TEST_F(Toolchains, AVirtualEnvironmentLeadsToItsPython) {
  Program("pythons/3.12/bin/python3");
  fs::create_directories(root_ / "venv/bin");
  fs::create_symlink(root_ / "pythons/3.12/bin/python3", root_ / "venv/bin/python");
  ASSERT_TRUE(WriteFileAtomic(root_ / "venv/pyvenv.cfg",
                              Format("home = {}\n", (root_ / "pythons/3.12/bin").string()), {})
                  .ok());
  EXPECT_EQ(Find(Format("A=1 '{}' bench.py", (root_ / "venv/bin/python").string())),
            (Names{"pythons/3.12", "venv"}));
}

TEST_F(Toolchains, ShimsAndPathsAreFollowed) {
  Program("pyenv/shims/pytool", "#!/usr/bin/env bash\n");
  fs::create_directories(root_ / "pyenv/versions");
  OnPath("pyenv/shims");
  EXPECT_EQ(Find("cd x && time env B=2 pytool -m x"), (Names{"pyenv"}));
}

TEST_F(Toolchains, ScriptsLeadToTheirInterpreter) {
  Program("interp/bin/mylang");
  Program("project/run", Format("#!{} -x\n", (root_ / "interp/bin/mylang").string()));
  EXPECT_EQ(Find("./run --fast"), (Names{"interp"}));
  OnPath("interp/bin");
  Program("project/run2", "#!/usr/bin/env -S mylang\n");
  EXPECT_EQ(Find("x=1; ./run2"), (Names{"interp"}));
}

TEST_F(Toolchains, CargoWithoutItsCredentialsAndNeverAWholeHome) {
  Program("home/.cargo/bin/cargo");
  fs::create_directories(root_ / "home/.cargo/registry");
  fs::create_directories(root_ / "home/.rustup");
  Program("home/.local/bin/tool");
  Program("home/bin/mine");
  EXPECT_EQ(Find("~/.cargo/bin/cargo build"),
            (Names{"home/.cargo/bin", "home/.cargo/registry", "home/.rustup"}));
  EXPECT_EQ(Find("~/.local/bin/tool"), (Names{"home/.local/bin"}));
  EXPECT_EQ(Find("~/bin/mine"), (Names{"home/bin"}));
}

TEST_F(Toolchains, LinkLoopsEnd) {
  fs::create_directories(root_ / "loop/bin");
  fs::create_symlink("b", root_ / "loop/bin/a");
  fs::create_symlink("a", root_ / "loop/bin/b");
  EXPECT_EQ(Find((root_ / "loop/bin/a").string()), Names{});
}

}  // namespace
}  // namespace pawl::os
