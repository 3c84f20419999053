// Files and processes that a Pawl which died left half-way. The state lock is held, so that nobody
// alive is at work on them.
#pragma once

#include "base/result.h"
#include "loop/state_folder.h"

namespace pawl::loop {

// Files that were being written, and packs that had not come in whole, in the folders that every
// process writes to.
Status RemoveHalfWritten(const StateFolder& state);
// The same in folders that may be many or large.
Status RemoveHalfWrittenRest(const StateFolder& state);

// The inner halves of bubblewraps that were killed while they set up a sandbox: those wait for the
// outer half for good. Once a sandbox is up it dies with its Pawl. Whoever has a living outer half
// belongs to a living Pawl and is left alone.
Status EndHalfStarted();

}  // namespace pawl::loop
