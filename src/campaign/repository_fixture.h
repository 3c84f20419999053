// Real repositories in temporary folders for the tests of this module: plain git with nothing of
// Pawl's scrubbing, as a user or an agent would run it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "campaign/config.h"
#include "campaign/git.h"
#include "os/files.h"
#include "os/process.h"

namespace pawl::campaign {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = std::filesystem::canonical(name);
  }
  ~TempFolder() { os::RemoveTree(path_).Ignore("a test's leftovers do no harm"); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const Path& path() const { return path_; }

 private:
  Path path_;
};

inline void WriteText(const Path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string ReadText(const Path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class TestRepository {
 public:
  explicit TestRepository(Path path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    Run({"init", "-q", "-b", "main", "."});
    Run({"config", "user.name", "Tester"});
    Run({"config", "user.email", "tester@example.com"});
  }

  const Path& path() const { return path_; }

  std::string Run(std::vector<std::string> arguments, std::string input = {}) {
    os::ToolCall call;
    call.argv = {"git"};
    call.argv.insert(call.argv.end(), arguments.begin(), arguments.end());
    call.env = os::BasicEnvironment();
    call.env.emplace_back("GIT_CONFIG_GLOBAL=/dev/null");
    call.cwd = path_;
    call.input = std::move(input);
    const auto result = os::RunTool(call);
    EXPECT_TRUE(result.ok()) << result.error().Text();
    if (!result.ok()) return {};
    EXPECT_EQ(result->exit_code, 0) << Join(arguments, " ") << ": " << result->err;
    return std::string(Trim(result->out));
  }

  void Write(std::string_view name, std::string_view text) { WriteText(path_ / name, text); }

  CommitId Commit(std::string_view message) {
    Run({"add", "-A"});
    Run({"commit", "-q", "--allow-empty", "-m", std::string(message)});
    return Head();
  }

  CommitId Head() { return CommitId{Run({"rev-parse", "HEAD"})}; }

 private:
  Path path_;
};

// A config as LoadConfig would make it, for a project at `root`.
inline Config ProjectConfig(const Path& root, std::vector<std::string> mutable_paths,
                            std::vector<std::string> fixed_paths) {
  Config config;
  config.root = root;
  config.file = root / "config" / "autoresearch.json";
  config.contract_file = root / "config" / "quality_contract.json";
  config.state_dir = root / ".autoresearch";
  config.results_tsv = config.state_dir / "results.tsv";
  config.mutable_paths = std::move(mutable_paths);
  config.fixed_paths = std::move(fixed_paths);
  return config;
}

}  // namespace pawl::campaign
