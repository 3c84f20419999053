#include "memory/knowledge.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

namespace pawl::memory {
namespace {

using os::Path;

class KnowledgeTest : public testing::Test {
 protected:
  void Write(const std::string& relative, std::string_view text) {
    const Path path = root() / relative;
    ASSERT_TRUE(os::MakeFolders(path.parent_path()).ok());
    ASSERT_TRUE(os::WriteFileAtomic(path, text, {.mode = 0644, .durable = false}).ok());
  }

  Path root() const { return folder_.path() / "handbook"; }
  Path file() const { return folder_.path() / "state" / "knowledge.sqlite3"; }

  Knowledge Open() { return Knowledge::Open(file(), {root()}).value(); }

  // Paths of the hits in order.
  static std::vector<std::string> Paths(const Knowledge& knowledge, std::string_view query,
                                        int limit = 8) {
    std::vector<std::string> out;
    for (const Hit& hit : knowledge.Search(query, limit).value()) out.push_back(hit.path);
    return out;
  }

  os::ScratchFolder folder_ =
      os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "knowledge").value();
};

using Strings = std::vector<std::string>;

TEST_F(KnowledgeTest, FindsSectionWithHeadingLineAndSnippet) {
  Write("attention.md",
        "# Attention\nintro\n\n## Flash kernels\nTiled softmax keeps scores on chip.\n");
  Knowledge knowledge = Open();
  const IndexReport report = knowledge.Update(false).value();
  EXPECT_EQ(report.documents, 1);
  EXPECT_EQ(report.sections, 2);
  const std::vector<Hit> hits = knowledge.Search("softmax", 8).value();
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(hits[0].title, "Attention");
  EXPECT_EQ(hits[0].heading, "Flash kernels");
  EXPECT_EQ(hits[0].path, "attention.md");
  EXPECT_EQ(hits[0].line, 4);
  EXPECT_EQ(hits[0].snippet, "Tiled [[softmax]] keeps scores on chip.");
  EXPECT_GT(hits[0].score, 0);
}

TEST_F(KnowledgeTest, RanksTitleAboveHeadingAboveText) {
  Write("a_text.md", "# Alpha\nquantum\n");
  Write("b_heading.md", "# Beta\n## Quantum\nwords\n");
  Write("c_title.md", "# Quantum\nwords\n");
  for (int i = 0; i < 20; ++i) Write("other" + std::to_string(i) + ".md", "# Other\nfiller text\n");
  Knowledge knowledge = Open();
  ASSERT_TRUE(knowledge.Update(false).ok());
  EXPECT_EQ(Paths(knowledge, "quantum"), (Strings{"c_title.md", "b_heading.md", "a_text.md"}));
  EXPECT_EQ(Paths(knowledge, "quantum", 1), Strings{"c_title.md"});
  EXPECT_EQ(Paths(knowledge, "filler", 0).size(), 20U);
}

TEST_F(KnowledgeTest, GivesOneHitADocument) {
  std::string text = "# Long\n";
  for (int i = 0; i < 50; ++i) text += "## Part\nthe tensor core\n";
  Write("long.md", text);
  Write("short.md", "# Short\ntensor\n");
  Knowledge knowledge = Open();
  ASSERT_TRUE(knowledge.Update(false).ok());
  EXPECT_EQ(Paths(knowledge, "tensor", 2).size(), 2U);
}

TEST_F(KnowledgeTest, AnswersInAnyScript) {
  Write("zh.md", "# 显存优化\n注意力计算时减少显存占用。\n");
  Write("ja.md", "# カーネル融合\nメモリ帯域を節約する。\n");
  Write("ko.md", "# 커널\n메모리를 절약합니다.\n");
  Write("ru.md", "# Память\nУменьшение объёма памяти ядра.\n");
  Write("ar.md", "# الذاكرة\nتقليل استهلاك الذَّاكِرَة.\n");
  Write("de.md", "# Größe\nÜbergröße der Blöcke.\n");
  Write("th.md", "# หน่วยความจำ\nลดการใช้หน่วยความจำ\n");
  Write("hi.md", "# स्मृति\nमेमोरी कम करें\n");
  Knowledge knowledge = Open();
  ASSERT_TRUE(knowledge.Update(false).ok());
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"显存", "zh.md"},     {"注意力", "zh.md"},  {"减", "zh.md"},     {"帯域", "ja.md"},
      {"カーネル", "ja.md"}, {"ｶｰﾈﾙ", "ja.md"},    {"메모리", "ko.md"}, {"памяти", "ru.md"},
      {"ОБЪЕМА", "ru.md"},   {"الذاكرة", "ar.md"}, {"grosse", "de.md"}, {"blocke", "de.md"},
      {"ความจำ", "th.md"},   {"मेमोरी", "hi.md"}};
  for (const auto& [query, path] : rows) {
    const Strings paths = Paths(knowledge, query);
    ASSERT_FALSE(paths.empty()) << query;
    EXPECT_EQ(paths[0], path) << query;
  }
  EXPECT_TRUE(Paths(knowledge, "🚀").empty());
}

TEST_F(KnowledgeTest, AQuestionWithoutBlanksIsAnswered) {
  Write("zh.md", "# 优化\n减少显存占用的方法。\n");
  Write("other.md", "# 其他\n完全无关。\n");
  Knowledge knowledge = Open();
  ASSERT_TRUE(knowledge.Update(false).ok());
  EXPECT_EQ(Paths(knowledge, "如何减少显存")[0], "zh.md");
}

TEST_F(KnowledgeTest, OpensWordsWhenNothingElseHits) {
  Write("a.md", "# Rope\nbackpropagation through rotary embeddings\n");
  Knowledge knowledge = Open();
  ASSERT_TRUE(knowledge.Update(false).ok());
  EXPECT_EQ(Paths(knowledge, "backprop"), Strings{"a.md"});     // beginning
  EXPECT_EQ(Paths(knowledge, "propagation"), Strings{"a.md"});  // inside
  EXPECT_EQ(Paths(knowledge, "embedding"), Strings{"a.md"});    // stem
  EXPECT_TRUE(Paths(knowledge, "zebra").empty());
}

TEST_F(KnowledgeTest, ReadsOnlyWhatChanged) {
  Write("a.md", "# A\none\n");
  Write("b.md", "# B\ntwo\n");
  Knowledge knowledge = Open();
  EXPECT_TRUE(knowledge.IsStale().value());
  EXPECT_EQ(knowledge.Update(false)->updated, 2);
  EXPECT_FALSE(knowledge.IsStale().value());
  EXPECT_EQ(knowledge.Update(false)->updated, 0);

  Write("a.md", "# A\nthree words now\n");
  EXPECT_TRUE(knowledge.IsStale().value());
  EXPECT_EQ(knowledge.Update(false)->updated, 1);
  EXPECT_EQ(Paths(knowledge, "three"), Strings{"a.md"});
  EXPECT_TRUE(Paths(knowledge, "one").empty());

  // Written again with the same bytes: stale by stat, nothing to read anew.
  Write("a.md", "# A\nthree words now\n");
  EXPECT_TRUE(knowledge.IsStale().value());
  EXPECT_EQ(knowledge.Update(false)->updated, 0);
  EXPECT_FALSE(knowledge.IsStale().value());

  std::filesystem::remove(root() / "b.md");
  EXPECT_TRUE(knowledge.IsStale().value());
  const IndexReport report = knowledge.Update(false).value();
  EXPECT_EQ(report.removed, 1);
  EXPECT_EQ(report.documents, 1);
  EXPECT_TRUE(Paths(knowledge, "two").empty());
  EXPECT_EQ(knowledge.Update(true)->updated, 1);
  EXPECT_EQ(knowledge.documents(), 1);
}

TEST_F(KnowledgeTest, SurvivesReopening) {
  Write("a.md", "# A\nkernel\n");
  ASSERT_TRUE(Open().Update(false).ok());
  const Knowledge again = Open();
  EXPECT_FALSE(again.IsStale().value());
  EXPECT_EQ(Paths(again, "kernel"), Strings{"a.md"});
}

TEST_F(KnowledgeTest, TakesSeveralRootsAndForgetsDroppedOnes) {
  Write("a.md", "# A\nkernel\n");
  const Path second = folder_.path() / "more notes";
  ASSERT_TRUE(os::MakeFolders(second).ok());
  ASSERT_TRUE(os::WriteFileAtomic(second / "a.md", "# A\nkernel too\n").ok());
  {
    // Twice the same, one inside of the other, one absent.
    Knowledge both =
        Knowledge::Open(file(), {root(), second, root(), folder_.path(), "/absent/folder"}).value();
    EXPECT_EQ(both.Update(false)->documents, 2);
    const std::vector<Hit> hits = both.Search("kernel", 8).value();
    ASSERT_EQ(hits.size(), 2U);
    EXPECT_NE(hits[0].root, hits[1].root);
  }
  Knowledge one = Open();
  EXPECT_TRUE(one.IsStale().value());
  EXPECT_EQ(one.Update(false)->removed, 1);
  EXPECT_EQ(Paths(one, "kernel"), Strings{"a.md"});
}

TEST_F(KnowledgeTest, SkipsWithReasonAndDoesNotFollowLinks) {
  Write("a.md", "# A\nkernel\n");
  Write("huge.md", "# Huge\n" + std::string(5 << 20, 'x'));
  Write("not_markdown.txt", "kernel");
  const Path outside = folder_.path() / "secret";
  ASSERT_TRUE(os::MakeFolders(outside).ok());
  ASSERT_TRUE(os::WriteFileAtomic(outside / "s.md", "# S\nkernel secret\n").ok());
  std::filesystem::create_symlink(outside / "s.md", root() / "link.md");
  std::filesystem::create_directory_symlink(outside, root() / "folder");
  std::filesystem::create_directory_symlink(root(), root() / "loop");
  std::filesystem::create_directory(root() / "folder.md");
  Knowledge knowledge = Open();
  const IndexReport report = knowledge.Update(false).value();
  EXPECT_EQ(report.documents, 1);
  ASSERT_EQ(report.skipped.size(), 2U);
  EXPECT_NE(report.skipped[0].find("huge.md: has 5"), std::string::npos) << report.skipped[0];
  EXPECT_EQ(report.skipped[1], "link.md: is a link; links are not followed");
  EXPECT_TRUE(Paths(knowledge, "secret").empty());
  // Skipped files do not make the index stale for ever, and are named each time.
  EXPECT_FALSE(knowledge.IsStale().value());
  EXPECT_EQ(knowledge.Update(false)->skipped.size(), 2U);
}

TEST_F(KnowledgeTest, TakesFilesThatAreNoText) {
  Write("bytes.md", std::string("# T\xff\x00itle\n\xfe\xed kernel \x00 end", 26));
  Write("empty.md", "");
  Knowledge knowledge = Open();
  EXPECT_EQ(knowledge.Update(false)->documents, 2);
  EXPECT_EQ(Paths(knowledge, "kernel"), Strings{"bytes.md"});
}

TEST_F(KnowledgeTest, PutsForeignAndDamagedFilesAside) {
  Write("a.md", "# A\nkernel\n");
  ASSERT_TRUE(os::MakeFolders(file().parent_path()).ok());
  const std::vector<std::string> contents = {std::string(8192, 'x'), "SQLite format 3", "short"};
  for (const std::string& content : contents) {
    ASSERT_TRUE(os::WriteFileAtomic(file(), content).ok());
    Knowledge knowledge = Open();
    EXPECT_TRUE(knowledge.IsStale().value());
    ASSERT_TRUE(knowledge.Update(false).ok());
    EXPECT_EQ(Paths(knowledge, "kernel"), Strings{"a.md"});
    EXPECT_EQ(os::ReadFile(file().string() + ".aside").value(), content);
  }
}

TEST_F(KnowledgeTest, MendsDamageThatShowsLater) {
  for (int i = 0; i < 200; ++i) {
    Write("n" + std::to_string(i) + ".md", "# N" + std::to_string(i) + "\nkernel word" +
                                               std::to_string(i) + " " + std::string(500, 'y'));
  }
  ASSERT_TRUE(Open().Update(false).ok());
  // Everything behind the first pages is overwritten: opening still works.
  const auto size = std::filesystem::file_size(file());
  ASSERT_GT(size, 100'000U);
  {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(8192);
    out << std::string(static_cast<std::size_t>(size) - 8192, '\x5a');
  }
  Knowledge knowledge = Open();
  EXPECT_EQ(Paths(knowledge, "word77"), Strings{"n77.md"});
  EXPECT_FALSE(knowledge.IsStale().value());
  EXPECT_TRUE(os::Exists(file().string() + ".aside"));
}

TEST_F(KnowledgeTest, NoQueryIsAnError) {
  Write("a.md", "# A\nkernel\n");
  Knowledge knowledge = Open();
  ASSERT_TRUE(knowledge.Update(false).ok());
  rc::check("any bytes are a query",
            [&](const std::string& query) { RC_ASSERT(knowledge.Search(query, 3).ok()); });
  for (const char* query :
       {"\"", "(", "kernel*", "a:b", "NOT", "kernel AND", "{x} : y", "^a", "--"}) {
    EXPECT_TRUE(knowledge.Search(query, 3).ok()) << query;
  }
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "w" + std::to_string(i) + " ";
  EXPECT_TRUE(knowledge.Search(many, 3).ok());
}

}  // namespace
}  // namespace pawl::memory
