// Text in and out: formatting, UTF-8, showing foreign bytes on a terminal without being taken over
// by them, numbers and paths as people type them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

template <class... Args>
std::string Format(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

template <class... Args>
void AppendFormat(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

struct CodePoint {
  std::uint32_t value = 0;  // U+FFFD for a malformed sequence
  std::size_t length = 1;   // bytes taken
  bool valid = true;
};
// The code point that starts at text[at]; at < text.size().
CodePoint DecodeUtf8(std::string_view text, std::size_t at);
bool IsValidUtf8(std::string_view text);
// Offset of the first malformed byte; nothing when all of the text is UTF-8.
std::optional<std::size_t> FindInvalidUtf8(std::string_view text);

// Appends the code point, which must be a scalar value, in UTF-8.
void AppendUtf8(std::string& out, std::uint32_t point);

// Foreign text made safe for a terminal or a report: control bytes (C0 but tab and line break, DEL,
// C1, escape sequences), bidirectional overrides, zero-width characters and malformed UTF-8 become
// visible escapes such as \x1b or \u202e; lines are cut at `max_line` bytes, "..." included.
std::string Printable(std::string_view foreign, std::size_t max_line = 400);
// The same on one line: line breaks and tabs become blanks, cut at `max_bytes`.
std::string PrintableLine(std::string_view foreign, std::size_t max_bytes = 200);

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts, std::string_view separator);
std::string_view Trim(std::string_view text);
std::string ToLowerAscii(std::string_view text);

// The known word nearest to `word` by edit distance, when near enough to be a slip of the keyboard.
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string_view> known);

// C's %g with 6 significant digits, as dit-ar prints values.
std::string FormatG(double value);
// "1.2 s", "340 ms", "12 us", "3 min 5 s": three significant digits in the unit that fits.
std::string FormatSeconds(double seconds);
std::string FormatBytes(std::uint64_t bytes);

std::optional<std::int64_t> ParseInt(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

std::string ToHex(std::span<const std::uint8_t> bytes);

// Shell quoting for messages and generated command lines ('...' where needed).
std::string ShellQuote(std::string_view word);

// Columns that the text takes on a terminal; colour codes take none.
std::size_t DisplayWidth(std::string_view text);

// A plain table: columns aligned, numbers right when `right[i]`; for terminal output.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading);
  void AddRow(std::vector<std::string> cells);
  void AlignRight(std::size_t column);
  std::string Render() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

}  // namespace pawl
