#include "memory/markdown.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace pawl::memory {
namespace {

std::vector<std::pair<std::string, int>> Headings(const MarkdownDocument& document) {
  std::vector<std::pair<std::string, int>> out;
  for (const Section& section : document.sections) out.emplace_back(section.heading, section.line);
  return out;
}

using List = std::vector<std::pair<std::string, int>>;

TEST(SplitMarkdown, CutsAtHeadings) {
  const MarkdownDocument document = SplitMarkdown(
      "intro\n\n# Title #\ntext\n### Deep ###\r\nmore\n#no heading\n####### seven\n", "file");
  EXPECT_EQ(document.title, "Title");
  EXPECT_EQ(Headings(document), (List{{"", 1}, {"Title", 3}, {"Deep", 5}}));
  EXPECT_EQ(document.sections[0].body, "intro\n\n");
  EXPECT_EQ(document.sections[2].body, "more\n#no heading\n####### seven\n");
}

TEST(SplitMarkdown, RespectsFencedCode) {
  const MarkdownDocument document = SplitMarkdown(
      "# A\n```sh\n# not a heading\n~~~\n````\n# neither, the fence is shorter... closed\n## B\n"
      "~~~~\n# code\n```\n~~~\n~~~~\n## C\n    # indented\n",
      "file");
  // ```` closes ``` (at least as long); ~~~ does not close ~~~~.
  EXPECT_EQ(Headings(document),
            (List{{"A", 1}, {"neither, the fence is shorter... closed", 6}, {"B", 7}, {"C", 13}}));
}

TEST(SplitMarkdown, AnOpenFenceReachesToTheEnd) {
  EXPECT_EQ(Headings(SplitMarkdown("# A\n```\n# x\n# y\n", "f")), (List{{"A", 1}}));
}

TEST(SplitMarkdown, KnowsUnderlinedHeadings) {
  const MarkdownDocument document = SplitMarkdown("pre\n\nThe Title\n=====\nbody\n", "file");
  EXPECT_EQ(document.title, "The Title");
  EXPECT_EQ(Headings(document), (List{{"", 1}, {"The Title", 3}}));
  EXPECT_EQ(document.sections[0].body, "pre\n\n");
}

TEST(SplitMarkdown, FallsBackToTheFileName) {
  EXPECT_EQ(SplitMarkdown("## Only second level\n", "02_memory").title, "02_memory");
  EXPECT_TRUE(SplitMarkdown("", "x").sections.empty());
  EXPECT_EQ(SplitMarkdown("\xef\xbb\xbf# With mark\n", "x").title, "With mark");
}

RC_GTEST_PROP(SplitMarkdown, LosesNoLineOfForeignText, (const std::string& bytes)) {
  const MarkdownDocument document = SplitMarkdown(bytes, "f");
  int last = 0;
  for (const Section& section : document.sections) {
    RC_ASSERT(section.line >= last);
    last = section.line;
  }
}

}  // namespace
}  // namespace pawl::memory
