// What can be said of the documents without running a campaign.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "docs/documents.h"
#include "os/process.h"

namespace pawl::docs {
namespace {

// Beginnings of the blocks that a test of this folder runs or checks, by file.
struct Known {
  std::string_view file, first_words;
};
constexpr Known kKnown[] = {
    {"README.md", "$ pawl queue"},
    {"README.md", "./dev demo"},
    {"README.md", "cd your-project"},
    {"README.md", "protocol = \"wall\""},
    {"CONTRIBUTING.md", "./dev setup"},
    {"CONTRIBUTING.md", "pawl_module("},
    {"docs/metric-schema.md", "{\"metrics\""},
    {"docs/formats/ledger.md", "<state>/"},
    {"docs/formats/ledger.md", "sqlite3 "},
    {"docs/formats/ledger.md", "campaign "},
    {"examples/attention/README.md", "cp -r examples/attention"},
    {"labs/tensor/cuda/README.md", "cmake --preset cuda"},
};

TEST(Documents, EveryBlockIsKnownToATest) {
  std::set<std::string_view> seen;
  for (const std::string& file : Documents()) {
    for (const Block& block : Blocks(file)) {
      const auto* known = std::ranges::find_if(kKnown, [&](const Known& each) {
        return each.file == block.file && block.text.starts_with(each.first_words);
      });
      EXPECT_NE(known, std::end(kKnown)) << block.Place() << ": no test runs this block";
      if (known != std::end(kKnown)) seen.insert(known->first_words);
    }
  }
  for (const Known& known : kKnown) {
    EXPECT_TRUE(seen.contains(known.first_words)) << known.file << ": " << known.first_words;
  }
}

// The words of `text` that look like links to files of the repository are ones.
TEST(Documents, LinksLeadToFiles) {
  int links = 0;
  for (const std::string& file : Documents()) {
    const std::string text = Text(file);
    for (auto at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.starts_with("http") || target.starts_with('#')) continue;
      target = target.substr(0, target.find('#'));
      const os::Path path = Root() / os::Path(file).parent_path() / target;
      EXPECT_TRUE(std::filesystem::exists(path)) << file << " links to " << target;
      ++links;
    }
  }
  EXPECT_GT(links, 10);
}

os::ToolResult Call(std::vector<std::string> argv) {
  const auto result =
      os::RunTool({.argv = std::move(argv), .env = os::BasicEnvironment(), .cwd = Root()});
  EXPECT_TRUE(result.ok()) << result.error().Text();
  return result.ok() ? *result : os::ToolResult{};
}

TEST(Documents, CommandsOfDevAreThoseThatItHas) {
  const std::string help = Call({(Root() / "dev").string(), "help"}).out;
  int commands = 0;
  for (const char* file : {"README.md", "CONTRIBUTING.md"}) {
    for (const std::string& line : Lines(Find(file, "./dev ").text)) {
      const std::vector<std::string_view> words = Split(line, ' ');
      ASSERT_GE(words.size(), 2U) << line;
      ASSERT_EQ(words[0], "./dev") << file << ": " << line;
      EXPECT_NE(help.find(Format("\n  {} ", words[1])), std::string::npos) << file << ": " << line;
      if (words.size() > 2 && words[2].starts_with("--")) {
        EXPECT_NE(help.find(words[2]), std::string::npos) << file << ": " << line;
      }
      ++commands;
    }
  }
  EXPECT_GT(commands, 8);
  EXPECT_EQ(Call({(Root() / "dev").string(), "no-such-command"}).exit_code, 2);
}

TEST(Documents, VerbsOfTheReferenceAreThoseOfTheProgram) {
  const std::string pawl = (os::Path(PAWL_BIN_DIR) / "pawl").string();
  const std::string help = Call({pawl, "--help"}).out;
  const std::string reference = Text("docs/cli.md");
  std::set<std::string> verbs;
  bool listed = false;
  for (const std::string& line : Lines(help)) {
    const bool is_head = !line.empty() && line.front() != ' ';
    if (is_head) listed = ToLowerAscii(line).find("verb") != std::string::npos;
    if (listed && line.starts_with("  ") && line.size() > 2 && line[2] != ' ' && line[2] != '-')
      verbs.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  EXPECT_GT(verbs.size(), 12U) << help;
  for (const std::string& verb : verbs) {
    EXPECT_NE(reference.find("`" + verb), std::string::npos) << "docs/cli.md lacks " << verb;
    EXPECT_EQ(Call({pawl, verb, "--help"}).exit_code, 0) << verb;
  }
  // And the other way round: the first word of every code span in the table of verbs.
  const auto table = reference.find("| verb | does |");
  ASSERT_NE(table, std::string::npos);
  const std::string rows = reference.substr(table, reference.find("\n\n", table) - table);
  for (const std::string& row : Lines(rows)) {
    if (!row.starts_with("| `")) continue;
    const std::string cell = row.substr(0, row.find('|', 1));
    for (auto at = cell.find('`'); at != std::string::npos;) {
      const auto end = cell.find('`', at + 1);
      const std::string span = cell.substr(at + 1, end - at - 1);
      EXPECT_TRUE(verbs.contains(span.substr(0, span.find_first_of(" [")))) << span;
      at = cell.find('`', end + 1);
    }
  }
}

TEST(Documents, JsonExamplesAreJson) {
  EXPECT_TRUE(ParseJson(Find("docs/metric-schema.md", "{").text, "example").ok());
}

// The lab's figures come from programs and scripts that are there under these names.
TEST(Documents, BenchCommandsOfTheLabExist) {
  const std::string build = Text("labs/tensor/CMakeLists.txt");
  for (const std::string& line : Lines(Find("labs/tensor/cuda/README.md", "cmake --preset").text)) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words[0] == "cmake") {
      EXPECT_NE(Text("CMakePresets.json").find("\"cuda\""), std::string::npos);
      continue;
    }
    if (words[0] == "python3") {
      EXPECT_TRUE(os::Exists(Root() / words.at(1))) << line;
      continue;
    }
    constexpr std::string_view kFolder = "build/cuda/bin/";
    ASSERT_TRUE(words[0].starts_with(kFolder)) << line;
    const std::string name(words[0].substr(kFolder.size()));
    const bool is_test = build.find("pawl_test(" + name) != std::string::npos;
    EXPECT_TRUE(is_test || os::Exists(Root() / "labs/tensor/cuda" / (name + ".cc"))) << line;
  }
}

}  // namespace
}  // namespace pawl::docs
