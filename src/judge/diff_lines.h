// The changed lines of a unified diff as code: file names taken from the headers, hunks followed by
// their counts (so that an added line starting with "++" is not taken for a header), comments
// dropped by the rules of the file's language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::judge {

struct DiffLine {
  std::string_view file;  // new name, without "b/"; a part of the diff
  int line = 0;           // in the new file for added lines, in the old one for removed lines
  bool added = false;
  std::string code;  // without comments; string literals stay
};

// Files without code (.md, .rst, .txt, ...) are left out. Never fails: what is no diff gives
// nothing. Time and memory grow with the length alone, whatever a candidate puts into its lines.
// The result points into the diff.
std::vector<DiffLine> ChangedCode(std::string_view unified_diff);

}  // namespace pawl::judge
