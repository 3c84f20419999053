// Patches of a queue: the diff is the rest of the file from its first line on, and what is said
// about it is printable lines.
#include <algorithm>
#include <array>

#include "base/hash.h"
#include "input.h"
#include "propose/queue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = pawl::fuzz::TextOf(data, size);
  const auto patch = pawl::propose::ParsePatch("01-idea.patch", bytes);
  if (!patch.ok()) {
    PAWL_CHECK(patch.error().code == pawl::Code::kInvalidArgument);
    pawl::fuzz::CheckMessage(patch.error(), "01-idea.patch: ");
    return 0;
  }
  PAWL_CHECK(bytes.ends_with(patch->diff));
  PAWL_CHECK(patch->diff.starts_with("diff --git ") || patch->diff.starts_with("--- "));
  const std::size_t head = bytes.size() - patch->diff.size();
  PAWL_CHECK(head == 0 || bytes[head - 1] == '\n');
  PAWL_CHECK(!bytes.substr(0, head).starts_with("diff --git "));
  PAWL_CHECK(bytes.substr(0, head).find("\ndiff --git ") == std::string_view::npos);
  PAWL_CHECK(patch->sha256 == pawl::HashBytes(bytes).hex());
  PAWL_CHECK(!patch->hypothesis.empty());
  for (const std::string* text : {&patch->hypothesis, &patch->source, &patch->expects,
                                  &patch->track, &patch->classification}) {
    PAWL_CHECK(pawl::fuzz::IsPrintableLine(*text) && text->size() <= 400);
  }
  constexpr std::array<std::string_view, 4> kClasses = {"exact", "numerical", "approximate",
                                                        "quantization"};
  PAWL_CHECK(std::find(kClasses.begin(), kClasses.end(), patch->classification) != kClasses.end());
  return 0;
}
