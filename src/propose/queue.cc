#include "propose/queue.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace pawl::propose {

namespace {

constexpr std::uint64_t kMaxPatchBytes = std::uint64_t{16} << 20;

// "[PATCH 2/3] Title" as mail patches have it.
std::string_view WithoutMailPrefix(std::string_view subject) {
  if (!subject.starts_with("[")) return subject;
  const std::size_t end = subject.find(']');
  return end == std::string_view::npos ? subject : Trim(subject.substr(end + 1));
}

// The value of "Name: value"; names in any case.
std::optional<std::string> Field(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (ToLowerAscii(line.substr(0, name.size())) != name) return std::nullopt;
  return PrintableLine(Trim(line.substr(name.size() + 1)), 400);
}

bool StartsDiff(std::string_view line, std::string_view next) {
  return line.starts_with("diff --git ") || (line.starts_with("--- ") && next.starts_with("+++ "));
}

// Lines that mail patches bring along and that are nobody's hypothesis.
bool IsMailEnvelope(std::string_view line) {
  return line.starts_with("From ") || Field(line, "from") || Field(line, "date") ||
         line.starts_with("---");
}

void ReadHeadLine(std::string_view line, PatchFile& patch) {
  if (const auto subject = Field(line, "subject")) {
    patch.hypothesis = WithoutMailPrefix(*subject);
  } else if (const auto word = Field(line, "class")) {
    patch.classification = *word;
  } else if (const auto source = Field(line, "source")) {
    patch.source = *source;
  } else if (const auto expects = Field(line, "expects")) {
    patch.expects = *expects;
  } else if (const auto track = Field(line, "track")) {
    patch.track = *track;
  } else if (patch.hypothesis.empty() && !Trim(line).empty() && !IsMailEnvelope(line)) {
    patch.hypothesis = PrintableLine(Trim(line), 400);
  }
}

}  // namespace

Result<PatchFile> ParsePatch(std::string_view name, std::string_view bytes) {
  PatchFile patch;
  patch.name = name;
  patch.sha256 = HashBytes(bytes).hex();
  patch.classification = "exact";

  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view line = bytes.substr(at, end - at);
    const std::string_view rest = end < bytes.size() ? bytes.substr(end + 1) : std::string_view();
    if (StartsDiff(line, rest)) break;
    ReadHeadLine(line, patch);
    at = end + 1;
  }
  if (at >= bytes.size()) {
    return MakeError(Code::kInvalidArgument,
                     Format("{}: no line starts with `diff --git` or `--- `", PrintableLine(name)),
                     "write patches with `git diff` or `git format-patch`");
  }
  patch.diff = bytes.substr(at);
  if (patch.hypothesis.empty()) patch.hypothesis = PrintableLine(os::Path(name).stem().string());
  constexpr std::string_view kClasses[] = {"exact", "numerical", "approximate", "quantization"};
  if (std::ranges::find(kClasses, patch.classification) == std::end(kClasses)) {
    return MakeError(Code::kInvalidArgument,
                     Format("{}: unknown class `{}`", PrintableLine(name), patch.classification),
                     "use exact, numerical, approximate or quantization");
  }
  return patch;
}

Result<std::vector<PatchFile>> ReadQueue(const os::Path& folder) {
  PAWL_ASSIGN(const std::vector<os::TreeEntry> entries, os::ListTree(folder));
  std::vector<PatchFile> patches;
  for (const os::TreeEntry& entry : entries) {
    const os::Path path(entry.relative);
    if (path.has_parent_path() || entry.kind != os::FileKind::kRegular) continue;
    if (path.extension() != ".patch" && path.extension() != ".diff") continue;
    PAWL_ASSIGN(const std::string bytes,
                os::ReadFile(folder / path, {.max_bytes = kMaxPatchBytes}));
    PAWL_ASSIGN(PatchFile patch, ParsePatch(entry.relative, bytes));
    patches.push_back(std::move(patch));
  }
  return patches;
}

}  // namespace pawl::propose
