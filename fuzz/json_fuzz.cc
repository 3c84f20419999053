// The JSON reader and writers: what is read is written and read again as the same value, and
// another reader agrees on every text but those that Pawl refuses by name.
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "input.h"

namespace {

using pawl::Json;
using Other = nlohmann::json;

bool SameNumber(const Json& ours, const Other& theirs) {
  if (!theirs.is_number()) return false;
  const std::int64_t* whole = ours.AsInt();
  if (whole != nullptr && theirs.is_number_integer()) return theirs.get<std::int64_t>() == *whole;
  // Whole numbers beyond 64 bits, and -0.
  return whole == nullptr && theirs.get<double>() == *ours.AsDouble();
}

bool Same(const Json& ours, const Other& theirs);

bool SameArray(const pawl::JsonArray& ours, const Other& theirs) {
  if (!theirs.is_array() || theirs.size() != ours.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!Same(ours[i], theirs[i])) return false;
  }
  return true;
}

bool SameObject(const pawl::JsonObject& ours, const Other& theirs) {
  if (!theirs.is_object() || theirs.size() != ours.size()) return false;
  for (const auto& [key, value] : ours) {
    if (!theirs.contains(key) || !Same(value, theirs[key])) return false;
  }
  return true;
}

bool Same(const Json& ours, const Other& theirs) {
  switch (ours.type()) {
    case Json::Type::kNull:
      return theirs.is_null();
    case Json::Type::kBool:
      return theirs.is_boolean() && theirs.get<bool>() == *ours.AsBool();
    case Json::Type::kInt:
    case Json::Type::kDouble:
      return SameNumber(ours, theirs);
    case Json::Type::kString:
      return theirs.is_string() && theirs.get<std::string>() == *ours.AsString();
    case Json::Type::kArray:
      return SameArray(*ours.AsArray(), theirs);
    case Json::Type::kObject:
      return SameObject(*ours.AsObject(), theirs);
  }
  return false;
}

// Where Pawl is stricter than JSON asks for.
bool IsOwnStrictness(std::string_view message) {
  constexpr std::array<std::string_view, 3> kRules = {
      "is given twice", "nested deeper than 64 levels", "starts with a byte-order mark"};
  for (const std::string_view rule : kRules) {
    if (message.find(rule) != std::string_view::npos) return true;
  }
  return false;
}

void CheckWritten(const Json& value, const std::string& written) {
  const pawl::Result<Json> again = pawl::ParseJson(written, "written");
  PAWL_CHECK(again.ok());
  PAWL_CHECK(*again == value);
  PAWL_CHECK(again->Canonical() == value.Canonical());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pawl::fuzz::TextOf(data, size);
  const pawl::Result<Json> parsed = pawl::ParseJson(text, "input");
  const Other theirs = Other::parse(text, nullptr, false);
  if (!parsed.ok()) {
    pawl::fuzz::CheckMessage(parsed.error(), "input:");
    // The other reader takes a zero byte for the end of the text.
    const bool cut = text.find('\0') != std::string_view::npos;
    PAWL_CHECK(theirs.is_discarded() || cut || IsOwnStrictness(parsed.error().message));
    return 0;
  }
  PAWL_CHECK(!theirs.is_discarded() && Same(*parsed, theirs));
  CheckWritten(*parsed, parsed->Canonical());
  CheckWritten(*parsed, parsed->Compact());
  CheckWritten(*parsed, parsed->Pretty(true));
  CheckWritten(*parsed, parsed->Pretty(false));
  return 0;
}
