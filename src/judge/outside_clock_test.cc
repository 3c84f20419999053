#include "judge/outside_clock.h"

#include <gtest/gtest.h>

namespace pawl::judge {
namespace {

struct ClockRow {
  const char* what;
  const char *incumbent, *candidate;
  double incumbent_s, candidate_s;
  const char* contradiction;  // part of it; empty: none
  const char* note = "";
};

class ClockTable : public testing::TestWithParam<ClockRow> {};

TEST_P(ClockTable, HoldsClaimsAgainstTheOutside) {
  const ClockRow& row = GetParam();
  const Json incumbent = ParseJson(row.incumbent, "incumbent").value();
  const Json candidate = ParseJson(row.candidate, "candidate").value();
  const campaign::Objective objective{"latency.median_s", campaign::Direction::kLower, 0, 0};
  const ClockFinding found = CheckOutsideClock({incumbent, incumbent, candidate}, objective,
                                               {row.incumbent_s, row.candidate_s});
  const std::string contradiction = found.contradictions.empty() ? "" : found.contradictions[0];
  const std::string note = found.notes.empty() ? "" : found.notes[0];
  EXPECT_EQ(contradiction.empty(), std::string_view(row.contradiction).empty())
      << row.what << ": " << contradiction;
  EXPECT_NE(contradiction.find(row.contradiction), std::string::npos) << row.what;
  EXPECT_EQ(note.empty(), std::string_view(row.note).empty()) << row.what << ": " << note;
  EXPECT_NE(note.find(row.note), std::string::npos) << row.what;
}

constexpr const char* kTen = R"({"latency": {"median_s": 2, "samples_s": [2, 2, 2, 2, 2]}})";
constexpr const char* kFive = R"({"latency": {"median_s": 1, "samples_s": [1, 1, 1, 1, 1]}})";
constexpr const char* kBare2 = R"({"latency": {"median_s": 2}})";
constexpr const char* kBare1 = R"({"latency": {"median_s": 1}})";

INSTANTIATE_TEST_SUITE_P(
    Rows, ClockTable,
    testing::Values(
        ClockRow{"true gain", kTen, kFive, 12, 7, ""},
        // Claimed 5 s; half of it less 10 % of 12 s is 1.3 s.
        ClockRow{"just enough seen", kTen, kFive, 12, 10.69, ""},
        ClockRow{"too little seen", kTen, kFive, 12, 10.71, "the samples claim 5"},
        ClockRow{"nothing seen", kTen, kFive, 12, 12, "the samples claim 5"},
        ClockRow{"samples longer than the command", kTen, kFive, 12, 4.9, "the samples sum to 5"},
        ClockRow{"samples as long as the command", kTen, kFive, 12, 5, ""},
        ClockRow{"requests side by side", kTen, kFive, 4, 2, ""},
        ClockRow{"side by side, outside got worse", kTen, kFive, 4, 5, "claims a gain"},
        ClockRow{"count instead of samples", R"({"latency": {"median_s": 2, "count": 5}})",
                 R"({"latency": {"median_s": 1, "count": 50}})", 12, 11, "the samples sum to 50"},
        ClockRow{"time budget", kTen,
                 R"({"latency": {"median_s": 1, "samples_s": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}})", 12,
                 12, "", "could not be confirmed"},
        ClockRow{"fewer samples, no outside gain", kTen,
                 R"({"latency": {"median_s": 1, "samples_s": [1, 1]}})", 12, 12,
                 "the samples claim 5"},
        ClockRow{"samples withheld", kTen, kBare1, 12, 7, "the candidate does not"},
        ClockRow{"no samples, faster", kBare2, kBare1, 12, 11, ""},
        // 10 % and 0.1 s of room: 13.3 s.
        ClockRow{"no samples, within the room", kBare2, kBare1, 12, 13.29, ""},
        ClockRow{"no samples, beyond the room", kBare2, kBare1, 12, 13.31, "claims a gain"},
        ClockRow{"no gain claimed", kBare1, kBare2, 12, 20, ""},
        ClockRow{"no outside time", kTen, kFive, 0, 7, "", "not known"}));

TEST(CheckOutsideClock, LeavesOtherObjectivesAlone) {
  const Json incumbent = ParseJson(R"({"items_per_s": 5, "peak_vram_mb": 9})", "i").value();
  const Json candidate = ParseJson(R"({"items_per_s": 9, "peak_vram_mb": 5})", "c").value();
  for (const auto& objective :
       {campaign::Objective{"items_per_s", campaign::Direction::kHigher, 0, 0},
        campaign::Objective{"peak_vram_mb", campaign::Direction::kLower, 0, 0}}) {
    const ClockFinding found =
        CheckOutsideClock({incumbent, incumbent, candidate}, objective, {1, 50});
    EXPECT_TRUE(found.contradictions.empty());
    EXPECT_TRUE(found.notes.empty());
  }
}

}  // namespace
}  // namespace pawl::judge
