// The repository's Markdown files and the fenced blocks in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace pawl::docs {

struct Block {
  std::string file;      // below the repository's root
  int line = 0;          // of the opening fence
  std::string language;  // what stands behind the fence
  std::string text;      // lines, each with its end
  std::string Place() const;
};

os::Path Root();                       // of the repository
std::vector<std::string> Documents();  // every *.md that is the project's own
std::vector<Block> Blocks(std::string_view file);
// The block of `file` that starts with `first_words`; a block without text when there is none.
Block Find(std::string_view file, std::string_view first_words);
std::string Text(std::string_view file);
std::vector<std::string> Lines(std::string_view text);

}  // namespace pawl::docs
