// The locked harness: a manifest of every fixed file (config and contract included) with its hash,
// and a snapshot that is laid over each candidate's tree. Small files are kept as artifacts; large
// ones (data) stay in place, are recognised as unchanged by stat and re-read in full when asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "campaign/config.h"
#include "os/sandbox.h"
#include "store/artifacts.h"

namespace pawl::campaign {

struct LockedFile {
  std::string path;    // relative to the project root with '/', or absolute outside it
  std::string sha256;  // hex
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;  // permission bits
  bool in_place = false;   // not snapshot: bound read-only from its place
  os::FileStamp stamp;     // at lock time; for in_place files and the quick check
};

struct HarnessLock {
  std::vector<LockedFile> files;  // sorted by path

  Json ToJson() const;
  static Result<HarnessLock> FromJson(const Json& json);
  // { path: sha256 }, the content of dit-ar's fixed_hashes.json.
  Json CompatHashes() const;
};

// Hashes and snapshots fixed_paths + config file + contract from the working tree, as dit-ar does:
// every regular file, links to files read through. Links that leave the project root, links to
// folders and special files inside fixed paths are refused by name. Files above 8 MiB, and those
// outside the project, stay in place.
Result<HarnessLock> LockHarness(const Config& config, store::Artifacts& artifacts);

enum class LockCheck { kQuick, kFull };  // quick: stat decides whether a file is read again
// Paths that were changed, added or removed since the lock, sorted.
Result<std::vector<std::string>> ChangedHarness(const HarnessLock& lock, const Config& config,
                                                LockCheck check);

// Writes the snapshot over a materialised project root: what the candidate has at these paths is
// replaced, extra files inside fixed folders are removed, links on the way are not followed.
// Returns the read-only mounts for the in-place files of the project (host: in the user's tree,
// inside: below `tree_root`); an empty file stands where each belongs. Files outside the project
// are the caller's to show (HarnessPaths names them).
Result<std::vector<os::Mount>> OverlayHarness(const HarnessLock& lock, const Config& config,
                                              const store::Artifacts& artifacts,
                                              const Path& tree_root);

}  // namespace pawl::campaign
