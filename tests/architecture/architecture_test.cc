// Holds the sources to ARCHITECTURE.md's table and to the limit on a file's length, and the checks
// themselves to planted violations.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "include_rules.h"

namespace pawl::architecture {
namespace {

constexpr std::ptrdiff_t kMaxLines = 800;

const std::filesystem::path& Root() {
  static const std::filesystem::path kRoot = PAWL_SOURCE_DIR;
  return kRoot;
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<SourceFile> SourcesBelow(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!std::filesystem::exists(Root() / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Root() / folder)) {
      const std::string extension = entry.path().extension();
      const bool source =
          extension == ".h" || extension == ".cc" || extension == ".cu" || extension == ".cuh";
      if (!entry.is_regular_file() || !source) continue;
      files.push_back({std::filesystem::relative(entry.path(), Root()), ReadText(entry.path())});
    }
  }
  return files;
}

Graph Rules() {
  Result<Graph> rules = ParseTable(ReadText(Root() / "ARCHITECTURE.md"));
  EXPECT_TRUE(rules.ok()) << (rules.ok() ? "" : rules.error().Text());
  return rules.ok() ? *rules : Graph();
}

constexpr std::string_view kTable =
    "# x\n\n| module | may include |\n| --- | --- |\n| base | nothing |\n| os | base |\n"
    "| loop | everything above |\n| cli | all |\n| labs/gpt | base |\n\nmore\n";

std::vector<std::string> ViolationsOf(std::string path, std::string text) {
  return Violations({{std::move(path), std::move(text)}}, *ParseTable(kTable));
}

TEST(Architecture, IncludesFollowTheTable) {
  const std::vector<SourceFile> files = SourcesBelow({"src", "labs"});
  ASSERT_GT(files.size(), 10U);
  for (const std::string& violation : Violations(files, Rules())) ADD_FAILURE() << violation;
}

TEST(Architecture, NeitherTheTableNorTheIncludesHaveACycle) {
  EXPECT_EQ(FindCycle(Rules()), "");
  EXPECT_EQ(FindCycle(IncludesOf(SourcesBelow({"src", "labs"}), Rules())), "");
}

TEST(Architecture, NoFileIsLongerThanTheLimit) {
  for (const SourceFile& file : SourcesBelow({"src", "labs", "tests", "bench", "fuzz"})) {
    const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
    EXPECT_LE(lines, kMaxLines) << file.path << ": split it; a concept is hiding in it";
  }
}

TEST(Table, WordsMeanWhatTheySay) {
  const Graph rules = *ParseTable(kTable);
  EXPECT_TRUE(rules.find("base")->second.empty());
  EXPECT_EQ(rules.find("loop")->second, (std::set<std::string>{"base", "os"}));
  EXPECT_EQ(rules.find("cli")->second, (std::set<std::string>{"base", "loop", "os"}));
}

TEST(Table, AMissingTableAndAnUnknownNameAreErrors) {
  EXPECT_FALSE(ParseTable("# nothing here").ok());
  EXPECT_FALSE(ParseTable("| module | may include |\n| --- | --- |\n| os | bas |\n").ok());
}

TEST(Violations, APlantedUpwardIncludeIsNamed) {
  EXPECT_EQ(ViolationsOf("src/os/files.cc", "#include \"loop/driver.h\"\n"),
            std::vector<std::string>{"src/os/files.cc: os must not include loop"});
  EXPECT_EQ(ViolationsOf("labs/gpt/a/train.cu", "  #  include \"os/files.h\"\n"),
            std::vector<std::string>{"labs/gpt/a/train.cu: labs/gpt must not include os"});
  EXPECT_EQ(ViolationsOf("src/base/text.cc", "#include \"gpt/model.h\"\n").size(), 1U);
}

TEST(Violations, AModuleWithoutARowIsNamed) {
  EXPECT_EQ(ViolationsOf("src/utils/a.cc", ""),
            std::vector<std::string>{"src/utils/a.cc: the module utils has no row in the table"});
}

TEST(Violations, AllowedOwnAndForeignIncludesPass) {
  EXPECT_TRUE(ViolationsOf("src/os/files.cc",
                           "#include \"os/files.h\"\n#include \"base/text.h\"\n"
                           "#include <loop/x.h>\n// #include \"loop/x.h\"\n#include \"local.h\"\n")
                  .empty());
}

TEST(FindCycle, FindsAPlantedCycleAndNothingElse) {
  EXPECT_EQ(FindCycle({{"a", {"b", "c"}}, {"b", {"c"}}, {"c", {}}}), "");
  EXPECT_EQ(FindCycle({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}}), "b -> c -> b");
  EXPECT_EQ(FindCycle({{"a", {"a"}}}), "a -> a");
}

}  // namespace
}  // namespace pawl::architecture
