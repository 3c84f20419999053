// Markdown cut at its headings: sections come in order, and every line of the text is a line of a
// body, a heading, the underline of one, or blank.
#include <algorithm>
#include <vector>

#include "input.h"
#include "memory/markdown.h"

namespace {

using pawl::memory::Section;

std::vector<std::string_view> LinesOf(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string_view> lines = pawl::Split(text, '\n');
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

// A line that may stand between bodies: nothing, marks without a text, or the heading itself.
bool IsHeadingLine(std::string_view line, std::string_view heading) {
  line = pawl::Trim(line);
  return line.empty() || line.starts_with('#') || line == heading ||
         line.find_first_not_of('=') == std::string_view::npos;
}

std::vector<std::string_view> BodyLines(const Section& section) {
  if (section.body.empty()) return {};
  PAWL_CHECK(section.body.back() == '\n');
  return pawl::Split(std::string_view(section.body).substr(0, section.body.size() - 1), '\n');
}

bool StandsAt(const std::vector<std::string_view>& body, const std::vector<std::string_view>& lines,
              std::size_t at) {
  return at + body.size() <= lines.size() &&
         std::equal(body.begin(), body.end(), lines.begin() + static_cast<std::ptrdiff_t>(at));
}

// Where the body begins: at once, below "# Heading", or below a heading and its underline.
std::size_t PlaceOf(const Section& section, const std::vector<std::string_view>& body,
                    const std::vector<std::string_view>& lines) {
  const auto first = static_cast<std::size_t>(section.line) - 1;
  if (section.heading.empty()) return StandsAt(body, lines, first) ? first : first + 1;
  return first + (pawl::Trim(lines[first]) == section.heading ? 2 : 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pawl::fuzz::TextOf(data, size);
  const pawl::memory::MarkdownDocument document = pawl::memory::SplitMarkdown(text, "notes");
  PAWL_CHECK(!document.title.empty());
  const std::vector<std::string_view> lines = LinesOf(text);
  std::size_t next = 0;
  int last_line = 0;
  for (const Section& section : document.sections) {
    PAWL_CHECK(section.line > last_line && static_cast<std::size_t>(section.line) <= lines.size());
    PAWL_CHECK(section.heading.find('\n') == std::string::npos);
    PAWL_CHECK(section.heading.empty() || lines[static_cast<std::size_t>(section.line) - 1].find(
                                              section.heading) != std::string_view::npos);
    last_line = section.line;
    const std::vector<std::string_view> body = BodyLines(section);
    const std::size_t place = PlaceOf(section, body, lines);
    PAWL_CHECK(place >= next && StandsAt(body, lines, place));
    for (; next < place; ++next) PAWL_CHECK(IsHeadingLine(lines[next], section.heading));
    next = place + body.size();
  }
  for (; next < lines.size(); ++next) PAWL_CHECK(IsHeadingLine(lines[next], ""));
  return 0;
}
