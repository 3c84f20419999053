#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

TEST(Utf8, DecodesEveryLength) {
  EXPECT_EQ(DecodeUtf8("a", 0).value, 0x61U);
  EXPECT_EQ(DecodeUtf8("\xc3\xa4", 0).value, 0xe4U);
  EXPECT_EQ(DecodeUtf8("\xe2\x82\xac", 0).value, 0x20acU);
  const CodePoint point = DecodeUtf8("x\xf0\x9f\x98\x80", 1);
  EXPECT_EQ(point.value, 0x1f600U);
  EXPECT_EQ(point.length, 4U);
}

TEST(Utf8, RefusesOverlongSurrogateTruncatedAndTooLarge) {
  for (const std::string_view bad : {"\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xed\xa0\x80",
                                     "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xff", "\xc3\x28"}) {
    EXPECT_FALSE(DecodeUtf8(bad, 0).valid)
        << ToHex({reinterpret_cast<const std::uint8_t*>(bad.data()), bad.size()});
    EXPECT_EQ(DecodeUtf8(bad, 0).length, 1U);
  }
  EXPECT_EQ(FindInvalidUtf8("ab\xffz"), 2U);
  EXPECT_TRUE(IsValidUtf8("gr\xc3\xbc\xc3\x9f"));
}

RC_GTEST_PROP(Utf8, EveryScalarValueSurvivesEncodingAndDecoding, ()) {
  const auto point = *rc::gen::suchThat(rc::gen::inRange<std::uint32_t>(0, 0x110000),
                                        [](auto p) { return p < 0xd800 || p > 0xdfff; });
  std::string text;
  AppendUtf8(text, point);
  const CodePoint decoded = DecodeUtf8(text, 0);
  RC_ASSERT(decoded.valid);
  RC_ASSERT(decoded.value == point);
  RC_ASSERT(decoded.length == text.size());
}

TEST(Printable, ShowsTerminalTakeoversInsteadOfObeyingThem) {
  EXPECT_EQ(Printable("\x1b[2Jgone"), "\\x1b[2Jgone");
  EXPECT_EQ(Printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");
  EXPECT_EQ(Printable("a\xe2\x81\xa6"
                      "b"),
            "a\\u2066b");
  EXPECT_EQ(Printable("pay\xe2\x80\x8bpal"), "pay\\u200bpal");
  EXPECT_EQ(Printable("\xf3\xa0\x81\x81"), "\\U000e0041");
  EXPECT_EQ(Printable("real\rfake"), "real\\x0dfake");
  EXPECT_EQ(Printable(std::string("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(Printable("\x9bm"), "\\x9bm");
}

TEST(Printable, LeavesOrdinaryTextOfAnyScriptAlone) {
  const std::string text = "gr\xc3\xbc\xc3\x9f\t\xe4\xbd\xa0\xe5\xa5\xbd\nnext \xf0\x9f\x98\x80\n";
  EXPECT_EQ(Printable(text), text);
  EXPECT_EQ(Printable("dos\r\nline"), "dos\nline");
}

TEST(Printable, CutsLongLinesAndGoesOnWithTheNext) {
  EXPECT_EQ(Printable("0123456789\nabc", 8), "01234...\nabc");
  EXPECT_EQ(Printable("01234567\n", 8), "01234567\n");
  EXPECT_EQ(Printable("012\xe2\x82\xac"
                      "456789",
                      8),
            "012...");
}

TEST(PrintableLine, IsOneLineWithinTheLimit) {
  EXPECT_EQ(PrintableLine("a\nb\tc\r"), "a b c ");
  EXPECT_EQ(PrintableLine(std::string(500, 'x'), 10), "xxxxxxx...");
  EXPECT_EQ(PrintableLine("\x1b\x1b\x1b", 8), "\\x1b...");
}

RC_GTEST_PROP(Printable, AnyBytesBecomeValidHarmlessText, (const std::string& bytes)) {
  const std::string shown = Printable(bytes, 50);
  RC_ASSERT(IsValidUtf8(shown));
  for (const char byte : shown) {
    const auto value = static_cast<unsigned char>(byte);
    RC_ASSERT(value >= 0x20 || value == '\n' || value == '\t');
    RC_ASSERT(value != 0x7f);
  }
  for (const std::string_view line : Split(shown, '\n')) RC_ASSERT(line.size() <= 50U);
  const std::string line = PrintableLine(bytes, 20);
  RC_ASSERT(line.size() <= 20U);
  RC_ASSERT(line.find('\n') == std::string::npos);
}

TEST(Split, KeepsEmptyPartsAndJoinUndoesIt) {
  EXPECT_EQ(Split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  const std::vector<std::string> parts = {"a", "", "b"};
  EXPECT_EQ(Join(parts, ", "), "a, , b");
  EXPECT_EQ(Join({}, ","), "");
}

TEST(Trim, TakesBlanksFromBothEndsOnly) {
  EXPECT_EQ(Trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(Nearest, FindsSlipsOfTheKeyboardOnly) {
  constexpr std::array<std::string_view, 4> kKnown = {"baseline", "experiment", "summary", "gc"};
  EXPECT_EQ(Nearest("basline", kKnown), "baseline");
  EXPECT_EQ(Nearest("experimnet", kKnown), "experiment");
  EXPECT_EQ(Nearest("SUMARY", kKnown), "summary");
  EXPECT_EQ(Nearest("banana", kKnown), std::nullopt);
  EXPECT_EQ(Nearest("x", kKnown), std::nullopt);
  EXPECT_EQ(Nearest("", kKnown), std::nullopt);
}

RC_GTEST_PROP(FormatG, IsPrintfsG, (double value)) {
  std::array<char, 64> expected{};
  RC_ASSERT(std::snprintf(expected.data(), expected.size(), "%g", value) > 0);
  RC_ASSERT(FormatG(value) == expected.data());
}

TEST(FormatG, IsPrintfsGAtTheEdges) {
  for (const double value :
       {0.0, -0.0, 1.0, 100000.0, 999999.5, 1e6, 1e-4, 9.9999e-5, 0.1, 1e300}) {
    std::array<char, 64> expected{};
    ASSERT_GT(std::snprintf(expected.data(), expected.size(), "%g", value), 0);
    EXPECT_EQ(FormatG(value), expected.data());
  }
}

TEST(FormatSeconds, PicksTheUnitThatFits) {
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(12e-6), "12 us");
  EXPECT_EQ(FormatSeconds(0.34), "340 ms");
  EXPECT_EQ(FormatSeconds(0.9996), "1 s");
  EXPECT_EQ(FormatSeconds(1.2345), "1.23 s");
  EXPECT_EQ(FormatSeconds(59.99), "1 min 0 s");
  EXPECT_EQ(FormatSeconds(185), "3 min 5 s");
  EXPECT_EQ(FormatSeconds(3725), "1 h 2 min");
  EXPECT_EQ(FormatSeconds(-0.002), "-2 ms");
}

TEST(FormatBytes, PicksTheUnitThatFits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{1023} << 10U), "0.999 MiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{64} << 20U), "64 MiB");
  EXPECT_EQ(FormatBytes(~std::uint64_t{0}), "16 EiB");
}

TEST(ParseNumbers, TakeTheWholeTextOrNothing) {
  EXPECT_EQ(ParseInt("-42"), -42);
  EXPECT_EQ(ParseInt("42 "), std::nullopt);
  EXPECT_EQ(ParseInt(""), std::nullopt);
  EXPECT_EQ(ParseInt("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseDouble("1.5e3"), 1500.0);
  EXPECT_EQ(ParseDouble("nan"), std::nullopt);
  EXPECT_EQ(ParseDouble("1e999"), std::nullopt);
  EXPECT_EQ(ParseDouble("1,5"), std::nullopt);
}

TEST(ShellQuote, QuotesOnlyWhereAShellWouldCare) {
  EXPECT_EQ(ShellQuote("src/a-b.cc"), "src/a-b.cc");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("$(rm)"), "'$(rm)'");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("gr\xc3\xbc\xc3\x9f"), 4U);
  EXPECT_EQ(DisplayWidth("\xe4\xbd\xa0"), 2U);
  EXPECT_EQ(DisplayWidth("\x1b[31mred\x1b[0m"), 3U);
}

TEST(TextTable, AlignsColumnsByWhatIsSeen) {
  TextTable table({"name", "ms"});
  table.AlignRight(1);
  table.AddRow({"\x1b[32mkeep\x1b[0m", "7"});
  table.AddRow(
      {"gr\xc3\xbc\xc3\x9f"
       "en",
       "120"});
  table.AddRow({"short"});
  EXPECT_EQ(table.Render(),
            "name     ms\n"
            "\x1b[32mkeep\x1b[0m      7\n"
            "gr\xc3\xbc\xc3\x9f"
            "en  120\n"
            "short\n");
}

}  // namespace
}  // namespace pawl
