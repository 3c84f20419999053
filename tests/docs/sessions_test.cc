// The sessions that the documents show, run as a reader would run them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "docs/documents.h"
#include "os/process.h"

namespace pawl::docs {
namespace {

namespace fs = std::filesystem;

class Sessions : public testing::Test {
 protected:
  Sessions() {
    std::string name = (fs::temp_directory_path() / "pawl-docs-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name);
  }
  ~Sessions() override { os::RemoveTree(folder_).Ignore("a test's leftovers do no harm"); }

  // A script as a reader's shell runs it, with pawl on the PATH; both streams in `out`.
  os::ToolResult Shell(const std::string& script, const os::Path& cwd) {
    os::ToolCall call{.argv = {"bash", "-euo", "pipefail", "-c", "exec 2>&1\n" + script},
                      .env = os::BasicEnvironment(),
                      .cwd = cwd,
                      .timeout = std::chrono::minutes(5)};
    std::erase_if(call.env, [](const std::string& entry) { return entry.starts_with("PATH="); });
    const char* path = std::getenv("PATH");
    call.env.push_back(Format("PATH={}:{}", PAWL_BIN_DIR, path == nullptr ? "/usr/bin" : path));
    for (const char* entry :
         {"EDITOR=true", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=reader",
          "GIT_AUTHOR_EMAIL=reader@localhost", "GIT_COMMITTER_NAME=reader",
          "GIT_COMMITTER_EMAIL=reader@localhost", "PAWL_BIN=" PAWL_BIN_DIR})
      call.env.emplace_back(entry);
    const auto result = os::RunTool(call);
    EXPECT_TRUE(result.ok()) << result.error().Text();
    return result.ok() ? *result : os::ToolResult{};
  }

  // A copy of the example under git.
  os::Path Example() {
    const os::Path project = folder_ / "attention";
    EXPECT_TRUE(os::CopyTree(Root() / "examples/attention", project).ok());
    EXPECT_EQ(Shell("printf '/.autoresearch/\\n/build/\\n' >.gitignore\n"
                    "git init -q -b autoresearch/attention && git add -A && git commit -qm Start",
                    project)
                  .exit_code,
              0);
    return project;
  }

  os::Path folder_;
};

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

struct Row {
  std::string verdict, patch;
};

// "1  keep   01-values-in-order.patch   cpu 0.13 -> 0.08 ..." of the queue's table.
std::vector<Row> TableRows(std::string_view session) {
  std::vector<Row> rows;
  for (const std::string& line : Lines(session)) {
    std::vector<std::string_view> words = Split(line, ' ');
    std::erase(words, std::string_view());
    if (words.size() > 3 && ParseInt(words[0]) && words[2].ends_with(".patch"))
      rows.push_back({std::string(words[1]), std::string(words[2])});
  }
  return rows;
}

// `./dev demo` after the build. Which of the candidates counts as faster depends on how quiet the
// machine is; everything else does not.
TEST_F(Sessions, TheTourEndsAsTheReadmeShows) {
  const os::Path place = folder_ / "tour";
  const os::ToolResult tour = Shell("tools/demo " + place.string(), Root());
  EXPECT_EQ(tour.exit_code, 0) << tour.out;
  EXPECT_NE(tour.out.find("Verify: PASS\n"), std::string::npos) << tour.out;
  const Block session = Find("README.md", "$ pawl queue");
  const std::vector<Row> shown = TableRows(session.text);
  const std::vector<Row> seen = TableRows(tour.out);
  ASSERT_EQ(shown.size(), 9U);
  ASSERT_EQ(seen.size(), 9U) << tour.out;
  const std::set<std::string> by_time = {"keep", "discard-performance"};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(seen[i].patch, shown[i].patch);
    const bool timed = by_time.contains(shown[i].verdict);
    EXPECT_TRUE(timed ? by_time.contains(seen[i].verdict) : seen[i].verdict == shown[i].verdict)
        << seen[i].patch << ": " << seen[i].verdict << "\n"
        << tour.out;
  }
  // The commands by hand are those of the tour.
  const Block by_hand = Find("examples/attention/README.md", "cp -r examples/attention");
  for (const std::string& line : Lines(by_hand.text + session.text)) {
    const std::string command = line.substr(line.starts_with("$ ") ? 2 : 0);
    if (command.starts_with("pawl ")) {
      EXPECT_NE(tour.out.find("$ " + command), std::string::npos) << command;
    }
  }
}

TEST_F(Sessions, TheExampleStartsByHand) {
  std::string script = Find("examples/attention/README.md", "cp -r").text;
  script = Replaced(script, "/tmp/attention", (folder_ / "attention").string());
  script = Replaced(script, "pawl queue candidates", "");  // the tour does that
  const os::ToolResult ran = Shell(script, Root());
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
}

TEST_F(Sessions, AFirstCampaignOfOnesOwn) {
  const os::Path project = Example();
  // The one name in it that is the reader's own.
  const std::string config =
      Replaced(Find("README.md", "protocol = ").text, "build/program", "build/attention");
  ASSERT_TRUE(os::WriteFileAtomic(project / "pawl.toml", config, {.durable = false}).ok());
  std::string script = Find("README.md", "cd your-project").text;
  script = Replaced(script, "your-project", project.string());
  const std::string edit = "# edit, commit, then:\n";
  ASSERT_NE(script.find(edit), std::string::npos);
  script = Replaced(script, edit, "git apply candidates/08-*.patch && git commit -qam 'Try'\n");
  const os::ToolResult ran = Shell(script, folder_);
  EXPECT_NE(ran.out.find("CRASH: "), std::string::npos) << ran.out;
  EXPECT_EQ(ran.exit_code, 3) << ran.out;
}

// The hash chain by a shell, as the format's page says.
TEST_F(Sessions, AnyShellCanCheckTheLedger) {
  if (os::FindProgram("sqlite3").empty()) GTEST_SKIP() << "the program sqlite3 is not installed";
  const os::Path project = Example();
  ASSERT_EQ(Shell("pawl init", project).exit_code, 0);
  const std::string query = Find("docs/formats/ledger.md", "sqlite3").text;
  const os::ToolResult ran = Shell(query, project / ".autoresearch");
  ASSERT_EQ(ran.exit_code, 0) << ran.out;
  std::string before(64, '0');
  int rows = 0;
  for (const std::string& row : Lines(ran.out)) {
    ASSERT_GT(row.size(), 66U) << row;
    const std::string hash = row.substr(0, 64);
    EXPECT_EQ(hash, HashBytes(before + "\n" + row.substr(65)).hex()) << row;
    before = hash;
    ++rows;
  }
  EXPECT_GE(rows, 1);
}

}  // namespace
}  // namespace pawl::docs
