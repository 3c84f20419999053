// Drives a folder of patches through an engine, in name order: each is put on the present incumbent
// and judged. A patch that was judged in this campaign before is known by its bytes and not judged
// again, so that a stopped queue goes on where it was.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "judge/verdict.h"
#include "loop/engine.h"
#include "os/files.h"
#include "propose/queue.h"

namespace pawl::loop {

struct QueueItem {
  propose::PatchFile patch;
  std::int64_t experiment = 0;
  judge::Verdict verdict;
  bool skipped = false;  // judged by an earlier queue
};

struct QueueReport {
  std::vector<QueueItem> items;
  bool stopped = false;  // by a signal, before every patch was judged
};

Result<QueueReport> DriveQueue(Engine& engine, const os::Path& folder);

}  // namespace pawl::loop
