// From a commit's tree to the sorted list of its files. Trees are read as raw objects, and one that
// two commits share is read once. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "campaign/object_reader.h"

namespace pawl::campaign {

struct TreeFile {
  std::string path;  // from the repository's top, bytes as in git
  std::string mode;  // "100644", "100755", "120000", "160000"; six octal digits as in the object
  std::string blob;  // object name
};

struct GitTreeEntry {
  std::string mode;    // six octal digits
  std::string name;    // not empty, any bytes but zero; may hold slashes in a hostile tree
  std::string object;  // object name
  bool is_tree() const { return mode == "040000"; }
};
// The entries of a tree object whose repository has object names of `id_bytes` bytes; nullopt when
// it is malformed.
std::optional<std::vector<GitTreeEntry>> ParseTree(std::string_view bytes, std::size_t id_bytes);

class TreeReader {
 public:
  // Every entry below `tree` that is no folder, sorted bytewise by path; names can be doubled in a
  // hostile tree. kCorrupt when a tree is missing or malformed, kResourceExhausted when the list
  // would not fit kMaxListingBytes or folders nest deeper than kMaxDepth: built to exhaust a
  // reader.
  Result<std::vector<TreeFile>> Read(ObjectReader& objects, const std::string& tree);

  static constexpr std::uint64_t kMaxListingBytes = std::uint64_t{64} << 20;
  static constexpr std::size_t kMaxDepth = 256;

 private:
  using Tree = std::shared_ptr<const std::vector<GitTreeEntry>>;
  // Brings the trees that are not known yet.
  Status Learn(ObjectReader& objects, const std::vector<std::string>& names);

  std::unordered_map<std::string, Tree> known_;
  std::uint64_t known_bytes_ = 0;
};

}  // namespace pawl::campaign
