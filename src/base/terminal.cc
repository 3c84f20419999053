#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace pawl {

namespace {

constexpr int kDefaultWidth = 100;
constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string_view EscapeOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return {};
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kWarn:
      return "\x1b[33m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kBold:
      return "\x1b[1m";
  }
  return {};
}

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing calls setenv
  return value == nullptr ? std::string_view() : value;
}

int WidthOf(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultWidth;
  return size.ws_col;
}

// The longest prefix that takes at most `width` columns; escape codes are kept whole.
std::string CutToWidth(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    if (text.substr(at, 2) == "\x1b[") {
      const std::size_t end = text.find_first_of(
          "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~", at + 2);
      length = end == std::string_view::npos ? text.size() - at : end + 1 - at;
    } else {
      length = DecodeUtf8(text, at).length;
    }
    const std::string_view piece = text.substr(at, length);
    if (DisplayWidth(out) + DisplayWidth(piece) > width) break;
    out += piece;
    at += length;
  }
  if (out.find('\x1b') != std::string::npos) out += kReset;
  return out;
}

}  // namespace

Terminal::Terminal(std::FILE* out) : out_(out) {
  const int descriptor = fileno(out);
  interactive_ = isatty(descriptor) == 1 && Environment("TERM") != "dumb";
  colour_ = interactive_ && Environment("NO_COLOR").empty();
  if (interactive_) width_ = WidthOf(descriptor);
}

std::string Terminal::Paint(Tone tone, std::string_view text) const {
  const std::string_view escape = EscapeOf(tone);
  if (!colour_ || escape.empty()) return std::string(text);
  return std::string(escape) + std::string(text) + std::string(kReset);
}

void Terminal::Line(std::string_view text) {
  std::string bytes;
  if (!live_.empty()) bytes += kEraseLine;
  bytes += text;
  bytes += '\n';
  bytes += live_;
  Write(bytes);
}

void Terminal::Live(std::string_view text) {
  if (!interactive_) return;
  width_ = WidthOf(fileno(out_));
  // One column stays free: a full line would wrap and could not be erased.
  live_ = CutToWidth(text, static_cast<std::size_t>(std::max(width_ - 1, 1)));
  Write(std::string(kEraseLine) + live_);
}

void Terminal::ClearLive() {
  if (live_.empty()) return;
  live_.clear();
  Write(kEraseLine);
}

void Terminal::Write(std::string_view bytes) {
  // A closed terminal or pipe must not fail the work that is being reported.
  if (std::fwrite(bytes.data(), 1, bytes.size(), out_) == bytes.size()) std::fflush(out_);
}

}  // namespace pawl
