#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace pawl {

JsonObject::JsonObject(std::initializer_list<JsonMember> members) {
  for (const JsonMember& member : members) (*this)[member.first] = member.second;
}

const Json* JsonObject::Find(std::string_view key) const {
  for (const JsonMember& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json* JsonObject::Find(std::string_view key) {
  return const_cast<Json*>(std::as_const(*this).Find(key));
}

Json& JsonObject::operator[](std::string_view key) {
  if (Json* found = Find(key)) return *found;
  members_.emplace_back(std::string(key), Json());
  return members_.back().second;
}

void JsonObject::Append(std::string key, Json value) {
  members_.emplace_back(std::move(key), std::move(value));
}

bool JsonObject::Erase(std::string_view key) {
  return std::erase_if(members_, [&](const JsonMember& m) { return m.first == key; }) > 0;
}

Json Json::Count(std::uint64_t value) {
  PAWL_CHECK(value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  return Json(static_cast<std::int64_t>(value));
}

Json Json::Strings(const std::vector<std::string>& values) {
  JsonArray out;
  out.reserve(values.size());
  for (const std::string& value : values) out.emplace_back(value);
  return Json(std::move(out));
}

std::optional<double> Json::AsDouble() const {
  if (const std::int64_t* whole = AsInt()) return static_cast<double>(*whole);
  if (const double* real = std::get_if<double>(&value_)) return *real;
  return std::nullopt;
}

const Json* Json::Find(std::string_view key) const {
  const JsonObject* object = AsObject();
  return object == nullptr ? nullptr : object->Find(key);
}

const Json* Json::FindPath(std::string_view dotted_path) const {
  const Json* at = this;
  while (at != nullptr) {
    const std::size_t dot = dotted_path.find('.');
    at = at->Find(dotted_path.substr(0, dot));
    if (dot == std::string_view::npos) return at;
    dotted_path.remove_prefix(dot + 1);
  }
  return nullptr;
}

std::string Json::StringAt(std::string_view key, std::string_view fallback) const {
  const Json* found = Find(key);
  const std::string* text = found == nullptr ? nullptr : found->AsString();
  return text == nullptr ? std::string(fallback) : *text;
}

std::int64_t Json::IntAt(std::string_view key, std::int64_t fallback) const {
  const Json* found = Find(key);
  const std::int64_t* whole = found == nullptr ? nullptr : found->AsInt();
  return whole == nullptr ? fallback : *whole;
}

double Json::DoubleAt(std::string_view key, double fallback) const {
  const Json* found = Find(key);
  return found == nullptr ? fallback : found->AsDouble().value_or(fallback);
}

bool Json::BoolAt(std::string_view key, bool fallback) const {
  const Json* found = Find(key);
  const bool* flag = found == nullptr ? nullptr : found->AsBool();
  return flag == nullptr ? fallback : *flag;
}

bool operator==(const Json& a, const Json& b) {
  return a.Canonical() == b.Canonical();
}

std::string_view TypeName(Json::Type type) {
  switch (type) {
    case Json::Type::kNull:
      return "null";
    case Json::Type::kBool:
      return "true/false";
    case Json::Type::kInt:
    case Json::Type::kDouble:
      return "number";
    case Json::Type::kString:
      return "text";
    case Json::Type::kArray:
      return "list";
    case Json::Type::kObject:
      return "object";
  }
  return "value";
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  // Python switches to exponents at 1e16 and below 1e-4; to_chars picks the shorter form instead,
  // so the notation is chosen here and only the digits come from to_chars.
  const double magnitude = std::fabs(value);
  const bool fixed = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string out(buffer, end);
  if (fixed && out.find('.') == std::string::npos) out += ".0";
  return out;
}

namespace {

// The letter of the two-character escape that Python also uses; 0 when there is none.
char ShortEscape(unsigned char byte) {
  switch (byte) {
    case '"':
    case '\\':
      return static_cast<char>(byte);
    case '\n':
      return 'n';
    case '\t':
      return 't';
    case '\r':
      return 'r';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    default:
      return 0;
  }
}

// Malformed UTF-8 is written as U+FFFD: what Pawl writes, Pawl must be able to read.
void AppendEscaped(std::string& out, std::string_view text, bool ascii_only) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (const char letter = ShortEscape(byte)) {
      out += '\\';
      out += letter;
      ++i;
      continue;
    }
    const CodePoint point = DecodeUtf8(text, i);
    i += point.length;
    if (point.value >= 0x20 && point.value != 0x7f && (point.value < 0x80 || !ascii_only)) {
      AppendUtf8(out, point.value);
    } else if (point.value >= 0x10000) {
      const std::uint32_t rest = point.value - 0x10000;
      AppendFormat(out, "\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10U), 0xdc00 + (rest & 0x3ffU));
    } else {
      AppendFormat(out, "\\u{:04x}", point.value);
    }
  }
  out += '"';
}

struct Style {
  bool sort_keys = false;
  bool pretty = false;
  bool ascii_only = false;
};

void Append(std::string& out, const Json& value, const Style& style, int depth);

void NewLine(std::string& out, const Style& style, int depth) {
  if (!style.pretty) return;
  out += '\n';
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
}

void AppendObject(std::string& out, const JsonObject& object, const Style& style, int depth) {
  std::vector<const JsonMember*> members;
  members.reserve(object.size());
  for (const JsonMember& member : object) members.push_back(&member);
  if (style.sort_keys) {
    std::sort(members.begin(), members.end(),
              [](const JsonMember* a, const JsonMember* b) { return a->first < b->first; });
  }
  out += '{';
  bool first = true;
  for (const JsonMember* member : members) {
    if (!first) out += ',';
    first = false;
    NewLine(out, style, depth + 1);
    AppendEscaped(out, member->first, style.ascii_only);
    out += style.pretty ? ": " : ":";
    Append(out, member->second, style, depth + 1);
  }
  if (!first) NewLine(out, style, depth);
  out += '}';
}

void AppendArray(std::string& out, const JsonArray& array, const Style& style, int depth) {
  out += '[';
  bool first = true;
  for (const Json& item : array) {
    if (!first) out += ',';
    first = false;
    NewLine(out, style, depth + 1);
    Append(out, item, style, depth + 1);
  }
  if (!first) NewLine(out, style, depth);
  out += ']';
}

void Append(std::string& out, const Json& value, const Style& style, int depth) {
  switch (value.type()) {
    case Json::Type::kNull:
      out += "null";
      return;
    case Json::Type::kBool:
      out += *value.AsBool() ? "true" : "false";
      return;
    case Json::Type::kInt:
      AppendFormat(out, "{}", *value.AsInt());
      return;
    case Json::Type::kDouble: {
      const double number = *value.AsDouble();
      out += std::isfinite(number) ? FormatDouble(number) : "null";
      return;
    }
    case Json::Type::kString:
      AppendEscaped(out, *value.AsString(), style.ascii_only);
      return;
    case Json::Type::kArray:
      AppendArray(out, *value.AsArray(), style, depth);
      return;
    case Json::Type::kObject:
      AppendObject(out, *value.AsObject(), style, depth);
      return;
  }
}

}  // namespace

std::string Json::Canonical() const {
  std::string out;
  Append(out, *this, Style{.sort_keys = true}, 0);
  return out;
}

std::string Json::Pretty(bool sort_keys) const {
  std::string out;
  Append(out, *this, Style{.sort_keys = sort_keys, .pretty = true, .ascii_only = true}, 0);
  out += '\n';
  return out;
}

std::string Json::Compact() const {
  std::string out;
  Append(out, *this, Style{}, 0);
  return out;
}

}  // namespace pawl
