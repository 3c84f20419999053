// Turns a SandboxSpec into something that can be started: checked mounts, a user, private folders,
// the plan for the shim and the command line that starts it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/run_user.h"
#include "os/sandbox.h"

namespace pawl::os {

struct RunSetup {
  SandboxSpec spec;
  std::optional<RunUser> user;  // as root only
  // Home and tmp below L3.
  std::optional<ScratchFolder> folders;
  Path program;
  std::vector<std::string> argv;  // of bubblewrap or of the shim itself
  std::string plan;               // for the shim, see os/shim/protocol.h

  static Result<RunSetup> Make(const SandboxSpec& spec, const SandboxProbe& probe);
};

// pawl-shim beside the running program or in ../libexec/pawl.
Result<Path> FindShim();

}  // namespace pawl::os
