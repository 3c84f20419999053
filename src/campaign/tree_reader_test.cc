#include "campaign/tree_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "campaign/repository_fixture.h"

namespace pawl::campaign {
namespace {

class TreeReaderTest : public testing::Test {
 protected:
  TreeReaderTest() : repository_(folder_.path() / "r"), objects_(repository_.path() / ".git") {}

  Result<std::vector<TreeFile>> Read(const std::string& tree) {
    return trees_.Read(objects_, tree);
  }
  std::string Blob(std::string_view text) {
    return repository_.Run({"hash-object", "-w", "--stdin"}, std::string(text));
  }
  // Lines "<mode> <type> <object>\t<name>".
  std::string Tree(const std::string& lines) {
    return repository_.Run({"mktree", "--missing"}, lines);
  }
  std::string RawTree(const std::string& bytes) {
    return repository_.Run({"hash-object", "-w", "-t", "tree", "--literally", "--stdin"}, bytes);
  }

  // What `git fast-import` makes of a commit's lines, on branch "imported".
  void Import(const std::string& lines) {
    repository_.Run(
        {"fast-import", "--quiet", "--force"},
        "commit refs/heads/imported\ncommitter A <a@b> 1700000000 +0000\ndata 0\n" + lines);
  }
  std::string ImportedTree() { return repository_.Run({"rev-parse", "imported^{tree}"}); }
  static std::string FromHex(const std::string& hex) {
    std::string raw;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      raw += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return raw;
  }

  TempFolder folder_;
  TestRepository repository_;
  ObjectReader objects_;
  TreeReader trees_;
};

TEST_F(TreeReaderTest, EqualsWhatGitLists) {
  repository_.Write("z", "1");
  repository_.Write("a/b/c/d", "2");
  repository_.Write("a.b", "3");
  repository_.Write("a/\xC3\xA9 x", "4");
  std::filesystem::create_symlink("z", repository_.path() / "link");
  std::filesystem::permissions(repository_.path() / "z", std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  repository_.Commit("few");
  std::string many;
  for (int i = 0; i < 700; ++i) many += Format("M 100644 inline many/{}/f\ndata 1\nx\n", i);
  Import("from refs/heads/main^0\n" + many);
  const auto files = Read(ImportedTree());
  ASSERT_TRUE(files.ok()) << files.error().Text();
  std::vector<std::string> ours;
  for (const TreeFile& file : *files)
    ours.push_back(Format("{} {} {}", file.mode, file.blob, file.path));
  std::vector<std::string> gits;
  const std::string listed =
      repository_.Run({"-c", "core.quotePath=false", "ls-tree", "-r", "-z",
                       "--format=%(objectmode) %(objectname) %(path)", "imported"});
  for (const std::string_view line : Split(listed, '\0')) {
    if (!line.empty()) gits.emplace_back(line);
  }
  std::ranges::sort(gits, {}, [](const std::string& line) { return line.substr(48); });
  EXPECT_EQ(ours, gits);
  EXPECT_EQ(ours.size(), 705U);
}

TEST_F(TreeReaderTest, MalformedAndMissingTreesAreCorrupt) {
  const std::string raw(20, 'x');
  for (const std::string& bytes :
       {std::string("100644 a"), std::string("100644 a\0short", 14), "1006x4 a" + ('\0' + raw),
        "100644 " + ('\0' + raw), "100644" + ('\0' + raw), "10000000 a" + ('\0' + raw)}) {
    const auto files = Read(RawTree(bytes));
    ASSERT_FALSE(files.ok()) << PrintableLine(bytes);
    EXPECT_EQ(files.error().code, Code::kCorrupt);
    EXPECT_NE(files.error().message.find("malformed"), std::string::npos);
  }
  const auto missing = Read(std::string(40, '7'));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kCorrupt);
  const auto blob = Read(Blob("no tree"));
  ASSERT_FALSE(blob.ok());
  EXPECT_NE(blob.error().message.find("is a blob, not a tree"), std::string::npos);
  // The reader is of use afterwards.
  EXPECT_TRUE(Read(Tree(Format("100644 blob {}\ta\n", Blob("x")))).ok());
}

TEST_F(TreeReaderTest, TreesBuiltToExhaustTheReaderAreRefused) {
  const std::string blob = Blob("x");
  std::string bomb = Tree(Format("100644 blob {}\tf\n", blob));
  std::string empty_bomb = Tree("");
  for (int i = 0; i < 12; ++i) {
    std::string lines;
    std::string empty_lines;
    for (int k = 0; k < 10; ++k) {
      AppendFormat(lines, "040000 tree {}\t{}\n", bomb, k);
      AppendFormat(empty_lines, "040000 tree {}\t{}\n", empty_bomb, k);
    }
    bomb = Tree(lines);
    empty_bomb = Tree(empty_lines);
  }
  EXPECT_EQ(Read(bomb).error().code, Code::kResourceExhausted);
  EXPECT_EQ(Read(empty_bomb).error().code, Code::kResourceExhausted);
  std::string folders;
  for (std::size_t i = 0; i + 1 < TreeReader::kMaxDepth; ++i) folders += "d/";
  Import(Format("M 100644 inline {}f\ndata 1\nx\n", folders));
  const std::string deep = ImportedTree();
  EXPECT_EQ(Read(deep)->size(), 1U);
  const std::string deeper = RawTree(std::string("40000 d\0", 8) + FromHex(deep));
  EXPECT_EQ(Read(deeper).error().code, Code::kResourceExhausted);
}

TEST_F(TreeReaderTest, ObjectsThatComeLaterAreFound) {
  const std::string first = Tree(Format("100644 blob {}\ta\n", Blob("1")));
  ASSERT_TRUE(Read(first).ok());
  repository_.Write("later", "2");
  repository_.Commit("later");
  repository_.Run({"repack", "-a", "-d", "-q"});
  EXPECT_EQ(Read(repository_.Run({"rev-parse", "HEAD^{tree}"}))->size(), 1U);
}

}  // namespace
}  // namespace pawl::campaign
