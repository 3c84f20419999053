// Everything that a command loses before it runs: descriptors, rights, user, room.
#pragma once

#include "os/shim/plan.h"

namespace pawl::os {

struct ConfineFailure {
  const char* step = nullptr;  // null: confined
  int error = 0;
};

// In the child, just before exec. `keep` is the one descriptor above 2 that stays open, and it must
// be close-on-exec.
ConfineFailure Confine(const Plan& plan, int keep);

}  // namespace pawl::os
