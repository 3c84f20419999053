#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace pawl {

namespace {

constexpr std::string_view kEllipsis = "...";

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Characters that move the cursor, reorder or hide text. C0 and DEL are handled apart because tab
// and line break may pass.
constexpr std::array kHidden = {
    Range{0x80, 0x9f},        // C1 controls
    Range{0xad, 0xad},        // soft hyphen
    Range{0x34f, 0x34f},      // combining grapheme joiner
    Range{0x61c, 0x61c},      // Arabic letter mark
    Range{0x115f, 0x1160},    // Hangul fillers
    Range{0x17b4, 0x17b5},    // invisible Khmer vowels
    Range{0x180e, 0x180e},    // Mongolian vowel separator
    Range{0x200b, 0x200f},    // zero width, direction marks
    Range{0x2028, 0x202e},    // line separators, embeddings, overrides
    Range{0x2060, 0x206f},    // word joiner, isolates, deprecated format characters
    Range{0x3164, 0x3164},    // Hangul filler
    Range{0xfeff, 0xfeff},    // byte-order mark
    Range{0xffa0, 0xffa0},    // half-width Hangul filler
    Range{0xfff0, 0xfffb},    // unassigned specials, interlinear annotation
    Range{0xe0000, 0xe0fff},  // tags, variation selectors supplement
};

bool IsHidden(std::uint32_t point) {
  return std::any_of(kHidden.begin(), kHidden.end(), [point](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

// What one code point of foreign text looks like; `at` moves past it.
std::string VisibleForm(std::string_view text, std::size_t& at) {
  const CodePoint point = DecodeUtf8(text, at);
  const std::string_view raw = text.substr(at, point.length);
  at += point.length;
  if (!point.valid) return Format("\\x{:02x}", static_cast<unsigned char>(raw[0]));
  if (point.value < 0x20 || point.value == 0x7f) return Format("\\x{:02x}", point.value);
  if (!IsHidden(point.value)) return std::string(raw);
  return point.value > 0xffff ? Format("\\U{:08x}", point.value) : Format("\\u{:04x}", point.value);
}

// Collects one output line and cuts it, on a character boundary, at `limit` bytes.
class LineCutter {
 public:
  LineCutter(std::string& out, std::size_t limit) : out_(out), limit_(limit), start_(out.size()) {}

  void Add(std::string_view piece) {
    if (full_) return;
    if (length() + piece.size() > limit_) {
      full_ = true;
      out_.resize(start_ + room_for_ellipsis_);
      out_ += kEllipsis.substr(0, limit_);
      return;
    }
    out_ += piece;
    if (length() + kEllipsis.size() <= limit_) room_for_ellipsis_ = length();
  }
  void EndLine() {
    out_ += '\n';
    start_ = out_.size();
    room_for_ellipsis_ = 0;
    full_ = false;
  }

 private:
  std::size_t length() const { return out_.size() - start_; }

  std::string& out_;
  std::size_t limit_;
  std::size_t start_;
  std::size_t room_for_ellipsis_ = 0;  // longest prefix after which "..." still fits
  bool full_ = false;
};

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Three significant digits without an exponent, for values below 1000.
std::string ThreeDigits(double value) {
  return Format("{:.3g}", value);
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text, std::size_t at) {
  constexpr CodePoint kMalformed{.value = 0xfffd, .length = 1, .valid = false};
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {.value = lead};
  std::size_t length = 0;
  std::uint32_t value = 0;
  std::uint32_t smallest = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2, value = lead & 0x1fU, smallest = 0x80;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3, value = lead & 0x0fU, smallest = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4, value = lead & 0x07U, smallest = 0x10000;
  } else {
    return kMalformed;
  }
  if (text.size() - at < length) return kMalformed;
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[at + i])) return kMalformed;
    value = (value << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest || value > 0x10ffff || surrogate) return kMalformed;
  return {.value = value, .length = length};
}

std::optional<std::size_t> FindInvalidUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    if (!point.valid) return at;
    at += point.length;
  }
  return std::nullopt;
}

bool IsValidUtf8(std::string_view text) {
  return !FindInvalidUtf8(text).has_value();
}

void AppendUtf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | ((point >> shift) & 0x3fU));
  };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0U | (point >> 6U));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0U | (point >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0U | (point >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string Printable(std::string_view foreign, std::size_t max_line) {
  std::string out;
  LineCutter line(out, max_line);
  for (std::size_t at = 0; at < foreign.size();) {
    const bool crlf = foreign.substr(at, 2) == "\r\n";
    if (crlf || foreign[at] == '\n') {
      at += crlf ? 2 : 1;
      line.EndLine();
    } else if (foreign[at] == '\t') {
      ++at;
      line.Add("\t");
    } else {
      line.Add(VisibleForm(foreign, at));
    }
  }
  return out;
}

std::string PrintableLine(std::string_view foreign, std::size_t max_bytes) {
  std::string out;
  LineCutter line(out, max_bytes);
  for (std::size_t at = 0; at < foreign.size() && out.size() <= max_bytes;) {
    const char byte = foreign[at];
    if (byte == '\n' || byte == '\r' || byte == '\t') {
      ++at;
      line.Add(" ");
    } else {
      line.Add(VisibleForm(foreign, at));
    }
  }
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string ToLowerAscii(std::string_view text) {
  std::string out(text);
  for (char& byte : out) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return out;
}

std::optional<std::string> Nearest(std::string_view word, std::span<const std::string_view> known) {
  const std::string lower = ToLowerAscii(word);
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> best;
  for (const std::string_view candidate : known) {
    const std::size_t distance = EditDistance(lower, ToLowerAscii(candidate));
    // A distance of the whole word would turn "x" into any other single letter.
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

std::string FormatG(double value) {
  return Format("{:g}", value);
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + FormatSeconds(-seconds);
  // Each limit is where three digits would round up to 1000 of the unit (or 60 s).
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-9) return ThreeDigits(seconds * 1e9) + " ns";
  if (seconds < 999.5e-6) return ThreeDigits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return ThreeDigits(seconds * 1e3) + " ms";
  if (seconds < 59.95) return ThreeDigits(seconds) + " s";
  if (seconds > 1e15) return Format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return Format("{} min {} s", whole / 60, whole % 60);
  return Format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return Format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return Format("{} {}", ThreeDigits(value), kUnits[unit]);
}

std::optional<std::int64_t> ParseInt(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::string ToHex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xfU];
  }
  return out;
}

std::string ShellQuote(std::string_view word) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (const char byte : word) {
    if (byte == '\'') {
      out += "'\\''";
    } else {
      out += byte;
    }
  }
  out += '\'';
  return out;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    // ESC [ ... final byte, as Terminal::Paint writes it, takes no room.
    if (text.substr(at, 2) == "\x1b[") {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
      if (at < text.size()) ++at;
      continue;
    }
    const CodePoint point = DecodeUtf8(text, at);
    at += point.length;
    const bool wide = (point.value >= 0x1100 && point.value <= 0x115f) ||
                      (point.value >= 0x2e80 && point.value <= 0xa4cf) ||
                      (point.value >= 0xac00 && point.value <= 0xd7a3) ||
                      (point.value >= 0xf900 && point.value <= 0xfaff) ||
                      (point.value >= 0xfe30 && point.value <= 0xfe6f) ||
                      (point.value >= 0xff00 && point.value <= 0xff60) ||
                      (point.value >= 0x1f300 && point.value <= 0x1f9ff) ||
                      (point.value >= 0x20000 && point.value <= 0x3fffd);
    const bool combining = point.value >= 0x300 && point.value <= 0x36f;
    width += wide ? 2 : combining ? 0 : 1;
  }
  return width;
}

TextTable::TextTable(std::vector<std::string> heading) : right_(heading.size(), false) {
  rows_.push_back(std::move(heading));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(right_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::AlignRight(std::size_t column) {
  right_.at(column) = true;
}

std::string TextTable::Render() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string padding(widths[i] - DisplayWidth(row[i]), ' ');
      line += right_[i] ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line;
    out += '\n';
  }
  return out;
}

}  // namespace pawl
