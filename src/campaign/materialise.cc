// From a commit to plain files. No checkout takes place, so that attributes, filters, line-end
// rules, ident and hooks do not exist.
#include <unordered_map>

#include "campaign/tree_writer.h"
#include "campaign/vault.h"

namespace pawl::campaign {
namespace {

bool IsRegular(const TreeFile& file) {
  return file.mode.starts_with("100");
}

}  // namespace

Status Vault::Materialise(const CommitId& commit, const Path& destination,
                          const CommitId* unchanged_since) const {
  PAWL_ASSIGN(const auto listing, ListFiles(commit));
  std::unordered_map<std::string_view, std::string_view> old_blobs;
  std::shared_ptr<const Listing> old;
  if (unchanged_since != nullptr) {
    PAWL_ASSIGN(old, ListFiles(*unchanged_since));
    for (const TreeFile& file : old->files) old_blobs[file.path] = file.blob;
  }
  PAWL_ASSIGN(TreeWriter writer, TreeWriter::Make(destination));
  std::vector<const TreeFile*> files;
  std::vector<std::string_view> blobs;
  for (const TreeFile& file : listing->files) {
    if (!IsRegular(file)) continue;
    files.push_back(&file);
    blobs.emplace_back(file.blob);
  }
  return objects_.Read("blob", blobs, [&](std::size_t index, const std::string& bytes) {
    const TreeFile& file = *files[index];
    const auto was = old_blobs.find(file.path);
    NewFile target;
    target.path = file.path;
    target.bytes = bytes;
    target.mode = file.mode == "100755" ? 0755 : 0644;
    target.touched =
        unchanged_since != nullptr && (was == old_blobs.end() || was->second != file.blob);
    return writer.Write(target);
  });
}

}  // namespace pawl::campaign
