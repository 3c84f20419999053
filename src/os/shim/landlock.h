// Landlock for level L2: what the plan lists, and nothing else of the file system; no TCP; no
// signals or abstract sockets to outside, as far as the kernel's version of it goes.
#pragma once

#include "os/shim/plan.h"

namespace pawl::os {

// 0 when the kernel has none.
int LandlockVersion();

// Binds this process and all that it starts; needs no_new_privs. 0 or an errno value.
int ApplyLandlock(const Plan& plan);

}  // namespace pawl::os
