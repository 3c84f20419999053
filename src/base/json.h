// One JSON value type for everything Pawl reads and writes, with a strict reader (size, depth and
// duplicate-key limits, errors with line and column) and two writers: canonical (for hashing) and
// pretty (for people and for the files that dit-ar writes). TOML is read into the same type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace pawl {

class Json;
using JsonArray = std::vector<Json>;
using JsonMember = std::pair<std::string, Json>;

// Keys in the order in which they were written; look-up is linear, which is right for our sizes.
class JsonObject {
 public:
  JsonObject() = default;
  JsonObject(std::initializer_list<JsonMember> members);

  const Json* Find(std::string_view key) const;
  Json* Find(std::string_view key);
  bool contains(std::string_view key) const { return Find(key) != nullptr; }
  // The member with that key, made null at the end when absent.
  Json& operator[](std::string_view key);
  // Adds a member without looking for the key; the caller knows that it is new.
  void Append(std::string key, Json value);
  bool Erase(std::string_view key);

  std::size_t size() const;
  bool empty() const;
  const JsonMember* begin() const;
  const JsonMember* end() const;
  JsonMember* begin();
  JsonMember* end();

 private:
  std::vector<JsonMember> members_;
};

class Json {
 public:
  enum class Type : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  Json() = default;
  Json(std::nullptr_t) {}                                  // NOLINT(google-explicit-constructor)
  Json(bool value) : value_(value) {}                      // NOLINT(google-explicit-constructor)
  Json(int value) : value_(std::int64_t{value}) {}         // NOLINT(google-explicit-constructor)
  Json(std::int64_t value) : value_(value) {}              // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  Json(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(std::string value) : value_(std::move(value)) {}    // NOLINT(google-explicit-constructor)
  Json(std::string_view value)                             // NOLINT(google-explicit-constructor)
      : value_(std::string(value)) {}
  Json(JsonArray value) : value_(std::move(value)) {}   // NOLINT(google-explicit-constructor)
  Json(JsonObject value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  // Counts and sizes; values above int64's range are a CHECK (none of ours come near it).
  static Json Count(std::uint64_t value);
  static Json Strings(const std::vector<std::string>& values);

  Type type() const { return static_cast<Type>(value_.index()); }
  bool is_null() const { return type() == Type::kNull; }
  bool is_number() const { return type() == Type::kInt || type() == Type::kDouble; }

  // Null when the value is of another type. AsDouble takes both number types.
  const bool* AsBool() const { return std::get_if<bool>(&value_); }
  const std::int64_t* AsInt() const { return std::get_if<std::int64_t>(&value_); }
  std::optional<double> AsDouble() const;
  const std::string* AsString() const { return std::get_if<std::string>(&value_); }
  const JsonArray* AsArray() const { return std::get_if<JsonArray>(&value_); }
  const JsonObject* AsObject() const { return std::get_if<JsonObject>(&value_); }
  JsonArray* AsArray() { return std::get_if<JsonArray>(&value_); }
  JsonObject* AsObject() { return std::get_if<JsonObject>(&value_); }

  // Member of an object; null when this is no object or has no such key.
  const Json* Find(std::string_view key) const;
  // Value behind a dotted path of object keys ("latency.median_s"); null when absent.
  const Json* FindPath(std::string_view dotted_path) const;

  // Shortcuts for records that Pawl wrote itself: fallback when absent or of another type.
  std::string StringAt(std::string_view key, std::string_view fallback = {}) const;
  std::int64_t IntAt(std::string_view key, std::int64_t fallback = 0) const;
  double DoubleAt(std::string_view key, double fallback = 0) const;
  bool BoolAt(std::string_view key, bool fallback = false) const;

  // One line, keys sorted bytewise, shortest round-trip numbers: equal values give equal bytes.
  // Non-finite numbers are written as null.
  std::string Canonical() const;
  // Two-blank indent, keys sorted when `sort_keys`, non-ASCII escaped, final line break (the form
  // dit-ar writes).
  std::string Pretty(bool sort_keys = true) const;
  // One line in stored key order.
  std::string Compact() const;

  friend bool operator==(const Json& a, const Json& b);

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, JsonArray, JsonObject>
      value_;
};

inline std::size_t JsonObject::size() const {
  return members_.size();
}
inline bool JsonObject::empty() const {
  return members_.empty();
}
inline const JsonMember* JsonObject::begin() const {
  return members_.data();
}
inline const JsonMember* JsonObject::end() const {
  return members_.data() + members_.size();
}
inline JsonMember* JsonObject::begin() {
  return members_.data();
}
inline JsonMember* JsonObject::end() {
  return members_.data() + members_.size();
}

// "number", "text", "list", ... as used in messages: what a person calls the type.
std::string_view TypeName(Json::Type type);

struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  int max_depth = 64;
  // NaN, Infinity and -Infinity as Python writes them; only for reading files of dit-ar.
  bool allow_non_finite = false;
};

// Parses one JSON text (UTF-8, no byte-order mark). Refused, each with `source:line:column`:
// syntax errors, doubled keys, depth and size over the limit, invalid UTF-8, numbers that overflow
// a double. Integers outside int64 become doubles.
Result<Json> ParseJson(std::string_view text, std::string_view source,
                       const JsonLimits& limits = {});

// Parses TOML into the same type. Dates are refused. Errors carry `source:line:column`.
Result<Json> ParseToml(std::string_view text, std::string_view source,
                       const JsonLimits& limits = {});

// Shortest text that reads back as the same double; whole numbers keep ".0" as Python prints them.
std::string FormatDouble(double value);

}  // namespace pawl
