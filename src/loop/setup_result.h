// The result of commands.setup: made once, with network, on the baseline tree; read-only for every
// candidate from then on.
#pragma once

#include "base/result.h"
#include "loop/session.h"
#include "os/files.h"

namespace pawl::loop {

// The folder of the result, made when it is not there; empty without commands.setup. Its key is the
// command and the lock files' locked content (without lock files: the whole harness), so that
// lanes with the same needs share it.
Result<os::Path> EnsureSetup(Session& session, const Writer& writer, const LiveCampaign& live);

}  // namespace pawl::loop
