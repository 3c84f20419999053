// Project paths as text: brought to one form, compared by exact components, never looked up on
// disk. The names that a commit may bring in are judged here too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::campaign {

// A path as written in a config, relative to the project root: backslashes become slashes (as
// dit-ar does), "./", doubled and trailing slashes go. Refused: nothing, absolute paths, "..", and
// the whole project.
Result<std::string> NormaliseRelative(std::string_view written);

// True when `path` is `scope` or lies below it. Both normalised; `scope` "" holds everything.
bool IsWithin(std::string_view path, std::string_view scope);
bool IsWithinAny(std::string_view path, const std::vector<std::string>& scopes);
bool Overlap(std::string_view a, std::string_view b);

// Why a path from a commit is refused ("name with control or invisible characters"), "" when it is
// plain. Blanks and letters of any script are plain.
std::string OddName(std::string_view path);

// Equal for names that some disk would take for one: case-folded, in one normal form.
std::string FoldName(std::string_view name);

}  // namespace pawl::campaign
