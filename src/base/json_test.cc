#include "base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace pawl {
namespace {

Json Parsed(std::string_view text) {
  Result<Json> json = ParseJson(text, "a.json");
  EXPECT_TRUE(json.ok()) << text << ": " << (json.ok() ? "" : json.error().Text());
  return json.ok() ? *json : Json();
}

std::string Refusal(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = ParseJson(text, "a.json", limits);
  return json.ok() ? "accepted " + json->Canonical() : json.error().message;
}

std::string TomlRefusal(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = ParseToml(text, "a.toml", limits);
  return json.ok() ? "accepted " + json->Canonical() : json.error().message;
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const Json json = Parsed(R"( {"a": [null, true, -3, 2.5, "x"], "b": {"c": {}}} )");
  EXPECT_EQ(json.Compact(), R"({"a":[null,true,-3,2.5,"x"],"b":{"c":{}}})");
  EXPECT_EQ(json.FindPath("b.c")->type(), Json::Type::kObject);
  EXPECT_EQ(json.FindPath("b.d"), nullptr);
  EXPECT_EQ(json.FindPath("a.b"), nullptr);
}

TEST(ParseJson, KeepsIntegersExactAndTurnsLargerOnesIntoDoubles) {
  EXPECT_EQ(*Parsed("9223372036854775807").AsInt(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*Parsed("-9223372036854775808").AsInt(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Parsed("9223372036854775808").type(), Json::Type::kDouble);
  EXPECT_TRUE(std::signbit(*Parsed("-0").AsDouble()));
  EXPECT_EQ(*Parsed("1e-999").AsDouble(), 0.0);
  EXPECT_EQ(*Parsed("4.9e-324").AsDouble(), std::numeric_limits<double>::denorm_min());
}

TEST(ParseJson, ReadsEscapesAndSurrogatePairs) {
  EXPECT_EQ(*Parsed(R"("\"\\\/\b\f\n\r\t\u0041\ud83d\ude00")").AsString(),
            "\"\\/\b\f\n\r\tA\xf0\x9f\x98\x80");
}

TEST(ParseJson, NamesLineAndColumnInCharacters) {
  EXPECT_EQ(Refusal("{\n  \"\xc3\xa4\xc3\xb6\": x}"), "a.json:2:9: expected a value, found 'x'");
  EXPECT_EQ(Refusal("{\"a\": 1,}"), "a.json:1:9: expected a key in quotes, found '}'");
  EXPECT_EQ(Refusal("[1 2]"), "a.json:1:4: expected ',' or ']', found '2'");
  EXPECT_EQ(Refusal("[1, 2"), "a.json:1:6: expected ',' or ']', found the end of the file");
  EXPECT_EQ(Refusal(""), "a.json:1:1: expected a value, found the end of the file");
  EXPECT_EQ(Refusal("{} {}"),
            "a.json:1:4: expected the end of the file after the value, found '{'");
}

TEST(ParseJson, RefusesDoubledKeysAtTheSecondOne) {
  EXPECT_EQ(Refusal("{\"a\": 1,\n \"a\": 2}"), "a.json:2:2: the key \"a\" is given twice");
  EXPECT_EQ(Refusal(R"({"a": 1, "\u0061": 2})"), "a.json:1:10: the key \"a\" is given twice");
}

TEST(ParseJson, RefusesNumbersThatAreNoFiniteDouble) {
  EXPECT_EQ(Refusal("[1e999]"), "a.json:1:2: the number 1e999 is too large");
  EXPECT_EQ(Refusal("-1e999"), "a.json:1:1: the number -1e999 is too large");
  EXPECT_EQ(Refusal(std::string(400, '9')).substr(0, 24), "a.json:1:1: the number 9");
  const std::string not_json = "NaN and Infinity are not JSON; only finite numbers count";
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity", "-NaN"}) {
    EXPECT_EQ(Refusal(word), "a.json:1:1: " + not_json);
  }
  for (const std::string_view bad : {"01", "-", "1.", ".5", "+1", "1e", "0x10", "1_000", "nan"}) {
    EXPECT_EQ(Refusal(bad).substr(0, 7), "a.json:") << bad;
  }
}

TEST(ParseJson, ReadsPythonsNonFiniteNumbersWhereAsked) {
  const JsonLimits limits{.allow_non_finite = true};
  const Result<Json> json = ParseJson("[NaN, Infinity, -Infinity]", "a.json", limits);
  ASSERT_TRUE(json.ok());
  const JsonArray& values = *json->AsArray();
  EXPECT_TRUE(std::isnan(*values[0].AsDouble()));
  EXPECT_EQ(*values[1].AsDouble(), HUGE_VAL);
  EXPECT_EQ(*values[2].AsDouble(), -HUGE_VAL);
  EXPECT_EQ(json->Canonical(), "[null,null,null]");
}

TEST(ParseJson, RefusesDepthBombsWithoutRecursingIntoThem) {
  const std::string lists(1'000'000, '[');
  EXPECT_EQ(Refusal(lists), "a.json:1:65: nested deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_EQ(Refusal(objects), "a.json:1:321: nested deeper than 64 levels");
  EXPECT_EQ(Refusal("[[1]]", {.max_depth = 1}), "a.json:1:2: nested deeper than 1 levels");
  EXPECT_EQ(Refusal(std::string(64, '[') + std::string(64, ']')).substr(0, 8), "accepted");
}

TEST(ParseJson, RefusesTextOverTheSizeLimit) {
  EXPECT_EQ(Refusal("[1,2,3]", {.max_bytes = 6}), "a.json has 7 B; at most 6 B are read");
}

TEST(ParseJson, RefusesBrokenTexts) {
  EXPECT_EQ(Refusal("\xef\xbb\xbf{}"), "a.json:1:1: starts with a byte-order mark");
  EXPECT_EQ(Refusal("[\"\xff\"]"), "a.json:1:3: byte \\xff is not valid UTF-8");
  EXPECT_EQ(Refusal("\"abc"), "a.json:1:1: this text has no closing quote");
  EXPECT_EQ(Refusal("\"a\nb\""),
            "a.json:1:3: control characters in a text must be written as \\n, \\t or \\u00XX");
  EXPECT_EQ(Refusal(R"("\x")"), "a.json:1:2: unknown escape in a text");
  EXPECT_EQ(Refusal(R"("\u12g4")"), "a.json:1:2: \\u must be followed by four hexadecimal digits");
  EXPECT_EQ(Refusal(R"("\u123)"), "a.json:1:2: \\u must be followed by four hexadecimal digits");
  EXPECT_EQ(Refusal(R"("\ud800")"), "a.json:1:2: half of a surrogate pair is missing");
  EXPECT_EQ(Refusal(R"("\ud800\u0041")"), "a.json:1:2: half of a surrogate pair is missing");
  EXPECT_EQ(Refusal(R"("\udc00")"), "a.json:1:2: half of a surrogate pair is missing");
  EXPECT_EQ(Refusal("\"\\"), "a.json:1:2: unknown escape in a text");
}

TEST(ParseJson, ShowsAHostileFoundCharacterHarmlessly) {
  EXPECT_EQ(Refusal("\x1b"), "a.json:1:1: expected a value, found '\\x1b'");
}

TEST(ParseJson, ManyKeysDoNotCostSquareTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) AppendFormat(text, "{}\"k{}\":0", i == 0 ? "" : ",", i);
  text += "}";
  EXPECT_EQ(Parsed(text).AsObject()->size(), 200'000U);
}

// Values of every kind, nested; texts are any bytes that are valid UTF-8.
rc::Gen<Json> AnyJson(int depth) {
  const auto text = rc::gen::map(rc::gen::arbitrary<std::vector<std::uint16_t>>(),
                                 [](const std::vector<std::uint16_t>& points) {
                                   std::string out;
                                   for (const std::uint16_t point : points) {
                                     if (point < 0xd800 || point > 0xdfff) AppendUtf8(out, point);
                                   }
                                   return out;
                                 });
  auto leaf = rc::gen::oneOf(
      rc::gen::just(Json()),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Json(b); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t i) { return Json(i); }),
      rc::gen::map(rc::gen::arbitrary<double>(), [](double d) { return Json(d); }),
      rc::gen::map(text, [](std::string s) { return Json(std::move(s)); }));
  if (depth == 0) return leaf;
  const auto list = rc::gen::map(rc::gen::container<std::vector<Json>>(AnyJson(depth - 1)),
                                 [](JsonArray items) { return Json(std::move(items)); });
  const auto object = rc::gen::map(rc::gen::container<std::vector<std::pair<std::string, Json>>>(
                                       rc::gen::pair(text, AnyJson(depth - 1))),
                                   [](const std::vector<std::pair<std::string, Json>>& members) {
                                     JsonObject out;
                                     for (const auto& [key, value] : members) out[key] = value;
                                     return Json(std::move(out));
                                   });
  return rc::gen::oneOf(leaf, list, object);
}

RC_GTEST_PROP(JsonRoundTrip, EveryWriterIsReadBackExactly, ()) {
  const Json json = *AnyJson(2);
  for (const std::string& text :
       {json.Canonical(), json.Compact(), json.Pretty(), json.Pretty(false)}) {
    const Result<Json> back = ParseJson(text, "round-trip");
    RC_ASSERT(back.ok());
    RC_ASSERT(back->Canonical() == json.Canonical());
  }
}

// nlohmann::json is the independent witness of what JSON is; it knows no size or key limits.
RC_GTEST_PROP(JsonRoundTrip, DamagedTextsAreAcceptedExactlyWhenAnotherReaderAcceptsThem, ()) {
  std::string text = (*AnyJson(2)).Canonical();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const std::string marks = "{}[]\",:0123456789.eE+-\\u tfn\n";
  const char mark = *rc::gen::elementOf(marks);
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      text[at] = mark;
      break;
    case 1:
      text.insert(at, 1, mark);
      break;
    default:
      text.erase(at, 1);
      break;
  }
  const Result<Json> ours = ParseJson(text, "damaged");
  const bool theirs = nlohmann::json::accept(text);
  if (!ours.ok() && ours.error().message.find("given twice") != std::string::npos) return;
  RC_ASSERT(ours.ok() == theirs);
}

RC_GTEST_PROP(JsonRoundTrip, AnyBytesEndInAValueOrAnErrorThatNamesThePlace,
              (const std::string& bytes)) {
  const Result<Json> json = ParseJson(bytes, "any");
  if (!json.ok()) RC_ASSERT(json.error().message.starts_with("any:"));
}

TEST(Json, CanonicalBytesDoNotDependOnTheOrderOfWriting) {
  EXPECT_EQ(Parsed(R"({"b":1,"a":{"d":2,"c":3}})").Canonical(), R"({"a":{"c":3,"d":2},"b":1})");
  EXPECT_EQ(Parsed(R"({"b":1,"a":2})"), Parsed(R"({"a":2,"b":1})"));
  EXPECT_FALSE(Parsed("1") == Parsed("1.0"));
}

// What Python's json.dumps(value, indent=2, sort_keys=True) prints.
TEST(Json, PrettyIsWhatPythonPrints) {
  JsonObject object = {{"b", JsonArray{1, 2.0, true, nullptr}},
                       {"a", "\xc3\xa4\xf0\x9f\x98\x80\x7f\b\f\x01/"},
                       {"empty_list", JsonArray{}},
                       {"empty", JsonObject{}}};
  EXPECT_EQ(Json(object).Pretty(),
            "{\n"
            "  \"a\": \"\\u00e4\\ud83d\\ude00\\u007f\\b\\f\\u0001/\",\n"
            "  \"b\": [\n    1,\n    2.0,\n    true,\n    null\n  ],\n"
            "  \"empty\": {},\n"
            "  \"empty_list\": []\n"
            "}\n");
}

TEST(Json, MalformedTextIsWrittenSoThatItCanBeReadBack) {
  const std::string text = Json("a\xff").Canonical();
  EXPECT_EQ(text, "\"a\xef\xbf\xbd\"");
  EXPECT_TRUE(ParseJson(text, "x").ok());
}

// Each pair was printed by Python's repr().
TEST(FormatDouble, IsPythonsRepr) {
  EXPECT_EQ(FormatDouble(1), "1.0");
  EXPECT_EQ(FormatDouble(-0.0), "-0.0");
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(1e16), "1e+16");
  EXPECT_EQ(FormatDouble(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(FormatDouble(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(FormatDouble(1e-4), "0.0001");
  EXPECT_EQ(FormatDouble(1e-5), "1e-05");
  EXPECT_EQ(FormatDouble(1.5e-7), "1.5e-07");
  EXPECT_EQ(FormatDouble(1e100), "1e+100");
  EXPECT_EQ(FormatDouble(5e-324), "5e-324");
  EXPECT_EQ(FormatDouble(1.7976931348623157e308), "1.7976931348623157e+308");
}

TEST(Json, ShortcutsFallBackOnAbsentOrWrongTypes) {
  const Json json = Parsed(R"({"s":"x","i":3,"d":2.5,"b":true})");
  EXPECT_EQ(json.StringAt("s"), "x");
  EXPECT_EQ(json.StringAt("i", "none"), "none");
  EXPECT_EQ(json.IntAt("i"), 3);
  EXPECT_EQ(json.IntAt("d", 7), 7);
  EXPECT_EQ(json.DoubleAt("i"), 3.0);
  EXPECT_EQ(json.DoubleAt("b", 1.5), 1.5);
  EXPECT_TRUE(json.BoolAt("b"));
  EXPECT_TRUE(json.BoolAt("absent", true));
  EXPECT_EQ(Json().IntAt("x", 4), 4);
}

TEST(JsonObject, KeepsTheOrderOfWritingAndReplacesInPlace) {
  JsonObject object = {{"b", 1}, {"a", 2}};
  object["b"] = 3;
  object["c"];
  EXPECT_EQ(Json(object).Compact(), R"({"b":3,"a":2,"c":null})");
  EXPECT_TRUE(object.Erase("a"));
  EXPECT_FALSE(object.Erase("a"));
  EXPECT_EQ(object.size(), 2U);
}

TEST(ParseToml, ReadsIntoTheSameTypeInTheOrderOfTheFile) {
  const Result<Json> json = ParseToml(
      "z = 1\na = 2.5\n[table]\nb = [true, \"x\"]\n[table.inner]\nc = {d = -1}\n[[list]]\ne = 1\n",
      "a.toml");
  ASSERT_TRUE(json.ok()) << json.error().Text();
  EXPECT_EQ(json->Compact(),
            R"({"z":1,"a":2.5,"table":{"b":[true,"x"],"inner":{"c":{"d":-1}}},"list":[{"e":1}]})");
}

TEST(ParseToml, RefusalsNameLineAndColumn) {
  EXPECT_EQ(TomlRefusal("a = 1\nb =\n").substr(0, 9), "a.toml:2:");
  EXPECT_EQ(TomlRefusal("a = 1\na = 2\n").substr(0, 9), "a.toml:2:");
  EXPECT_EQ(TomlRefusal("x = 2020-01-01"), "a.toml:1:5: dates and times are not used");
  EXPECT_EQ(TomlRefusal("x = nan"), "a.toml:1:5: only finite numbers count");
  EXPECT_EQ(TomlRefusal("x = [[1]]", {.max_depth = 2}), "a.toml:1:6: nested deeper than 2 levels");
  EXPECT_EQ(TomlRefusal("x = 1", {.max_bytes = 3}), "a.toml has 5 B; at most 3 B are read");
  EXPECT_EQ(TomlRefusal("x = '\xff'"), "a.toml:1:6: byte \\xff is not valid UTF-8");
}

TEST(ParseToml, TakesNothingThatIsTooDeepForJson) {
  const std::string lists = std::string(63, '[') + std::string(63, ']');
  const auto deepest = ParseToml("x = " + lists, "a.toml");
  ASSERT_TRUE(deepest.ok());
  EXPECT_TRUE(ParseJson(deepest->Compact(), "a.json").ok());
  EXPECT_EQ(TomlRefusal("x = [" + lists + "]"), "a.toml:1:68: nested deeper than 64 levels");
}

TEST(ParseToml, RefusesDepthBombs) {
  EXPECT_EQ(TomlRefusal("x = " + std::string(100'000, '[')).substr(0, 7), "a.toml:");
  std::string dotted = "a";
  for (int i = 0; i < 400'000; ++i) dotted += ".a";
  const auto place = [](const std::string& text) { return TomlRefusal(text).substr(0, 9); };
  EXPECT_EQ(place(dotted + " = 1"), "a.toml:1:");
  EXPECT_EQ(place("['x." + std::string(200, 'y') + "'." + dotted + "]\nb = 1"), "a.toml:1:");
  EXPECT_EQ(place("x = [1.5,\n{b = '''\n'''''," + dotted + " = 1}]"), "a.toml:3:");
  EXPECT_EQ(place("[t.u]\n\"a\"=\"\\\"\" # it's\n" + dotted + " = 1"), "a.toml:3:");
}

TEST(ParseToml, DotsInValuesNestNothing) {
  std::string numbers = "x = [";
  for (int i = 0; i < 300; ++i) numbers += "0.5, ";
  const std::string dots(300, '.');
  const std::string text = numbers + "]\ny = '" + dots + "'\nz = \"\"\"\n" + dots + "\"\"\" # " +
                           dots + "\n[t]\na.b.c = {d.e = 1.5}\n";
  EXPECT_TRUE(ParseToml(text, "a.toml").ok());
}

}  // namespace
}  // namespace pawl
