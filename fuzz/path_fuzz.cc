// Names that a config or a commit brings in: the input's lines are paths. What passes is plain
// text that neither climbs nor hides, and names that a disk takes for one fold to one.
#include <algorithm>
#include <array>

#include "campaign/scope_path.h"
#include "input.h"

namespace {

namespace campaign = pawl::campaign;

// The characters that HFS+ ignores in names, as git's is_hfs_dotgit lists them.
bool IsIgnoredOnHfs(std::uint32_t point) {
  return (point >= 0x200c && point <= 0x200f) || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x206a && point <= 0x206f) || point == 0xfeff;
}

// How HFS+ and NTFS would read the component, ASCII case aside.
std::string AsOldDisksSee(std::string_view component) {
  std::string seen;
  for (std::size_t at = 0; at < component.size();) {
    const pawl::CodePoint point = pawl::DecodeUtf8(component, at);
    if (!IsIgnoredOnHfs(point.value)) seen += component.substr(at, point.length);
    at += point.length;
  }
  seen = seen.substr(0, seen.find(':'));
  while (!seen.empty() && (seen.back() == '.' || seen.back() == ' ')) seen.pop_back();
  return pawl::ToLowerAscii(seen);
}

void CheckNormal(std::string_view written) {
  const pawl::Result<std::string> normal = campaign::NormaliseRelative(written);
  if (!normal.ok()) {
    PAWL_CHECK(normal.error().code == pawl::Code::kInvalidArgument);
    PAWL_CHECK(pawl::fuzz::IsPrintableLine(normal.error().message));
    return;
  }
  PAWL_CHECK(!normal->empty() && normal->find('\\') == std::string::npos);
  for (const std::string_view part : pawl::Split(*normal, '/')) {
    PAWL_CHECK(!part.empty() && part != "." && part != "..");
  }
  const pawl::Result<std::string> again = campaign::NormaliseRelative(*normal);
  PAWL_CHECK(again.ok() && *again == *normal);
  PAWL_CHECK(campaign::IsWithin(*normal, *normal) && campaign::IsWithin(*normal + "/x", *normal));
  PAWL_CHECK(!campaign::IsWithin(*normal + "x", *normal));
}

void CheckPlain(std::string_view path) {
  if (!campaign::OddName(path).empty()) return;
  PAWL_CHECK(pawl::fuzz::IsPrintableLine(path));
  for (const std::string_view part : pawl::Split(path, '/')) {
    PAWL_CHECK(!part.empty() && part != "." && part != ".." && part.size() <= 255);
    PAWL_CHECK(part.find('\\') == std::string_view::npos && part[0] != '-');
    const std::string seen = AsOldDisksSee(part);
    PAWL_CHECK(seen != ".git" && seen != "git~1");
  }
}

void CheckFold(std::string_view a, std::string_view b) {
  const std::string folded = campaign::FoldName(a);
  PAWL_CHECK(campaign::FoldName(folded) == folded);
  PAWL_CHECK(pawl::IsValidUtf8(a) == pawl::IsValidUtf8(folded));
  PAWL_CHECK(campaign::Overlap(a, b) == campaign::Overlap(b, a));
  // What is not UTF-8 is equal to itself only, and refused as odd.
  if (!pawl::IsValidUtf8(a)) return;
  PAWL_CHECK(campaign::FoldName(pawl::ToLowerAscii(a)) == folded);
  if (pawl::ToLowerAscii(a) == pawl::ToLowerAscii(b)) PAWL_CHECK(campaign::FoldName(b) == folded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [first, rest] = pawl::fuzz::CutLine(pawl::fuzz::TextOf(data, size));
  for (const std::string_view path : {first, rest}) {
    CheckNormal(path);
    CheckPlain(path);
  }
  CheckFold(first, rest);
  CheckFold(rest, first);
  return 0;
}
