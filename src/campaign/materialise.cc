// From a commit to plain files. No checkout takes place, so that attributes, filters, line-end
// rules, ident and hooks do not exist. Blobs are read in batches of bounded size by one git process
// each.
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "campaign/git_call.h"
#include "campaign/tree_writer.h"
#include "campaign/vault.h"

namespace pawl::campaign {
namespace {

constexpr std::uint64_t kBatchBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kHeaderBytes = 128;  // "<name> blob <size>\n" and a line break

struct Batch {
  std::vector<const TreeFile*> files;
  std::uint64_t size_bytes = 0;
};

bool IsRegular(const TreeFile& file) {
  return file.mode.starts_with("100");
}

std::vector<Batch> Batches(const std::vector<TreeFile>& files) {
  std::vector<Batch> batches;
  for (const TreeFile& file : files) {
    if (!IsRegular(file)) continue;
    const std::uint64_t size = file.size_bytes + kHeaderBytes;
    if (batches.empty() || batches.back().size_bytes + size > kBatchBytes) batches.emplace_back();
    batches.back().files.push_back(&file);
    batches.back().size_bytes += size;
  }
  return batches;
}

Result<std::string> ReadBlobs(const Path& vault, const Batch& batch) {
  GitRun run;
  run.git_dir = vault;
  run.arguments = {"cat-file", "--batch", "--buffer"};
  for (const TreeFile* file : batch.files) run.input += file->blob + "\n";
  run.max_output_bytes = batch.size_bytes + 4096;
  return RunGitOrError(run);
}

// Takes the next blob off the batch's output.
Result<std::string_view> NextBlob(std::string_view& rest, const TreeFile& file) {
  const std::string header = Format("{} blob {}\n", file.blob, file.size_bytes);
  if (!rest.starts_with(header) || rest.size() < header.size() + file.size_bytes + 1)
    return MakeError(Code::kCorrupt,
                     Format("blob {} of {} cannot be read", file.blob, PrintableLine(file.path)));
  const std::string_view bytes = rest.substr(header.size(), file.size_bytes);
  rest.remove_prefix(header.size() + file.size_bytes + 1);
  return bytes;
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
  for (const Batch& batch : Batches(listing->files)) {
    PAWL_ASSIGN(const std::string blobs, ReadBlobs(folder_, batch));
    std::string_view rest = blobs;
    for (const TreeFile* file : batch.files) {
      NewFile target;
      PAWL_ASSIGN(target.bytes, NextBlob(rest, *file));
      target.path = file->path;
      target.mode = file->mode == "100755" ? 0755 : 0644;
      const auto was = old_blobs.find(file->path);
      target.touched =
          unchanged_since != nullptr && (was == old_blobs.end() || was->second != file->blob);
      PAWL_TRY(writer.Write(target));
    }
  }
  return OkStatus();
}

}  // namespace pawl::campaign
