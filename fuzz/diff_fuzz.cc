// Candidates' diffs as the class check reads them: no line is invented, a class is never made
// milder than declared, and a line costs no more than its length.
#include <algorithm>

#include "input.h"
#include "judge/change_class.h"
#include "judge/diff_lines.h"

namespace {

namespace judge = pawl::judge;
using judge::ChangeClass;

constexpr std::size_t kShortBytes = 4;
constexpr std::size_t kLongBytes = std::size_t{1} << 16;

void CheckLines(std::string_view diff) {
  const std::vector<judge::DiffLine> found = judge::ChangedCode(diff);
  std::size_t added = 0;
  std::size_t removed = 0;
  for (const std::string_view line : pawl::Split(diff, '\n')) {
    if (line.starts_with('+')) ++added;
    if (line.starts_with('-')) ++removed;
  }
  for (const judge::DiffLine& line : found) {
    std::size_t& left = line.added ? added : removed;
    PAWL_CHECK(left > 0);
    --left;
    PAWL_CHECK(line.line >= 0 && !pawl::Trim(line.code).empty());
    PAWL_CHECK(line.code.find('\n') == std::string::npos);
    PAWL_CHECK(line.file.empty() || diff.find(line.file) != std::string_view::npos);
  }
}

void CheckClasses(std::string_view diff) {
  for (const ChangeClass declared : {ChangeClass::kExact, ChangeClass::kNumerical,
                                     ChangeClass::kApproximate, ChangeClass::kQuantization}) {
    const judge::ClassFinding finding = judge::CheckClass(declared, diff);
    PAWL_CHECK(finding.declared == declared && finding.judged_as >= declared);
    PAWL_CHECK(finding.judged_as == declared || !finding.signs.empty());
    PAWL_CHECK(finding.signs.size() <= 20);
    for (const std::string& sign : finding.signs) PAWL_CHECK(pawl::fuzz::IsPrintableLine(sign));
  }
}

// A short text over and over as one long line: what is not linear takes far too long here.
void CheckLongLine(std::string_view text, std::string_view file) {
  if (text.empty() || text.size() > kShortBytes || text.find('\n') != std::string_view::npos)
    return;
  std::string diff = pawl::Format("--- a/{0}\n+++ b/{0}\n@@ -0,0 +1 @@\n+", file);
  while (diff.size() < kLongBytes) diff += text;
  judge::CheckClass(ChangeClass::kExact, diff);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view diff = pawl::fuzz::TextOf(data, size);
  CheckLines(diff);
  CheckClasses(diff);
  CheckLongLine(diff, "model.py");
  CheckLongLine(diff, "kernel.cu");
  return 0;
}
