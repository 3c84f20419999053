// Starts the command, waits for it, ends everything it left, and tells Pawl. As the first process
// of a PID namespace it owns all that lives there; elsewhere it is the subreaper of its
// descendants.
#pragma once

#include "os/shim/plan.h"

namespace pawl::os {

// The exit code of the shim: 0 when Pawl was told everything.
int Supervise(Plan& plan);

// Writes a report; false when Pawl is gone.
bool Send(const struct Report& report);

}  // namespace pawl::os
