#include "memory/words.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace pawl::memory {
namespace {

struct FoldRow {
  const char *text, *folded;
};

class FoldTable : public testing::TestWithParam<FoldRow> {};

TEST_P(FoldTable, GivesTheWords) {
  EXPECT_EQ(FoldedText(GetParam().text), GetParam().folded);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, FoldTable,
    testing::Values(
        FoldRow{"Flash-Attention 2, sm_86!", "flash attention 2 sm 86"},
        FoldRow{"Größe Café naïve", "grosse cafe naive"},
        FoldRow{"ＦＵＬＬ ﬁne", "full fine"},                                    // width, ligature
        FoldRow{"Внимание К ЯДРУ", "внимание к ядру"}, FoldRow{"مُحَمَّد", "محمد"},  // vowel marks
        FoldRow{"הֶשֵׂגִים", "השגים"}, FoldRow{"注意力", "注意 意力 力"}, FoldRow{"力", "力"},
        FoldRow{"用CUDA加速", "用 cuda 加速 速"}, FoldRow{"カーネル", "カー ーネ ネル ル"},
        FoldRow{"메모리 절약", "메모 모리 리 절약 약"}, FoldRow{"🚀🔥 — §", ""}, FoldRow{"", ""}));

TEST(WordsOf, PointsIntoTheSource) {
  const std::string text = "das große 注意";
  for (const Word& word : WordsOf(text)) {
    EXPECT_LT(word.begin, word.end);
    EXPECT_EQ(FoldedText(text.substr(word.begin, word.end - word.begin)).find(word.folded), 0U);
  }
}

TEST(WordsOf, CutsEndlessWords) {
  const std::vector<Word> words = WordsOf(std::string(10'000, 'a') + " b");
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].folded.size(), 64U);
  EXPECT_TRUE(IsValidUtf8(FoldedText("aaa" + std::string(40, '\xc3') + "é")));
}

RC_GTEST_PROP(WordsOf, TakesForeignBytes, (const std::string& bytes)) {
  for (const Word& word : WordsOf(bytes)) {
    RC_ASSERT(IsValidUtf8(word.folded) && !word.folded.empty());
    RC_ASSERT(word.begin < word.end && word.end <= bytes.size());
  }
}

}  // namespace
}  // namespace pawl::memory
