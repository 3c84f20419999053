#include "campaign/tree_reader.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace pawl::campaign {
namespace {

constexpr std::uint64_t kMaxKnownBytes = std::uint64_t{32} << 20;
// What an entry costs in memory beside its path.
constexpr std::uint64_t kEntryBytes = 64;

Error Malformed(std::string_view tree) {
  return MakeError(Code::kCorrupt, Format("tree {} is malformed", tree));
}

// "40000" as it stands in a tree becomes "040000".
bool ReadMode(std::string_view text, std::string& mode) {
  const bool octal = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '7'; });
  if (text.empty() || text.size() > 6 || !octal) return false;
  mode = std::string(6 - text.size(), '0').append(text);
  return true;
}

}  // namespace

// Entry after entry: "<mode> <name>", a zero byte, the object's name in binary.
std::optional<std::vector<GitTreeEntry>> ParseTree(std::string_view bytes, std::size_t id_bytes) {
  std::vector<GitTreeEntry> entries;
  while (!bytes.empty()) {
    const auto end = bytes.find('\0');
    if (end == std::string_view::npos || bytes.size() - end - 1 < id_bytes) return std::nullopt;
    const std::string_view head = bytes.substr(0, end);
    const auto blank = head.find(' ');
    GitTreeEntry entry;
    if (blank == std::string_view::npos || !ReadMode(head.substr(0, blank), entry.mode))
      return std::nullopt;
    entry.name = std::string(head.substr(blank + 1));
    if (entry.name.empty()) return std::nullopt;
    entry.object = ToHex({reinterpret_cast<const std::uint8_t*>(bytes.data()) + end + 1, id_bytes});
    entries.push_back(std::move(entry));
    bytes.remove_prefix(end + 1 + id_bytes);
  }
  return entries;
}

Status TreeReader::Learn(ObjectReader& objects, const std::vector<std::string>& names) {
  std::vector<std::string_view> unknown;
  std::unordered_set<std::string_view> asked;
  for (const std::string& name : names) {
    if (!known_.contains(name) && asked.insert(name).second) unknown.push_back(name);
  }
  return objects.Read("tree", unknown, [&](std::size_t index, const std::string& bytes) -> Status {
    std::optional<std::vector<GitTreeEntry>> entries = ParseTree(bytes, unknown[index].size() / 2);
    if (!entries) return Malformed(unknown[index]);
    known_bytes_ += bytes.size() + entries->size() * kEntryBytes;
    known_.emplace(unknown[index],
                   std::make_shared<const std::vector<GitTreeEntry>>(*std::move(entries)));
    return OkStatus();
  });
}

Result<std::vector<TreeFile>> TreeReader::Read(ObjectReader& objects, const std::string& tree) {
  struct Folder {
    std::string path;  // with a slash at its end, empty for the top
    std::string tree;
  };
  if (known_bytes_ > kMaxKnownBytes) {
    known_.clear();
    known_bytes_ = 0;
  }
  std::vector<TreeFile> files;
  std::vector<Folder> level = {{"", tree}};
  std::uint64_t listed_bytes = 0;
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<std::string> names;
    names.reserve(level.size());
    for (const Folder& folder : level) names.push_back(folder.tree);
    if (depth < kMaxDepth) PAWL_TRY(Learn(objects, names));
    std::vector<Folder> below;
    for (const Folder& folder : level) {
      if (depth == kMaxDepth)
        return MakeError(Code::kResourceExhausted, "folders nest too deep to be listed");
      for (const GitTreeEntry& entry : *known_.at(folder.tree)) {
        std::string path = folder.path + entry.name;
        listed_bytes += path.size() + kEntryBytes;
        if (listed_bytes > kMaxListingBytes)
          return MakeError(Code::kResourceExhausted, "the tree is too large to be listed");
        if (entry.is_tree()) {
          below.push_back({std::move(path) + "/", entry.object});
        } else {
          files.push_back({std::move(path), entry.mode, entry.object});
        }
      }
    }
    level = std::move(below);
  }
  // Git's own order is not bytewise, and a hostile tree has whatever order it likes.
  std::ranges::sort(files, {}, &TreeFile::path);
  return files;
}

}  // namespace pawl::campaign
