// Pawl's own bare repository, and intake of candidates into it. A candidate comes in by commit id
// through fetch (so that rewritten objects fail), is read blob by blob without filters, attributes,
// hooks or replace refs, and is compared tree to tree with the incumbent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "campaign/config.h"
#include "campaign/git.h"

namespace pawl::campaign {

struct TreeFile {
  std::string path;   // from the repository's top, bytes as in git
  std::string mode;   // "100644", "100755", "120000", "160000"
  std::string blob;   // object name
  std::uint64_t size_bytes = 0;
};

struct ChangedPath {
  std::string path;
  std::string old_mode, new_mode;  // "" when absent on that side
  std::string old_blob, new_blob;
};

// Why a candidate is not let in. `kind` is the verdict it leads to.
struct IntakeRefusal {
  enum class Kind { kNone, kScope, kHarness, kInvalid } kind = Kind::kNone;
  std::vector<std::string> reasons;  // "symbolic link: src/a", "outside mutable_paths: Makefile", ...
  std::vector<std::string> paths;
};

struct CandidateFacts {
  CommitId commit;
  CommitId parent;          // first parent, empty for a root commit
  std::string subject;      // first line of the message, made printable
  std::vector<ChangedPath> changes;  // incumbent..candidate, renames as delete plus add
  std::int64_t lines_added = 0, lines_removed = 0;
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
  Result<bool> IsAncestor(const CommitId& ancestor, const CommitId& descendant) const;

  Result<std::vector<TreeFile>> ReadTree(const CommitId& commit) const;

  // Compares whole trees and applies the rules: descends from the incumbent, only mutable paths
  // (exact components below `prefix`), no fixed path, no links, submodules, special or odd names,
  // no case-fold collisions, limits on count and size. A refusal is data; an Error means that git or
  // the disk failed.
  Result<CandidateFacts> Inspect(const CommitId& incumbent, const CommitId& candidate,
                                 std::string_view prefix, const Config& config) const;

  // Unified diff for people and for the reviewer, cut at `max_bytes`.
  Result<std::string> Diff(const CommitId& from, const CommitId& to, std::size_t max_bytes) const;

  // Writes the commit's regular files below `destination` (which must not exist), no links, no
  // filters; every file gets the same fixed modification time unless its blob differs from
  // `unchanged_since`'s, so that incremental builds see just the change.
  Status Materialise(const CommitId& commit, const Path& destination,
                     const CommitId* unchanged_since = nullptr) const;

  // Puts a patch on `parent` in a private worktree-less index and makes a commit; the message's
  // first line is `subject`. kInvalidArgument when it does not apply.
  Result<CommitId> CommitPatch(const CommitId& parent, std::string_view patch,
                               std::string_view message);

  const Path& folder() const { return folder_; }

 private:
  explicit Vault(Path folder) : folder_(std::move(folder)) {}
  Path folder_;
};

}  // namespace pawl::campaign
