// The system calls that no measured command needs and that reach other processes, the kernel or the
// machine. They fail with EPERM (clone3 with ENOSYS, so that libraries fall back to clone, whose
// flags a filter can see).
#pragma once

#include "os/shim/plan.h"

namespace pawl::os {

// Binds this process and all that it starts; needs no_new_privs. 0 or an errno value.
int InstallSyscallFilter(SocketRule sockets);

}  // namespace pawl::os
