// Drives a folder of patches through the engine, one after the other, each on the incumbent of its
// turn. A patch that this campaign has judged already (by the hash of its bytes) is skipped, so a
// stopped queue goes on where it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "loop/engine.h"
#include "propose/queue.h"

namespace pawl::loop {

struct QueueItem {
  propose::PatchFile patch;
  std::int64_t experiment = 0;
  bool skipped = false;           // judged in an earlier run of the queue; `verdict` is from then
  judge::Verdict verdict;
};

struct QueueReport {
  std::vector<QueueItem> items;   // in name order
  bool stopped = false;           // a stop was asked for before the end
};

// A refusal of one patch never stops the queue; an Error (disk, git, configuration) does.
Result<QueueReport> DriveQueue(Engine& engine, const os::Path& folder);

}  // namespace pawl::loop
