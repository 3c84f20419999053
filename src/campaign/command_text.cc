#include "campaign/command_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "campaign/config.h"

namespace pawl::campaign {
namespace {

constexpr std::array<std::string_view, 4> kPlaceHolders = {"root", "run_dir", "setup_dir", "seed"};
constexpr std::string_view kBraceHint = "write {{ and }} for literal braces";

Error UnknownPlaceHolder(std::string_view name) {
  const auto near = Nearest(name, kPlaceHolders);
  const std::string guess = near ? Format("did you mean {{{}}}?", *near)
                                 : "known are {root}, {run_dir}, {setup_dir} and {seed}";
  return MakeError(Code::kInvalidArgument, Format("unknown place-holder {{{}}}; {}; {}",
                                                  PrintableLine(name, 40), guess, kBraceHint));
}

}  // namespace

Result<CommandText> ParseCommandText(std::string_view command) {
  CommandText parsed;
  std::string text;
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    const bool doubled = at + 1 < command.size() && command[at + 1] == c;
    if (c != '{' && c != '}') {
      text += c;
    } else if (doubled) {
      text += c;
      ++at;
    } else if (c == '}') {
      return MakeError(Code::kInvalidArgument,
                       Format("single `}}` at character {}; {}", at + 1, kBraceHint));
    } else {
      const auto close = command.find('}', at);
      if (close == std::string_view::npos)
        return MakeError(Code::kInvalidArgument,
                         Format("single `{{` at character {}; {}", at + 1, kBraceHint));
      const std::string_view name = command.substr(at + 1, close - at - 1);
      if (std::find(kPlaceHolders.begin(), kPlaceHolders.end(), name) == kPlaceHolders.end())
        return UnknownPlaceHolder(name);
      parsed.texts.push_back(std::move(text));
      parsed.names.emplace_back(name);
      text.clear();
      at = close;
    }
  }
  parsed.texts.push_back(std::move(text));
  return parsed;
}

Result<std::string> FillCommand(std::string_view command, const PlaceHolders& values) {
  PAWL_ASSIGN(const CommandText parsed, ParseCommandText(command));
  std::string filled = parsed.texts.front();
  for (std::size_t i = 0; i < parsed.names.size(); ++i) {
    const std::string& name = parsed.names[i];
    if (name == "root") filled += values.root;
    if (name == "run_dir") filled += values.run_dir;
    if (name == "setup_dir") filled += values.setup_dir;
    if (name == "seed") filled += values.seed;
    filled += parsed.texts[i + 1];
  }
  return filled;
}

}  // namespace pawl::campaign
