// Objects in and out of the vault, without git ever running inside the other repository.
// For vault.cc.
#pragma once

#include <vector>

#include "base/result.h"
#include "campaign/git.h"
#include "campaign/git_call.h"
#include "campaign/object_reader.h"

namespace pawl::campaign {

struct Receiver {
  const Path& folder;
  ObjectReader& objects;
};

// Copies `commit` and what it needs into the vault. Until everything is known to be there under
// names computed from content, it lies in quarantine: what the vault contains is always whole.
// `known` are commits that the vault has.
Status BringObjects(const Receiver& vault, const GitFolders& user, const CommitId& commit,
                    const std::vector<CommitId>& known);

// Copies what the user's repository lacks of `commit` into its object folder; no ref moves.
Status LendObjects(const Path& vault, const GitFolders& user, const CommitId& commit);

}  // namespace pawl::campaign
