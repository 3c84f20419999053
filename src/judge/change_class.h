// The self-declared class of a change (exact, numerical, approximate, quantization) held against
// what the diff shows. A mismatch is judged by the stricter class and named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::judge {

enum class ChangeClass : std::uint8_t { kExact, kNumerical, kApproximate, kQuantization };
std::string_view ClassName(ChangeClass change_class);
std::optional<ChangeClass> ParseClass(std::string_view name);

struct ClassFinding {
  ChangeClass declared = ChangeClass::kExact;
  ChangeClass judged_as = ChangeClass::kExact;
  std::vector<std::string> signs;  // "line adds torch.int8: src/a.py", at most 20
};
// Signs: low-bit types and quantisation calls, changed dtypes, skipped or fewer steps.
ClassFinding CheckClass(ChangeClass declared, std::string_view unified_diff);

}  // namespace pawl::judge
