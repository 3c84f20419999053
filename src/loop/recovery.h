// What a new process finds of a dead one: experiments that were admitted and never decided, a keep
// whose branch was not moved yet, work folders and processes. All of it is ended before anything
// new begins.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "loop/session.h"

namespace pawl::loop {

// A commit whose measurement was cut off more often than this is not measured again: stopping Pawl
// must not become a way to throw the dice anew.
inline constexpr std::size_t kMaxInterruptions = 3;

Status Recover(Session& session, Writer& writer);

}  // namespace pawl::loop
