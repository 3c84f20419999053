#include "cli/options.h"

#include <algorithm>

#include "base/text.h"
#include "cli/verbs.h"

namespace pawl::cli {

namespace {

Error Usage(std::string message, std::string hint) {
  return MakeError(Code::kInvalidArgument, std::move(message), std::move(hint));
}

// Help may be asked for anywhere; --json is understood after every verb as well as before it.
const std::vector<Option>& CommonOptions() {
  static const std::vector<Option> options = {
      {"--help", "", "show this help and exit", "", {}, false},
      {"--json", "", "print one JSON document instead of text", "", {}, false},
  };
  return options;
}

std::vector<const Option*> AllOptions(const Verb& verb) {
  std::vector<const Option*> out;
  for (const Option& option : verb.options) out.push_back(&option);
  for (const Option& option : CommonOptions()) out.push_back(&option);
  return out;
}

// The option that `name` means: an exact match, or the only one that starts with it.
Result<const Option*> Resolve(std::span<const Option* const> options, std::string_view name,
                              std::string_view verb) {
  std::vector<const Option*> matches;
  for (const Option* option : options) {
    if (option->name == name) return option;
    if (option->name.starts_with(name)) matches.push_back(option);
  }
  if (matches.size() == 1) return matches.front();
  if (!matches.empty()) {
    std::vector<std::string> names;
    for (const Option* option : matches) names.emplace_back(option->name);
    return Usage(Format("ambiguous option: {} could match {}", name, Join(names, ", ")),
                 "write the option out");
  }
  std::vector<std::string_view> known;
  for (const Option* option : options) known.push_back(option->name);
  std::string hint = Format("`pawl {} --help` lists the options", verb);
  if (const auto near = Nearest(name, known)) hint = Format("did you mean {}?", *near);
  return Usage(Format("{}: unrecognized argument: {}", verb, PrintableLine(name)), hint);
}

}  // namespace

std::string Arguments::Get(std::string_view option) const {
  if (const auto it = values_.find(option); it != values_.end()) return it->second;
  const auto it = fallbacks_.find(option);
  return it == fallbacks_.end() ? std::string() : it->second;
}

Result<std::int64_t> Arguments::GetInt(std::string_view option) const {
  const std::string text = Get(option);
  if (const auto value = ParseInt(text)) return *value;
  return Usage(Format("argument {}: invalid int value: '{}'", option, PrintableLine(text)),
               "give a whole number");
}

// Fills Arguments from a verb's part of the command line.
struct Parser {
  const Verb& verb;
  std::span<const std::string> arguments;
  std::vector<const Option*> options;
  Arguments out;

  Status TakeOption(std::size_t& index) {
    const std::string& argument = arguments[index];
    const std::size_t equals = argument.find('=');
    const std::string name = argument == "-h" ? "--help" : argument.substr(0, equals);
    PAWL_ASSIGN(const Option* option, Resolve(options, name, verb.name));
    std::string value;
    if (option->value.empty()) {
      if (equals != std::string::npos) {
        return Usage(Format("argument {}: takes no value", option->name), "leave out the = part");
      }
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (index + 1 < arguments.size() && !LooksLikeOption(arguments[index + 1])) {
      value = arguments[++index];
    } else {
      return Usage(Format("argument {}: expected one argument", option->name),
                   Format("{} {}: {}", option->name, option->value, option->help));
    }
    if (!option->choices.empty() &&
        std::ranges::find(option->choices, value) == option->choices.end()) {
      std::vector<std::string> names(option->choices.begin(), option->choices.end());
      return Usage(Format("argument {}: invalid choice: '{}' (choose from {})", option->name,
                          PrintableLine(value), Join(names, ", ")),
                   {});
    }
    out.values_[std::string(option->name)] = std::move(value);
    return OkStatus();
  }

  // A negative number is a value, as for argparse.
  static bool LooksLikeOption(std::string_view argument) {
    return argument.size() > 1 && argument[0] == '-' && !ParseDouble(argument).has_value();
  }

  Result<Arguments> Parse() {
    for (const Option* option : options)
      out.fallbacks_[std::string(option->name)] = option->fallback;
    bool only_positionals = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!only_positionals && arguments[i] == "--") {
        only_positionals = true;
      } else if (!only_positionals && LooksLikeOption(arguments[i])) {
        PAWL_TRY(TakeOption(i));
      } else {
        out.positionals_.push_back(arguments[i]);
      }
    }
    if (out.Has("--help")) return std::move(out);
    return Checked();
  }

  Result<Arguments> Checked() {
    const std::string hint = Format("`pawl {} --help` shows the usage", verb.name);
    if (out.positionals_.size() < verb.positionals.size()) {
      return Usage(Format("{}: the following arguments are required: {}", verb.name,
                          verb.positionals[out.positionals_.size()].name),
                   hint);
    }
    if (out.positionals_.size() > verb.positionals.size()) {
      return Usage(Format("{}: unrecognized argument: {}", verb.name,
                          PrintableLine(out.positionals_[verb.positionals.size()])),
                   hint);
    }
    for (const Option* option : options) {
      if (option->required && !out.Has(option->name)) {
        return Usage(
            Format("{}: the following arguments are required: {}", verb.name, option->name), hint);
      }
    }
    return std::move(out);
  }
};

Result<Arguments> ParseVerb(const Verb& verb, std::span<const std::string> arguments) {
  Parser parser{verb, arguments, AllOptions(verb), {}};
  return parser.Parse();
}

Result<GlobalArguments> ParseGlobal(std::span<const std::string> arguments) {
  static const std::vector<Option> kGlobal = {
      {"--config", "FILE", "configuration, JSON or TOML", "", {}, false},
      {"--json", "", "", "", {}, false},
      {"--help", "", "", "", {}, false},
      {"--version", "", "", "", {}, false},
  };
  std::vector<const Option*> options;
  for (const Option& option : kGlobal) options.push_back(&option);
  GlobalArguments out;
  while (out.used < arguments.size() && arguments[out.used].starts_with("-")) {
    const std::string& argument = arguments[out.used++];
    const std::size_t equals = argument.find('=');
    const std::string name = argument == "-h" ? "--help" : argument.substr(0, equals);
    PAWL_ASSIGN(const Option* option, Resolve(options, name, "VERB"));
    if (option->name == "--config") {
      if (equals == std::string::npos && out.used == arguments.size()) {
        return Usage("argument --config: expected one argument", "--config FILE VERB");
      }
      out.config =
          equals == std::string::npos ? arguments[out.used++] : argument.substr(equals + 1);
    }
    out.json |= option->name == "--json";
    out.help |= option->name == "--help";
    out.version |= option->name == "--version";
  }
  return out;
}

namespace {

std::string OptionLabel(const Option& option) {
  if (!option.choices.empty()) {
    std::vector<std::string> names(option.choices.begin(), option.choices.end());
    return Format("{} {{{}}}", option.name, Join(names, ","));
  }
  return option.value.empty() ? std::string(option.name)
                              : Format("{} {}", option.name, option.value);
}

void AppendEntry(std::string& out, std::string_view label, std::string_view help) {
  if (label.size() > 24) {
    AppendFormat(out, "  {}\n  {:24}{}\n", label, "", help);
  } else {
    AppendFormat(out, "  {:24}{}\n", label, help);
  }
}

}  // namespace

std::string VerbHelp(const Verb& verb, std::string_view program) {
  std::string out = Format("usage: {} [--config FILE] {}", program, verb.name);
  for (const Positional& positional : verb.positionals) AppendFormat(out, " {}", positional.name);
  for (const Option& option : verb.options) {
    const std::string label = OptionLabel(option);
    out += option.required ? " " + label : " [" + label + "]";
  }
  AppendFormat(out, "\n\n{}\n", verb.description);
  if (!verb.positionals.empty()) out += "\narguments:\n";
  for (const Positional& positional : verb.positionals) {
    AppendEntry(out, positional.name, positional.help);
  }
  out += "\noptions:\n";
  for (const Option* option : AllOptions(verb)) {
    std::string help(option->help);
    if (!option->fallback.empty()) AppendFormat(help, " (default: {})", option->fallback);
    AppendEntry(out, OptionLabel(*option), help);
  }
  return out;
}

std::string ProgramHelp(std::string_view program) {
  std::string out = Format(
      "usage: {} [--config FILE] [--json] VERB [options]\n\n"
      "Lets an agent, a tuner or a person improve a program unattended, and lets only real,\n"
      "measured, in-contract improvements through.\n\nverbs:\n",
      program);
  for (const Verb& verb : Verbs()) AppendEntry(out, verb.name, verb.summary);
  out += "\noptions:\n";
  AppendEntry(out, "--config FILE", "configuration (default: config/autoresearch.json)");
  AppendEntry(out, "--json", "print one JSON document instead of text");
  AppendEntry(out, "--version", "print the version and exit");
  AppendFormat(out,
               "\n`{} VERB --help` explains one verb. Exit codes: 0 ok or keep, 1 nothing found,\n"
               "2 usage or setup error, 3 refused.\n",
               program);
  return out;
}

}  // namespace pawl::cli
