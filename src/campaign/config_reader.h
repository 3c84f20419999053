// Reads typed values out of a config's JSON and collects every problem instead of stopping at the
// first. A key that nobody asked for is unknown, so the list of known keys is never written twice.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "campaign/config.h"

namespace pawl::campaign {

class IssueList {
 public:
  explicit IssueList(std::string file) : file_(std::move(file)) {}
  void Problem(std::string_view key, std::string message) { Add(key, std::move(message), true); }
  void Note(std::string_view key, std::string message) { Add(key, std::move(message), false); }
  const std::vector<ConfigIssue>& issues() const { return issues_; }
  bool has_problems() const;
  // "- where: message" for every problem.
  std::vector<std::string> ProblemLines() const;
  std::vector<ConfigIssue> Notes() const;

 private:
  void Add(std::string_view key, std::string message, bool fatal);

  std::string file_;
  std::vector<ConfigIssue> issues_;
};

class ConfigReader {
 public:
  // `object` may be null: every key is absent then.
  ConfigReader(const JsonObject* object, std::string prefix, IssueList& issues)
      : object_(object), prefix_(std::move(prefix)), issues_(issues) {}

  // The full name of a key, as messages show it.
  std::string Name(std::string_view key) const;
  // The raw value; the key counts as known from now on. Null when absent.
  const Json* Raw(std::string_view key);
  bool has(std::string_view key) const { return object_ != nullptr && object_->contains(key); }

  std::string Text(std::string_view key, std::string_view fallback);
  std::optional<std::string> OptionalText(std::string_view key);
  bool Bool(std::string_view key, bool fallback);
  // Finite and not below zero.
  double Amount(std::string_view key, double fallback);
  std::optional<double> OptionalAmount(std::string_view key);
  // Fractions are refused, but 300.0 is whole.
  std::int64_t Whole(std::string_view key, std::int64_t fallback, std::int64_t least,
                     std::int64_t most);
  // A list of texts, none of them empty.
  std::vector<std::string> Texts(std::string_view key);
  // A text or a list of texts.
  std::vector<std::string> TextOrTexts(std::string_view key, std::string_view fallback);
  // Absent or ill-typed sections read as empty ones.
  ConfigReader Section(std::string_view key);

  template <class T>
  T Choice(std::string_view key, T fallback,
           std::initializer_list<std::pair<std::string_view, T>> words) {
    const std::optional<std::string> text = OptionalText(key);
    if (!text) return fallback;
    std::vector<std::string_view> names;
    for (const auto& [name, value] : words) {
      if (name == *text) return value;
      names.push_back(name);
    }
    RefuseWord(key, *text, names);
    return fallback;
  }

  // A problem for each key that was not asked for. Keys that start with `_`, `$` or `x-` are
  // comments.
  void RefuseUnknown();

  IssueList& issues() { return issues_; }
  const JsonObject* object() const { return object_; }

 private:
  void Mistyped(std::string_view key, std::string_view expected, const Json& value);
  void RefuseWord(std::string_view key, std::string_view word,
                  const std::vector<std::string_view>& known);

  const JsonObject* object_;
  std::string prefix_;
  IssueList& issues_;
  std::vector<std::string> known_;
};

}  // namespace pawl::campaign
