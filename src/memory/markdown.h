// Markdown cut at its headings. Only what search needs: fenced code is respected, nothing else is
// interpreted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::memory {

struct Section {
  std::string heading;  // "" for text before the first heading
  int line = 1;         // of the heading; 1 for text before the first one
  std::string body;     // without the heading line
};

struct MarkdownDocument {
  std::string title;  // first "# " heading, else `fallback_title`
  std::vector<Section> sections;
};

// ATX headings (one to six #) and headings underlined with ===; "#" inside ``` or ~~~ is text.
MarkdownDocument SplitMarkdown(std::string_view text, std::string_view fallback_title);

}  // namespace pawl::memory
