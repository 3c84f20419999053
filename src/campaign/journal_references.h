// Which artifacts a text or a record names. Internal to the journal.
#pragma once

#include <set>
#include <string_view>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"

namespace pawl::campaign {

// Everything that could be the name of an artifact: runs of exactly 64 lower-case hex digits.
void CollectMentionedHashes(std::string_view text, std::set<Sha256>& hashes);

// Artifacts that a record names as its own, by members `..._sha256` of it and of the items of its
// `runs`. What lies deeper, such as a harness's metric files, has names that Pawl does not choose.
void CollectNamedHashes(const Json& record, std::set<Sha256>& hashes);

// The harness files whose content a lock's text says is stored. kCorrupt when it is no lock.
Status CollectSnapshot(std::string_view lock_text, std::set<Sha256>& hashes);

}  // namespace pawl::campaign
