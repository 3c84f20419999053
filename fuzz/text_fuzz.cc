// Foreign text on its way to a terminal, a record or a shell: Printable and PrintableLine, JSON
// texts, ShellQuote, and the number readers.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/json.h"
#include "input.h"

namespace {

using pawl::CodePoint;

// Written apart from text.cc, from what the Unicode standard says about each.
bool TakesOverTerminal(std::uint32_t point) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr std::array kRanges = {
      Range{0x00, 0x08},      Range{0x0b, 0x1f},      // C0 but tab and line break
      Range{0x7f, 0x9f},                              // DEL, C1
      Range{0x61c, 0x61c},    Range{0x200e, 0x200f},  // direction marks
      Range{0x202a, 0x202e},  Range{0x2066, 0x2069},  // embeddings, overrides, isolates
      Range{0x2028, 0x2029},                          // line and paragraph separators
      Range{0x200b, 0x200d},  Range{0x2060, 0x2064},  // nothing to be seen
      Range{0xfeff, 0xfeff},  Range{0xad, 0xad},      //
      Range{0xe0000, 0xe007f}};
  return std::any_of(kRanges.begin(), kRanges.end(), [point](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

void CheckHarmless(std::string_view shown) {
  for (std::size_t at = 0; at < shown.size();) {
    const CodePoint point = pawl::DecodeUtf8(shown, at);
    PAWL_CHECK(point.valid && !TakesOverTerminal(point.value));
    at += point.length;
  }
}

void CheckShown(std::string_view text, std::size_t limit) {
  const std::string lines = pawl::Printable(text, limit);
  CheckHarmless(lines);
  for (const std::string_view line : pawl::Split(lines, '\n')) PAWL_CHECK(line.size() <= limit);
  PAWL_CHECK(pawl::Printable(lines, limit) == lines);

  const std::string line = pawl::PrintableLine(text, limit);
  CheckHarmless(line);
  PAWL_CHECK(line.size() <= limit && line.find_first_of("\n\t") == std::string::npos);
  PAWL_CHECK(pawl::PrintableLine(line, limit) == line);
}

// What a shell makes of one quoted word; empty brackets where it would see more than one word.
std::vector<std::string> Unquoted(std::string_view quoted) {
  std::vector<std::string> words(1);
  bool inside = false;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    const char byte = quoted[i];
    if (byte == '\'') {
      inside = !inside;
    } else if (inside) {
      words.back() += byte;
    } else if (byte == '\\' && i + 1 < quoted.size()) {
      words.back() += quoted[++i];
    } else if (std::isalnum(static_cast<unsigned char>(byte)) != 0 ||
               std::string_view("_@%+=:,./-").find(byte) != std::string_view::npos) {
      words.back() += byte;
    } else {
      return {};  // a shell would do something with it
    }
  }
  if (inside) return {};
  return words;
}

void CheckNumbers(std::string_view text) {
  const auto whole = pawl::ParseInt(text);
  const auto real = pawl::ParseDouble(text);
  if (whole && text.size() < 16) PAWL_CHECK(pawl::Format("{}", *whole).size() <= text.size());
  if (!real) return;
  PAWL_CHECK(std::isfinite(*real));
  PAWL_CHECK(pawl::ParseDouble(pawl::FormatDouble(*real)) == real);
  CheckHarmless(pawl::FormatSeconds(*real));
  CheckHarmless(pawl::FormatG(*real));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte is the limit, so that cuts fall everywhere.
  const std::size_t limit = size == 0 ? 0 : data[0];
  const std::string_view text =
      pawl::fuzz::TextOf(data, size).substr(std::min<std::size_t>(1, size));
  CheckShown(text, limit);
  CheckShown(text, 8 * text.size() + 3);

  const pawl::Json value = pawl::JsonObject{{"text", text}};
  const auto again = pawl::ParseJson(value.Canonical(), "written");
  PAWL_CHECK(again.ok());
  if (pawl::IsValidUtf8(text)) PAWL_CHECK(again->StringAt("text") == text);

  PAWL_CHECK(Unquoted(pawl::ShellQuote(text)) == std::vector<std::string>{std::string(text)});
  CheckNumbers(text);
  CheckNumbers(pawl::Trim(text));
  const std::array<std::string_view, 3> known = {"baseline", "experiment", "verify"};
  const auto near = pawl::Nearest(text.substr(0, 64), known);
  PAWL_CHECK(!near || std::find(known.begin(), known.end(), *near) != known.end());
  PAWL_CHECK(pawl::DisplayWidth(text) <= 2 * text.size());
  return 0;
}
