// Commits and trees as a hostile repository may hold them, from the objects' raw bytes.
#include "campaign/commit_text.h"
#include "campaign/tree_reader.h"
#include "input.h"

namespace {

namespace campaign = pawl::campaign;

void CheckTree(std::string_view bytes, std::size_t id_bytes) {
  const auto entries = campaign::ParseTree(bytes, id_bytes);
  if (!entries) return;
  std::size_t total = 0;
  for (const campaign::GitTreeEntry& entry : *entries) {
    PAWL_CHECK(!entry.name.empty() && entry.name.find('\0') == std::string::npos);
    PAWL_CHECK(entry.mode.size() == 6);
    PAWL_CHECK(entry.mode.find_first_not_of("01234567") == std::string::npos);
    PAWL_CHECK(entry.object.size() == 2 * id_bytes);
    PAWL_CHECK(entry.object.find_first_not_of("0123456789abcdef") == std::string::npos);
    total += entry.name.size() + id_bytes;
  }
  // Nothing between the entries is passed over: a mode of 1 to 6 digits, a blank and a zero byte.
  PAWL_CHECK(total + 3 * entries->size() <= bytes.size());
  PAWL_CHECK(total + 8 * entries->size() >= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = pawl::fuzz::TextOf(data, size);
  const campaign::CommitText commit = campaign::ParseCommitText(bytes);
  PAWL_CHECK(pawl::fuzz::IsPrintableLine(commit.subject) && commit.subject.size() <= 200);
  PAWL_CHECK(commit.parents.size() <= bytes.size());
  CheckTree(bytes, 20);
  CheckTree(bytes, 32);
  return 0;
}
