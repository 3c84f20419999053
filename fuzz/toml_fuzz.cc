// The TOML reader: what it takes is a value that the JSON reader takes as well, because configs are
// recorded as JSON; what it refuses it refuses with a place.
#include "base/json.h"
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = pawl::fuzz::TextOf(data, size);
  const pawl::Result<pawl::Json> parsed = pawl::ParseToml(text, "input");
  if (!parsed.ok()) {
    pawl::fuzz::CheckMessage(parsed.error(), "input:");
    return 0;
  }
  PAWL_CHECK(parsed->AsObject() != nullptr);
  for (const std::string& written : {parsed->Canonical(), parsed->Compact(), parsed->Pretty()}) {
    const pawl::Result<pawl::Json> again = pawl::ParseJson(written, "written");
    PAWL_CHECK(again.ok());
    PAWL_CHECK(*again == *parsed);
  }
  return 0;
}
