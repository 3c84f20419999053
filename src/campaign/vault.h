// Pawl's own bare repository, and intake of candidates into it. A candidate comes in by commit id,
// every object under a name computed from its content (so that rewritten objects fail), is read
// blob by blob without filters, attributes, hooks or replace refs, and is compared tree to tree
// with the incumbent. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "campaign/config.h"
#include "campaign/git.h"
#include "campaign/object_reader.h"
#include "campaign/tree_reader.h"

namespace pawl::campaign {

struct ChangedPath {
  std::string path;
  std::string old_mode, new_mode;  // "" when absent on that side
  std::string old_blob, new_blob;
};

// Why a candidate is not let in. `kind` is the verdict it leads to.
struct IntakeRefusal {
  enum class Kind { kNone, kScope, kHarness, kInvalid } kind = Kind::kNone;
  std::vector<std::string>
      reasons;  // "symbolic link: src/a", "outside mutable_paths: Makefile", ...
  std::vector<std::string> paths;
};

struct CandidateFacts {
  CommitId commit;
  CommitId parent;                   // first parent, empty for a root commit
  std::string subject;               // first line of the message, made printable
  std::vector<ChangedPath> changes;  // incumbent..candidate, renames as delete plus add
  IntakeRefusal refusal;
};

class Vault {
 public:
  // <state>/vault.git, made when absent; refuses links and foreign owners.
  static Result<Vault> Open(const Path& state_dir);

  // Brings a commit and its history in by id and pins it. kCorrupt when an object is not what its
  // name says, kNotFound when the repository does not have it.
  Status Fetch(const Path& user_repository, const CommitId& commit);
  bool Contains(const CommitId& commit) const;
  // Copies a commit that was made here into the user's object folder, so that a branch can move to
  // it (MoveBranch). No ref, index or file is touched.
  Status Export(const Path& user_repository, const CommitId& commit) const;
  Result<bool> IsAncestor(const CommitId& ancestor, const CommitId& descendant) const;

  // Every entry of the whole tree, sorted by path.
  Result<std::vector<TreeFile>> ReadTree(const CommitId& commit) const;

  // Compares whole trees and applies the rules: descends from the incumbent, only mutable paths
  // (exact components below `prefix`), no fixed path, no links, submodules, special or odd names,
  // no case-fold collisions, limits on count and size. A refusal is data; an Error means that git
  // or the disk failed.
  Result<CandidateFacts> Inspect(const CommitId& incumbent, const CommitId& candidate,
                                 std::string_view prefix, const Config& config) const;

  // Unified diff for people and for the reviewer, cut at `max_bytes`, and how many lines it adds
  // and removes.
  struct Difference {
    std::string text;
    std::int64_t lines_added = 0, lines_removed = 0;
  };
  Result<Difference> Diff(const CommitId& from, const CommitId& to, std::size_t max_bytes) const;

  // Writes the commit's regular files below `destination` (which must not exist), no links, no
  // filters; every file gets the same fixed modification time unless its blob differs from
  // `unchanged_since`'s, so that incremental builds see just the change.
  Status Materialise(const CommitId& commit, const Path& destination,
                     const CommitId* unchanged_since = nullptr) const;

  // Puts a patch (any text that `git apply` reads, e.g. of git diff or format-patch) on `parent` in
  // a private index and makes and pins a commit. The same parent, patch and message give the same
  // id. kInvalidArgument when it does not apply, changes nothing or leaves the tree.
  Result<CommitId> CommitPatch(const CommitId& parent, std::string_view patch,
                               std::string_view message);

  const Path& folder() const { return folder_; }

 private:
  struct Listing {
    CommitId commit;
    std::vector<TreeFile> files;
  };
  explicit Vault(const Path& folder) : folder_(folder), objects_(folder) {}
  Status Pin(const CommitId& commit) const;  // kept by gc
  Result<std::shared_ptr<const Listing>> ListFiles(const CommitId& commit) const;

  Path folder_;
  mutable ObjectReader objects_;
  mutable TreeReader trees_;
  mutable std::vector<std::shared_ptr<const Listing>> recent_;  // the last few trees read
};

}  // namespace pawl::campaign
