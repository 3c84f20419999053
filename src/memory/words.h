// Words of any script, folded for search: case, accents, width and ligatures are evened out, and
// runs of scripts without blanks (Chinese, Japanese, Korean, Thai, ...) become overlapping pairs of
// characters. The index and every query go through the same code.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::memory {

struct Word {
  std::string folded;     // lower case, no marks; a pair of characters in scripts without blanks
  std::size_t begin = 0;  // bytes in the source
  std::size_t end = 0;
  bool paired = false;  // of a script without blanks
  bool single = false;  // the last character of such a run, alone
};

// Never fails: malformed bytes, punctuation, symbols and emoji only separate words.
std::vector<Word> WordsOf(std::string_view text);

// The folded words with blanks between: what the full-text index stores.
std::string FoldedText(std::string_view text);

}  // namespace pawl::memory
