#include "memory/query.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace pawl::memory {
namespace {

TEST(Query, JoinsWordsAndCompounds) {
  EXPECT_EQ(Query("fused GEMM").Expression(), R"("fused" OR "gemm")");
  EXPECT_EQ(Query("flash-attention").Expression(),
            R"("flash" OR "attention" OR "flash attention")");
  EXPECT_EQ(Query("注意力").Expression(), R"("注意" OR "意力" OR "注意 意力")");
  EXPECT_EQ(Query("力").Expression(), R"("力"*)");
  EXPECT_EQ(Query("a AND \"b\" NEAR(c) *").Expression(), R"("b" OR "near" OR "c" OR "near c")");
}

TEST(Query, DropsEverydayWordsOnlyBesideOthers) {
  EXPECT_EQ(Query("how to reduce the memory").terms(),
            (std::vector<std::string>{"reduce", "memory"}));
  EXPECT_EQ(Query("how to").terms(), (std::vector<std::string>{"how", "to"}));
}

TEST(Query, IsEmptyWithoutWords) {
  for (const char* text : {"", "  ", "🚀", "-- ** \"", "\xff\xfe"}) {
    EXPECT_TRUE(Query(text).empty()) << text;
  }
}

TEST(Snippet, MarksTheDensestPlace) {
  const std::string filler(600, 'x');
  const std::string body =
      "memory first\n" + filler + "\nHere the memory  of\nattention is cached.\n" + filler;
  const std::string snippet = Snippet(body, Query("attention memory caching"));
  EXPECT_NE(snippet.find("the [[memory]] of [[attention]] is [[cached]]."), std::string::npos)
      << snippet;
  EXPECT_TRUE(snippet.starts_with("… "));
  EXPECT_TRUE(snippet.ends_with(" …"));
  EXPECT_LT(snippet.size(), 300U);
}

TEST(Snippet, MarksRunsOfCharactersAsOne) {
  EXPECT_EQ(Snippet("减少注意力的显存。", Query("注意力")), "减少[[注意力]]的显存。");
  EXPECT_EQ(Snippet("猫の本", Query("本")), "猫の[[本]]");
}

TEST(Snippet, ShowsForeignBytesSafely) {
  const std::string snippet = Snippet("kernel \x1b[31mred\n\tfast", Query("kernel"));
  EXPECT_EQ(snippet.find('\x1b'), std::string::npos);
  EXPECT_EQ(snippet.find('\n'), std::string::npos);
  EXPECT_TRUE(snippet.starts_with("[[kernel]]"));
}

RC_GTEST_PROP(Snippet, IsOneValidLineWhateverTheBytes,
              (const std::string& body, const std::string& text)) {
  const std::string snippet = Snippet(body + " kernel " + body, Query(text + " kernel"), 40);
  RC_ASSERT(IsValidUtf8(snippet));
  RC_ASSERT(snippet.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace pawl::memory
