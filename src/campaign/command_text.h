// The place-holders of harness commands, in the brace format of Python that dit-ar's configs use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::campaign {

// A command cut at its place-holders: text, name, text, name, ..., text.
struct CommandText {
  std::vector<std::string> texts;  // one more than names; `{{` and `}}` already unescaped
  std::vector<std::string> names;  // "root", "run_dir", "setup_dir", "seed"
};

// Refuses unknown place-holders, conversions and single braces, each with what to write instead.
Result<CommandText> ParseCommandText(std::string_view command);

}  // namespace pawl::campaign
