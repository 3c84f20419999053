#include "campaign/scope_path.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace pawl::campaign {
namespace {

constexpr std::size_t kMaxComponent = 255;
constexpr std::size_t kMaxPath = 2048;

Error BadPath(std::string_view written, std::string_view why) {
  return MakeError(Code::kInvalidArgument, Format("`{}` {}", PrintableLine(written), why));
}

// Names that git, or a file system that git runs on, takes for its own folder.
bool LooksLikeGitFolder(std::string_view component) {
  std::string folded = FoldName(component);
  // NTFS drops trailing blanks and dots and reads what follows a colon as a stream.
  if (const auto colon = folded.find(':'); colon != std::string::npos) folded.resize(colon);
  while (!folded.empty() && (folded.back() == '.' || folded.back() == ' ')) folded.pop_back();
  return folded == ".git" || folded == "git~1";
}

std::string OddComponent(std::string_view component) {
  if (component.empty()) return "empty name";
  if (component == "." || component == "..") return "name that climbs the tree";
  if (component.size() > kMaxComponent) return "name longer than 255 bytes";
  if (component.front() == '-') return "name with a leading dash";
  if (component.find('\\') != std::string_view::npos) return "name with a backslash";
  if (component.front() == ' ' || component.back() == ' ' || component.back() == '.')
    return "name with a blank or dot at its edge";
  if (LooksLikeGitFolder(component)) return "name of git's own folder";
  // Printable makes control bytes, invisible and bidirectional characters and broken UTF-8 visible;
  // a name that it changes would be shown as another one than it is.
  if (!IsValidUtf8(component)) return "name that is not UTF-8";
  if (PrintableLine(component, kMaxComponent * 4) != component)
    return "name with control or invisible characters";
  return {};
}

}  // namespace

Result<std::string> NormaliseRelative(std::string_view written) {
  std::string slashed(Trim(written));
  std::replace(slashed.begin(), slashed.end(), '\\', '/');
  if (slashed.empty()) return MakeError(Code::kInvalidArgument, "a path is empty");
  if (slashed.front() == '/')
    return BadPath(written, "is absolute; write it relative to the project root");
  std::string normal;
  for (const std::string_view part : Split(slashed, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return BadPath(written, "climbs with `..`; write it relative to the project root");
    if (!normal.empty()) normal += '/';
    normal += part;
  }
  if (normal.empty()) return BadPath(written, "is the whole project; name the folders and files");
  if (Trim(normal) != normal)
    return BadPath(written, "has a blank at its edge, as no name may have");
  return normal;
}

bool IsWithin(std::string_view path, std::string_view scope) {
  if (scope.empty() || path == scope) return true;
  return path.size() > scope.size() && path.starts_with(scope) && path[scope.size()] == '/';
}

bool IsWithinAny(std::string_view path, const std::vector<std::string>& scopes) {
  return std::any_of(scopes.begin(), scopes.end(),
                     [&](const std::string& scope) { return IsWithin(path, scope); });
}

bool Overlap(std::string_view a, std::string_view b) {
  return IsWithin(a, b) || IsWithin(b, a);
}

std::string OddName(std::string_view path) {
  if (path.size() > kMaxPath) return Format("path longer than {} bytes", kMaxPath);
  for (const std::string_view component : Split(path, '/')) {
    if (std::string odd = OddComponent(component); !odd.empty()) return odd;
  }
  return {};
}

std::string FoldName(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return ToLowerAscii(name);
  utf8proc_uint8_t* folded = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                                   static_cast<utf8proc_ssize_t>(name.size()), &folded, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(folded, &std::free);
  if (length < 0) return std::string(name);  // not UTF-8: only equal to itself
  return {reinterpret_cast<const char*>(folded), static_cast<std::size_t>(length)};
}

}  // namespace pawl::campaign
