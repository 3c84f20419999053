// The manifest of a locked harness: what is read back is written again as the same text.
#include "campaign/harness_lock.h"
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = pawl::ParseJson(pawl::fuzz::TextOf(data, size), "input");
  if (!json.ok()) return 0;
  const auto lock = pawl::campaign::HarnessLock::FromJson(*json);
  if (!lock.ok()) {
    PAWL_CHECK(lock.error().code == pawl::Code::kCorrupt);
    pawl::fuzz::CheckMessage(lock.error(), "harness lock");
    return 0;
  }
  const pawl::Json written = lock->ToJson();
  const auto again = pawl::campaign::HarnessLock::FromJson(written);
  PAWL_CHECK(again.ok() && again->ToJson() == written);
  PAWL_CHECK(lock->files.size() == json->Find("files")->AsArray()->size());
  return 0;
}
