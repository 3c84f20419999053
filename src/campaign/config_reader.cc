#include "campaign/config_reader.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pawl::campaign {
namespace {

// Whole numbers that a double holds exactly.
constexpr double kExactLimit = 9007199254740992.0;

std::string QuotedList(const std::vector<std::string_view>& words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += ", ";
    AppendFormat(list, "`{}`", word);
  }
  return list;
}

bool IsComment(std::string_view key) {
  return key.starts_with('_') || key.starts_with('$') || key.starts_with("x-");
}

}  // namespace

void IssueList::Add(std::string_view key, std::string message, bool fatal) {
  std::string where = key.empty() ? file_ : Format("{}: {}", file_, PrintableLine(key));
  issues_.push_back({std::move(where), std::move(message), fatal});
}

bool IssueList::has_problems() const {
  return std::any_of(issues_.begin(), issues_.end(), [](const ConfigIssue& i) { return i.fatal; });
}

std::vector<std::string> IssueList::ProblemLines() const {
  std::vector<std::string> lines;
  for (const ConfigIssue& issue : issues_) {
    if (issue.fatal) lines.push_back(Format("- {}: {}", issue.where, issue.message));
  }
  return lines;
}

std::vector<ConfigIssue> IssueList::Notes() const {
  std::vector<ConfigIssue> notes;
  std::copy_if(issues_.begin(), issues_.end(), std::back_inserter(notes),
               [](const ConfigIssue& issue) { return !issue.fatal; });
  return notes;
}

std::string ConfigReader::Name(std::string_view key) const {
  return prefix_.empty() ? std::string(key) : Format("{}.{}", prefix_, key);
}

const Json* ConfigReader::Raw(std::string_view key) {
  known_.emplace_back(key);
  return object_ == nullptr ? nullptr : object_->Find(key);
}

void ConfigReader::Mistyped(std::string_view key, std::string_view expected, const Json& value) {
  issues_.Problem(Name(key), Format("expected {}, got {}", expected, TypeName(value.type())));
}

void ConfigReader::RefuseWord(std::string_view key, std::string_view word,
                              const std::vector<std::string_view>& known) {
  const auto near = Nearest(word, known);
  issues_.Problem(Name(key), Format("unknown word `{}`; {}", PrintableLine(word, 60),
                                    near ? Format("did you mean `{}`?", *near)
                                         : Format("expected {}", QuotedList(known))));
}

std::optional<std::string> ConfigReader::OptionalText(std::string_view key) {
  const Json* value = Raw(key);
  if (value == nullptr) return std::nullopt;
  const std::string* text = value->AsString();
  if (text == nullptr) {
    Mistyped(key, "text", *value);
    return std::nullopt;
  }
  if (text->find('\0') != std::string::npos) {
    issues_.Problem(Name(key), "the text holds a zero byte");
    return std::nullopt;
  }
  return *text;
}

std::string ConfigReader::Text(std::string_view key, std::string_view fallback) {
  const std::optional<std::string> text = OptionalText(key);
  if (!text) return std::string(fallback);
  if (Trim(*text).empty()) {
    issues_.Problem(Name(key), "the text is empty");
    return std::string(fallback);
  }
  return *text;
}

bool ConfigReader::Bool(std::string_view key, bool fallback) {
  const Json* value = Raw(key);
  if (value == nullptr) return fallback;
  if (const bool* truth = value->AsBool()) return *truth;
  Mistyped(key, "true or false", *value);
  return fallback;
}

std::optional<double> ConfigReader::OptionalAmount(std::string_view key) {
  const Json* value = Raw(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = value->AsDouble();
  if (!number) {
    Mistyped(key, "a number", *value);
    return std::nullopt;
  }
  if (!std::isfinite(*number) || *number < 0) {
    issues_.Problem(Name(key), Format("must be finite and not below 0, got {}", FormatG(*number)));
    return std::nullopt;
  }
  return number;
}

double ConfigReader::Amount(std::string_view key, double fallback) {
  return OptionalAmount(key).value_or(fallback);
}

std::int64_t ConfigReader::Whole(std::string_view key, std::int64_t fallback, std::int64_t least,
                                 std::int64_t most) {
  const Json* value = Raw(key);
  if (value == nullptr) return fallback;
  const std::optional<double> number = value->AsDouble();
  if (!number) {
    Mistyped(key, "a whole number", *value);
    return fallback;
  }
  if (*number != std::floor(*number) || std::abs(*number) > kExactLimit) {
    issues_.Problem(Name(key), Format("must be a whole number, got {}", FormatG(*number)));
    return fallback;
  }
  const auto whole = static_cast<std::int64_t>(*number);
  if (whole < least || whole > most) {
    issues_.Problem(Name(key), Format("must be from {} to {}, got {}", least, most, whole));
    return fallback;
  }
  return whole;
}

std::vector<std::string> ConfigReader::Texts(std::string_view key) {
  const Json* value = Raw(key);
  if (value == nullptr) return {};
  const JsonArray* array = value->AsArray();
  if (array == nullptr) {
    Mistyped(key, "a list of texts", *value);
    return {};
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const std::string* text = (*array)[i].AsString();
    if (text == nullptr) {
      Mistyped(Format("{}[{}]", key, i), "text", (*array)[i]);
    } else if (Trim(*text).empty() || text->find('\0') != std::string::npos) {
      issues_.Problem(Name(Format("{}[{}]", key, i)), "the text is empty or holds a zero byte");
    } else {
      texts.push_back(*text);
    }
  }
  return texts;
}

std::vector<std::string> ConfigReader::TextOrTexts(std::string_view key,
                                                   std::string_view fallback) {
  const Json* value = object_ == nullptr ? nullptr : object_->Find(key);
  if (value == nullptr || value->AsString() != nullptr) return {Text(key, fallback)};
  return Texts(key);
}

ConfigReader ConfigReader::Section(std::string_view key) {
  const Json* value = Raw(key);
  const JsonObject* object = value == nullptr ? nullptr : value->AsObject();
  if (value != nullptr && object == nullptr) Mistyped(key, "an object", *value);
  return {object, Name(key), issues_};
}

void ConfigReader::RefuseUnknown() {
  if (object_ == nullptr) return;
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  for (const auto& [key, value] : *object_) {
    if (IsComment(key) || std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto near = Nearest(key, known);
    issues_.Problem(Name(key), near ? Format("unknown key; did you mean `{}`?", *near)
                                    : Format("unknown key; known here are {}", QuotedList(known)));
  }
}

}  // namespace pawl::campaign
