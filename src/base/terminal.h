// The one place that knows whether somebody is watching: colours and a live status line on a
// terminal, plain lines otherwise. The library below the CLI never prints. One thread at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace pawl {

enum class Tone : std::uint8_t { kPlain, kGood, kBad, kWarn, kDim, kBold };

class Terminal {
 public:
  // Colour and live line only when `out` is a terminal, TERM is not "dumb" and NO_COLOR is unset.
  explicit Terminal(std::FILE* out);

  bool interactive() const { return interactive_; }
  int width() const { return width_; }

  // The text wrapped in the tone's escape codes where colours are on.
  std::string Paint(Tone tone, std::string_view text) const;

  // Prints a line and a line break; a live line on the screen is kept below it.
  void Line(std::string_view text);
  // Replaces the live line (cut to the width); does nothing when not interactive.
  void Live(std::string_view text);
  void ClearLive();

 private:
  void Write(std::string_view bytes);

  std::FILE* out_;
  bool interactive_ = false;
  bool colour_ = false;
  int width_ = 100;
  std::string live_;
};

}  // namespace pawl
