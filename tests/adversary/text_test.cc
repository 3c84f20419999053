// Text that wants to be more than text: on the terminal, in results.tsv, in the record.
#include "base/text.h"
#include "adversary/adversary.h"

namespace pawl::adversary {
namespace {

constexpr std::string_view kHostile =
    "a\x1b]0;owned\x07\x1b[2J\r\nkeep\tkeep\t\xe2\x80\xae\x9b"
    "31m\"; rm -rf /";

bool HoldsControls(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x7f || (byte < 0x20 && c != '\n' && c != '\t')) return true;
  }
  return text.find("\xe2\x80\xae") != std::string_view::npos || !IsValidUtf8(text);
}

std::size_t Lines(std::string_view text) {
  return Split(Trim(text), '\n').size();
}

TEST(Text, DescriptionsStayOneFieldOnOneLine) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/program.sh", project.Read("src/program.sh") + "ops=9\n");
  project.Commit(std::string("subject ") + std::string(kHostile.substr(0, 16)));
  const std::string hostile(kHostile);
  const Outcome outcome = project.Experiment({"--description=" + hostile, "--source=" + hostile,
                                              "--expects=" + hostile, "--track=" + hostile});
  if (outcome.exit_code == 2) {
    EXPECT_NE(outcome.error(), "") << outcome.Text();
  } else {
    EXPECT_TRUE(Kept(project, outcome, "shared"));
  }
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"summary"}, {"status"}, {"show", "1"}, {"show", "1", "--diff"}}) {
    const Outcome shown = project.PawlText(verb);
    EXPECT_FALSE(HoldsControls(shown.out)) << verb.front();
    EXPECT_FALSE(HoldsControls(shown.err)) << verb.front();
  }
  EXPECT_LE(Lines(project.PawlText({"summary"}).out), 2U);
  const std::string table = project.Read(".autoresearch/results.tsv");
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_LE(Lines(table), 2U) << table;
}

TEST(Text, AnEndlessDescriptionIsBounded) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  project.Write("src/program.sh", project.Read("src/program.sh") + "ops=9\n");
  project.Commit();
  const Outcome outcome = project.Experiment({"--description=" + std::string(120'000, 'x')});
  if (outcome.exit_code == 2) {
    EXPECT_NE(outcome.error().find("description"), std::string::npos) << outcome.error();
    return;
  }
  EXPECT_TRUE(Kept(project, outcome, "shared"));
  EXPECT_LT(project.PawlText({"summary"}).out.size(), 2000U);
}

TEST(Text, WhatACandidatePrintsIsShownHarmlessly) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      "if test $stage = perf; then printf '\\033]0;owned\\007\\033[2JKEEP\\n\\233m\\377' >&2; "
      "exit 1; fi\n");
  EXPECT_TRUE(Refused(project, outcome, "crash", "perf: exit 1"));
  EXPECT_FALSE(HoldsControls(outcome.reasons())) << outcome.reasons();
  project.Write("src/program.sh", project.Read("src/program.sh") + "true\n");
  project.Commit();
  const Outcome shown = project.PawlText({"experiment", "--description", "x"});
  EXPECT_EQ(shown.exit_code, 3);
  EXPECT_FALSE(HoldsControls(shown.out)) << shown.out;
  EXPECT_FALSE(HoldsControls(shown.err)) << shown.err;
  EXPECT_TRUE(shown.out.starts_with("CRASH: ")) << shown.out;
  const Outcome log = project.PawlText({"show", "1", "--log", "perf"});
  EXPECT_FALSE(HoldsControls(log.out)) << log.out;
}

// A candidate's figures cannot speak in the judge's name either.
TEST(Text, NamesInResultFilesAreShownHarmlessly) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(
      "judge() { printf '{\"metrics\": {\"accuracy\": 1}, \"cases\": {\"product\": true, "
      "\"\\\\u001b[2J\\\\nKEEP\": \"x\"}}' >\"$run_dir/quality.json\"; }\n");
  EXPECT_TRUE(Refused(project, outcome, "discard-invalid", "quality.json"));
  EXPECT_FALSE(HoldsControls(outcome.reasons())) << outcome.reasons();
  EXPECT_EQ(outcome.reasons().find("\nKEEP"), std::string::npos);
}

}  // namespace
}  // namespace pawl::adversary
