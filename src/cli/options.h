// The command line as one table: parsing, help pages and shell completion come from the same data.
// Behaves like Python's argparse where dit-ar's users may rely on it: options may be abbreviated
// when unambiguous, `--name value` and `--name=value` are equal, usage errors exit with 2.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::cli {

struct Option {
  std::string_view name;   // "--limit"
  std::string_view value;  // "N"; empty for a flag
  std::string_view help;
  std::string_view fallback;  // shown in the help and returned when absent
  std::vector<std::string_view> choices;
  bool required = false;
};

struct Positional {
  std::string_view name;  // "QUERY"
  std::string_view help;
};

class Arguments {
 public:
  bool Has(std::string_view option) const { return values_.contains(option); }
  // The given value or the option's fallback.
  std::string Get(std::string_view option) const;
  // kInvalidArgument when the value is no whole number.
  Result<std::int64_t> GetInt(std::string_view option) const;
  const std::string& positional(std::size_t index) const { return positionals_.at(index); }

 private:
  friend struct Parser;
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> fallbacks_;
  std::vector<std::string> positionals_;
};

// What stands before the verb, and where it ends.
struct GlobalArguments {
  std::string config;  // empty: the default places
  bool json = false;
  bool help = false;
  bool version = false;
  std::size_t used = 0;  // arguments taken
};
Result<GlobalArguments> ParseGlobal(std::span<const std::string> arguments);

struct Verb;  // verbs.h
Result<Arguments> ParseVerb(const Verb& verb, std::span<const std::string> arguments);

// The help page of one verb, and of the program.
std::string VerbHelp(const Verb& verb, std::string_view program);
std::string ProgramHelp(std::string_view program);

}  // namespace pawl::cli
