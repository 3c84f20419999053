// Which files make up the harness right now, with what stands in the way of locking them.
// For harness_lock.cc and harness_overlay.cc.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/config.h"
#include "os/files.h"

namespace pawl::campaign {

struct HarnessFile {
  std::string path;  // as in LockedFile
  Path host;         // where to read it; a link within the project is read through
  os::FileStamp stamp;
  std::uint32_t mode = 0;
  std::string problem;  // why it cannot be locked, "" when it can
};

struct HarnessFiles {
  std::vector<HarnessFile> files;    // sorted by path, each once
  std::vector<std::string> missing;  // configured paths that do not exist
};

// Every regular file below the fixed paths, the config and the contract. Links to files are
// followed while they stay in the project (as dit-ar does); links that leave it, links to folders
// and special files are problems.
Result<HarnessFiles> FindHarnessFiles(const Config& config);

}  // namespace pawl::campaign
