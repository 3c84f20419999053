#include "propose/queue.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace pawl::propose {
namespace {

constexpr std::string_view kDiff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n";

TEST(ParsePatch, TakesTheFirstLineAsHypothesisAndReadsFields) {
  const std::string text =
      "Read values in order\n\nClass: numerical\nSource: handbook/cache.md\n"
      "Expects: fewer misses\nTrack: memory\n\n" +
      std::string(kDiff);
  const auto patch = ParsePatch("01-a.patch", text);
  ASSERT_TRUE(patch.ok()) << patch.error().Text();
  EXPECT_EQ(patch->hypothesis, "Read values in order");
  EXPECT_EQ(patch->classification, "numerical");
  EXPECT_EQ(patch->source, "handbook/cache.md");
  EXPECT_EQ(patch->expects, "fewer misses");
  EXPECT_EQ(patch->track, "memory");
  EXPECT_EQ(patch->diff, kDiff);
  EXPECT_EQ(patch->sha256, HashBytes(text).hex());
}

TEST(ParsePatch, ReadsMailPatches) {
  const auto patch = ParsePatch("m.patch",
                                "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nDate: today\n"
                                "Subject: [PATCH 1/2] Use one pass\n\nBody.\n---\n x | 2 +-\n\n" +
                                    std::string(kDiff));
  ASSERT_TRUE(patch.ok()) << patch.error().Text();
  EXPECT_EQ(patch->hypothesis, "Use one pass");
  EXPECT_EQ(patch->diff, kDiff);
}

TEST(ParsePatch, NamesAPatchWithoutWordsAfterItsFile) {
  const auto patch = ParsePatch("03-wider.diff", kDiff);
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(patch->hypothesis, "03-wider");
  EXPECT_EQ(patch->classification, "exact");
}

TEST(ParsePatch, MakesHypothesesPrintable) {
  const auto patch = ParsePatch("x.patch", "Idea \x1b[31mred\n" + std::string(kDiff));
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(patch->hypothesis.find('\x1b'), std::string::npos);
}

TEST(ParsePatch, RefusesFilesWithoutADiffAndUnknownClasses) {
  EXPECT_EQ(ParsePatch("x.patch", "only words\n").error().code, Code::kInvalidArgument);
  EXPECT_EQ(ParsePatch("x.patch", "").error().code, Code::kInvalidArgument);
  const auto unknown = ParsePatch("x.patch", "Idea\nClass: magic\n" + std::string(kDiff));
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("magic"), std::string::npos);
}

TEST(ReadQueue, SortsByNameAndSkipsOtherFiles) {
  auto folder = os::ScratchFolder::Make("/tmp", "queue");
  ASSERT_TRUE(folder.ok());
  const auto write = [&](const char* name, std::string_view bytes) {
    ASSERT_TRUE(os::WriteFileAtomic(folder->path() / name, bytes, {.durable = false}).ok());
  };
  write("02-b.diff", kDiff);
  write("01-a.patch", kDiff);
  write("README.md", "no patch");
  const auto patches = ReadQueue(folder->path());
  ASSERT_TRUE(patches.ok()) << patches.error().Text();
  ASSERT_EQ(patches->size(), 2U);
  EXPECT_EQ((*patches)[0].name, "01-a.patch");
  EXPECT_EQ((*patches)[1].name, "02-b.diff");
}

TEST(ReadQueue, TellsAnEmptyFolderFromAnAbsentOne) {
  auto folder = os::ScratchFolder::Make("/tmp", "queue");
  ASSERT_TRUE(folder.ok());
  const auto patches = ReadQueue(folder->path());
  ASSERT_TRUE(patches.ok());
  EXPECT_TRUE(patches->empty());
  EXPECT_FALSE(ReadQueue(folder->path() / "absent").ok());
}

}  // namespace
}  // namespace pawl::propose
