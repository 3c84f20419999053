// The strict JSON reader and the TOML reader. JSON is read by hand because the limits, the plain
// messages and Python's NaN and Infinity are the point of it; TOML comes from toml++, whose
// exceptions end here.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "base/json.h"
#include "base/text.h"

namespace pawl {

namespace {

// "source:line:column: problem", line and column from a byte offset, columns in characters.
Error ErrorAt(std::string_view source, std::string_view text, std::size_t offset,
              std::string_view problem) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  std::size_t column = 1;
  for (std::size_t at = line_start; at < offset;) {
    at += DecodeUtf8(text, at).length;
    ++column;
  }
  return MakeError(Code::kInvalidArgument,
                   Format("{}:{}:{}: {}", PrintableLine(source), line, column, problem));
}

// What every text has to pass before it is parsed at all.
Status CheckText(std::string_view text, std::string_view source, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return MakeError(Code::kInvalidArgument,
                     Format("{} has {}; at most {} are read", PrintableLine(source),
                            FormatBytes(text.size()), FormatBytes(limits.max_bytes)));
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    Error error = ErrorAt(source, text, 0, "starts with a byte-order mark");
    error.hint = "save the file as UTF-8 without a byte-order mark";
    return error;
  }
  if (const auto offset = FindInvalidUtf8(text)) {
    return ErrorAt(
        source, text, *offset,
        Format("byte \\x{:02x} is not valid UTF-8", static_cast<unsigned char>(text[*offset])));
  }
  return OkStatus();
}

class JsonReader {
 public:
  JsonReader(std::string_view text, std::string_view source, const JsonLimits& limits)
      : text_(text), source_(source), limits_(limits) {}

  Result<Json> Document() {
    PAWL_ASSIGN(Json value, Value(0));
    SkipBlanks();
    if (at_ != text_.size()) return Unexpected("the end of the file after the value");
    return value;
  }

 private:
  Error Fail(std::size_t offset, std::string_view problem) const {
    return ErrorAt(source_, text_, offset, problem);
  }

  // "expected X, found Y" at the current position.
  Error Unexpected(std::string_view expected) const {
    if (at_ >= text_.size()) {
      return Fail(text_.size(), Format("expected {}, found the end of the file", expected));
    }
    const std::string_view found = text_.substr(at_, DecodeUtf8(text_, at_).length);
    return Fail(at_, Format("expected {}, found '{}'", expected, PrintableLine(found)));
  }

  void SkipBlanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool Take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<Json> Value(int depth) {
    SkipBlanks();
    if (at_ >= text_.size()) return Unexpected("a value");
    switch (text_[at_]) {
      case '{':
        return Object(depth + 1);
      case '[':
        return Array(depth + 1);
      case '"': {
        PAWL_ASSIGN(std::string value, String());
        return Json(std::move(value));
      }
      default:
        return Word();
    }
  }

  Result<Json> Word() {
    if (Take("true")) return Json(true);
    if (Take("false")) return Json(false);
    if (Take("null")) return Json();
    const std::size_t start = at_;
    const bool negative = Take("-");
    if (text_.substr(at_).starts_with("Infinity") || text_.substr(at_).starts_with("NaN")) {
      return NonFinite(start, negative);
    }
    at_ = start;
    if (text_[at_] == '-' || IsDigit()) return Number();
    return Unexpected("a value");
  }

  Result<Json> NonFinite(std::size_t start, bool negative) {
    const bool infinite = Take("Infinity");
    if (!limits_.allow_non_finite || (negative && !infinite)) {
      return Fail(start, "NaN and Infinity are not JSON; only finite numbers count");
    }
    if (!infinite) at_ += std::string_view("NaN").size();
    return Json(infinite ? (negative ? -HUGE_VAL : HUGE_VAL) : std::nan(""));
  }

  bool IsDigit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  Status Digits() {
    if (!IsDigit()) return Unexpected("a digit");
    while (IsDigit()) ++at_;
    return OkStatus();
  }

  Result<Json> Number() {
    const std::size_t start = at_;
    bool whole = true;
    Take("-");
    const bool leading_zero = text_.substr(at_).starts_with('0');
    const std::size_t first_digit = at_;
    PAWL_TRY(Digits());
    if (leading_zero && at_ > first_digit + 1) {
      return Fail(start, "a number must not start with a zero");
    }
    if (Take(".")) {
      whole = false;
      PAWL_TRY(Digits());
    }
    if (Take("e") || Take("E")) {
      whole = false;
      if (!Take("+")) Take("-");
      PAWL_TRY(Digits());
    }
    return Convert(start, whole);
  }

  Result<Json> Convert(std::size_t start, bool whole) const {
    const std::string_view digits = text_.substr(start, at_ - start);
    if (whole) {
      if (const auto value = ParseInt(digits); value && digits != "-0") return Json(*value);
    }
    double value = 0;
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec;
    // from_chars does not tell too large from too small; strtod does, in any locale.
    if (error != std::errc()) value = std::strtod(std::string(digits).c_str(), nullptr);
    if (!std::isfinite(value)) {
      return Fail(start, Format("the number {} is too large", PrintableLine(digits, 40)));
    }
    return Json(value);
  }

  Result<std::string> String() {
    const std::size_t start = at_;
    ++at_;
    std::string out;
    while (true) {
      if (at_ >= text_.size()) return Fail(start, "this text has no closing quote");
      const char byte = text_[at_];
      if (byte == '"') {
        ++at_;
        return out;
      }
      if (static_cast<unsigned char>(byte) < 0x20) {
        return Fail(at_, "control characters in a text must be written as \\n, \\t or \\u00XX");
      }
      if (byte == '\\') {
        PAWL_TRY(Escape(out));
      } else {
        out += byte;
        ++at_;
      }
    }
  }

  Status Escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const std::size_t start = at_;
    ++at_;
    const char name = at_ < text_.size() ? text_[at_] : '\0';
    if (const std::size_t index = kNames.find(name); name != '\0' && index != kNames.npos) {
      out += kMeanings[index];
      ++at_;
      return OkStatus();
    }
    if (name != 'u') return Fail(start, "unknown escape in a text");
    PAWL_ASSIGN(std::uint32_t point, Unit(start));
    if (point >= 0xd800 && point <= 0xdbff) {
      const bool more = text_.substr(at_).starts_with("\\u");
      if (more) ++at_;
      const Result<std::uint32_t> low =
          more ? Unit(start) : Result<std::uint32_t>(std::uint32_t{0});
      if (!low.ok()) return low.error();
      if (*low < 0xdc00 || *low > 0xdfff) return Fail(start, "half of a surrogate pair is missing");
      point = 0x10000 + ((point - 0xd800) << 10U) + (*low - 0xdc00);
    } else if (point >= 0xdc00 && point <= 0xdfff) {
      return Fail(start, "half of a surrogate pair is missing");
    }
    AppendUtf8(out, point);
    return OkStatus();
  }

  // The four digits after \u; `at_` stands on the u.
  Result<std::uint32_t> Unit(std::size_t start) {
    ++at_;
    const std::string_view digits = text_.substr(at_, 4);
    std::uint32_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) {
      return Fail(start, "\\u must be followed by four hexadecimal digits");
    }
    at_ += 4;
    return value;
  }

  Status CheckDepth(int depth) const {
    if (depth <= limits_.max_depth) return OkStatus();
    return Fail(at_, Format("nested deeper than {} levels", limits_.max_depth));
  }

  Result<Json> Array(int depth) {
    PAWL_TRY(CheckDepth(depth));
    ++at_;
    JsonArray out;
    SkipBlanks();
    if (Take("]")) return Json(std::move(out));
    while (true) {
      PAWL_ASSIGN(Json value, Value(depth));
      out.push_back(std::move(value));
      SkipBlanks();
      if (Take("]")) return Json(std::move(out));
      if (!Take(",")) return Unexpected("',' or ']'");
    }
  }

  Result<Json> Object(int depth) {
    PAWL_TRY(CheckDepth(depth));
    ++at_;
    JsonObject out;
    KeySet keys;
    SkipBlanks();
    if (Take("}")) return Json(std::move(out));
    while (true) {
      SkipBlanks();
      const std::size_t key_at = at_;
      if (at_ >= text_.size() || text_[at_] != '"') return Unexpected("a key in quotes");
      PAWL_ASSIGN(std::string key, String());
      if (!keys.insert(key).second) {
        return Fail(key_at, Format("the key \"{}\" is given twice", PrintableLine(key)));
      }
      SkipBlanks();
      if (!Take(":")) return Unexpected("':' after the key");
      PAWL_ASSIGN(Json value, Value(depth));
      out.Append(std::move(key), std::move(value));
      SkipBlanks();
      if (Take("}")) return Json(std::move(out));
      if (!Take(",")) return Unexpected("',' or '}'");
    }
  }

  // Objects are searched linearly once built; a hostile file with many keys must not cost n^2 here.
  using KeySet = std::unordered_set<std::string>;

  std::string_view text_;
  std::string_view source_;
  const JsonLimits& limits_;
  std::size_t at_ = 0;
};

Error TomlError(std::string_view source, const toml::source_region& where,
                std::string_view problem) {
  return MakeError(Code::kInvalidArgument, Format("{}:{}:{}: {}", PrintableLine(source),
                                                  where.begin.line, where.begin.column, problem));
}

// What the first look may count too much: a number's dot, a heading's brackets.
constexpr int kTomlSlack = 4;

// toml++ bounds how deep values nest but not how deep a dotted key goes, and takes its tables down
// by recursion, so that a long key would end the process. This finds such keys beforehand. It reads
// the text as far as it is TOML; behind the first error toml++ does not go either.
class TomlDepth {
 public:
  TomlDepth(std::string_view text, int limit)
      : text_(text), limit_(static_cast<std::size_t>(limit)) {}

  // Where the text nests deeper than the limit.
  std::optional<std::size_t> Find() {
    for (std::size_t at = 0; at < text_.size();) {
      const char byte = text_[at];
      if (byte == '"' || byte == '\'') {
        at = EndOfText(at);
        at_start_ = false;
      } else if (byte == '#') {
        at = std::min(text_.find('\n', at), text_.size());
      } else {
        Take(byte);
        if (table_ + outside_ + dots_ > limit_) return at;
        ++at;
      }
    }
    return std::nullopt;
  }

 private:
  void Take(char byte) {
    if (byte == '\n' && open_.empty()) {
      dots_ = 0;
      at_start_ = true;
    } else if (byte == '.') {
      ++dots_;
    } else if (byte == ',') {
      dots_ = 0;
    } else if (byte == '[' || byte == '{') {
      if (open_.empty()) in_heading_ = at_start_;
      if (in_heading_) table_ = 0;
      open_.push_back(dots_);
      outside_ += dots_ + 1;
      dots_ = 0;
    } else if ((byte == ']' || byte == '}') && !open_.empty()) {
      if (in_heading_) table_ = std::max(table_, dots_);
      dots_ = open_.back();
      outside_ -= dots_ + 1;
      open_.pop_back();
    }
    if (byte != '\n' && byte != ' ' && byte != '\t') at_start_ = false;
  }

  std::size_t EndOfText(std::size_t at) const {
    const char quote = text_[at];
    const std::string three(3, quote);
    const bool lines = text_.substr(at).starts_with(three);
    for (at += lines ? 3 : 1; at < text_.size(); ++at) {
      if (text_[at] == '\\' && quote == '"') {
        ++at;
      } else if (!lines && (text_[at] == quote || text_[at] == '\n')) {
        return at + 1;
      } else if (lines && text_.substr(at).starts_with(three)) {
        // Up to two quotes more belong to the text.
        at += 3;
        for (int more = 0; more < 2 && at < text_.size() && text_[at] == quote; ++more) ++at;
        return at;
      }
    }
    return text_.size();
  }

  std::string_view text_;
  std::size_t limit_;
  std::vector<std::size_t> open_;  // dots before each open bracket
  std::size_t outside_ = 0;        // levels of all of them
  std::size_t dots_ = 0;           // of the present key
  std::size_t table_ = 0;          // of the last [heading]
  bool at_start_ = true;           // of a statement
  bool in_heading_ = false;
};

class TomlConverter {
 public:
  TomlConverter(std::string_view source, const JsonLimits& limits)
      : source_(source), limits_(limits) {}

  Result<Json> Convert(const toml::node& node, int depth) const {
    switch (node.type()) {
      case toml::node_type::table:
        return Table(*node.as_table(), depth + 1);
      case toml::node_type::array:
        return Array(*node.as_array(), depth + 1);
      case toml::node_type::string:
        return Json(node.as_string()->get());
      case toml::node_type::integer:
        return Json(node.as_integer()->get());
      case toml::node_type::boolean:
        return Json(node.as_boolean()->get());
      case toml::node_type::floating_point: {
        const double value = node.as_floating_point()->get();
        if (std::isfinite(value) || limits_.allow_non_finite) return Json(value);
        return TomlError(source_, node.source(), "only finite numbers count");
      }
      default: {
        Error error = TomlError(source_, node.source(), "dates and times are not used");
        error.hint = "write the value as text in quotes";
        return error;
      }
    }
  }

 private:
  Status CheckDepth(const toml::node& node, int depth) const {
    if (depth <= limits_.max_depth) return OkStatus();
    return TomlError(source_, node.source(),
                     Format("nested deeper than {} levels", limits_.max_depth));
  }

  Result<Json> Array(const toml::array& array, int depth) const {
    PAWL_TRY(CheckDepth(array, depth));
    JsonArray out;
    out.reserve(array.size());
    for (const toml::node& item : array) {
      PAWL_ASSIGN(Json value, Convert(item, depth));
      out.push_back(std::move(value));
    }
    return Json(std::move(out));
  }

  // toml++ sorts by key; the order of the file is kept here, as for JSON.
  Result<Json> Table(const toml::table& table, int depth) const {
    PAWL_TRY(CheckDepth(table, depth));
    std::vector<std::pair<const toml::key*, const toml::node*>> members;
    members.reserve(table.size());
    for (const auto& [key, node] : table) members.emplace_back(&key, &node);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return a.first->source().begin < b.first->source().begin;
    });
    JsonObject out;
    for (const auto& [key, node] : members) {
      PAWL_ASSIGN(Json value, Convert(*node, depth));
      out.Append(std::string(key->str()), std::move(value));
    }
    return Json(std::move(out));
  }

  std::string_view source_;
  const JsonLimits& limits_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view source, const JsonLimits& limits) {
  PAWL_TRY(CheckText(text, source, limits));
  return JsonReader(text, source, limits).Document();
}

Result<Json> ParseToml(std::string_view text, std::string_view source, const JsonLimits& limits) {
  PAWL_TRY(CheckText(text, source, limits));
  if (const auto deep = TomlDepth(text, limits.max_depth + kTomlSlack).Find()) {
    return ErrorAt(source, text, *deep, Format("nested deeper than {} levels", limits.max_depth));
  }
  try {
    const toml::table table = toml::parse(text, source);
    return TomlConverter(source, limits).Convert(table, 0);
  } catch (const toml::parse_error& error) {
    return TomlError(source, error.source(), PrintableLine(error.description(), 300));
  } catch (const std::exception& error) {
    return MakeError(Code::kInvalidArgument,
                     Format("{}: {}", PrintableLine(source), PrintableLine(error.what())));
  }
}

}  // namespace pawl
