// The simplest proposer: a folder of patches, in name order. Each patch is put on the incumbent,
// judged, and kept or dropped; where it stood is in the ledger, so a stopped queue goes on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace pawl::propose {

struct PatchFile {
  std::string name;                    // file name
  std::string sha256;                  // of its bytes: how a stopped queue knows it again
  std::string hypothesis;              // first line (or the Subject of a mail patch), printable
  std::string classification;          // from a "Class:" line, "exact" otherwise
  std::string source, expects, track;  // from "Source:", "Expects:", "Track:" lines
  std::string diff;                    // the patch proper, from the first "diff --git" or "---" on
};

// *.patch and *.diff files of a folder, sorted by name. Problems name file and line.
Result<std::vector<PatchFile>> ReadQueue(const os::Path& folder);
Result<PatchFile> ParsePatch(std::string_view name, std::string_view bytes);

}  // namespace pawl::propose
