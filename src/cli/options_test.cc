#include "cli/options.h"

#include <gtest/gtest.h>

#include "cli/verbs.h"

namespace pawl::cli {
namespace {

Result<Arguments> Parse(std::string_view verb, std::vector<std::string> words) {
  return ParseVerb(*FindVerb(verb), words);
}

TEST(Options, AbbreviationsWorkWhenUnambiguous) {
  const auto parsed = Parse("experiment", {"--desc", "faster", "--class=numerical"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().Text();
  EXPECT_EQ(parsed->Get("--description"), "faster");
  EXPECT_EQ(parsed->Get("--classification"), "numerical");
}

TEST(Options, AmbiguousAbbreviationIsRefusedWithItsCandidates) {
  const auto parsed = Parse("experiment", {"--description", "x", "--tr", "y"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message,
            "ambiguous option: --tr could match --track, --trust-candidate");
}

TEST(Options, MissingRequiredOptionIsNamed) {
  const auto parsed = Parse("experiment", {});
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("--description"), std::string::npos);
}

TEST(Options, ChoicesAreEnforced) {
  const auto parsed = Parse("experiment", {"--description", "x", "--classification", "magic"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("invalid choice: 'magic'"), std::string::npos);
}

TEST(Options, NegativeNumberIsAValue) {
  const auto parsed = Parse("summary", {"--limit", "-3"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().Text();
  EXPECT_EQ(*parsed->GetInt("--limit"), -3);
}

TEST(Options, WholeNumberIsDemanded) {
  const auto parsed = Parse("summary", {"--limit", "1.5"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->GetInt("--limit").ok());
}

TEST(Options, FallbackStandsInForAnAbsentOption) {
  const auto parsed = Parse("search", {"softmax"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Get("--limit"), "8");
  EXPECT_EQ(parsed->positional(0), "softmax");
}

TEST(Options, TooManyAndTooFewPositionalsAreRefused) {
  EXPECT_FALSE(Parse("search", {}).ok());
  EXPECT_FALSE(Parse("search", {"a", "b"}).ok());
}

TEST(Options, DoubleDashEndsTheOptions) {
  const auto parsed = Parse("search", {"--", "--limit"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().Text();
  EXPECT_EQ(parsed->positional(0), "--limit");
}

TEST(Options, SlipOfTheKeyboardGetsASuggestion) {
  const auto parsed = Parse("search", {"x", "--limot", "3"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().hint, "did you mean --limit?");
}

TEST(Options, HelpWinsOverMissingArguments) {
  const auto parsed = Parse("experiment", {"-h"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->Has("--help"));
}

TEST(GlobalOptions, ConfigStandsBeforeTheVerb) {
  const std::vector<std::string> words = {"--conf", "a.toml", "--json", "status", "--json"};
  const auto parsed = ParseGlobal(words);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Text();
  EXPECT_EQ(parsed->config, "a.toml");
  EXPECT_TRUE(parsed->json);
  EXPECT_EQ(parsed->used, 3U);
}

TEST(Help, EveryVerbNamesAllItsOptions) {
  for (const Verb& verb : Verbs()) {
    const std::string page = VerbHelp(verb, "pawl");
    for (const Option& option : verb.options) {
      EXPECT_NE(page.find(option.name), std::string::npos) << verb.name << ' ' << option.name;
    }
    EXPECT_NE(ProgramHelp("pawl").find(verb.name), std::string::npos);
  }
}

}  // namespace
}  // namespace pawl::cli
