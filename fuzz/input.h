// What every fuzz target shares: the function that libFuzzer and corpus_main.cc call, and the few
// checks that several targets make. A broken property ends the process (PAWL_CHECK): whatever the
// input, it is a defect of Pawl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace pawl::fuzz {

inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The input cut at the first line break: a short choice, and the rest.
inline std::pair<std::string_view, std::string_view> CutLine(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + 1)};
}

// A terminal shows it as what it is: nothing hidden, nothing that moves the cursor.
inline bool IsPrintable(std::string_view text) {
  return Printable(text, text.size()) == text;
}

inline bool IsPrintableLine(std::string_view text) {
  return text.find_first_of("\n\t") == std::string_view::npos && IsPrintable(text);
}

// One printable sentence that begins with the name of what is at fault.
inline void CheckMessage(const Error& error, std::string_view named) {
  PAWL_CHECK(error.message.starts_with(named));
  PAWL_CHECK(IsPrintableLine(error.message));
  PAWL_CHECK(IsPrintable(error.hint));
}

}  // namespace pawl::fuzz
