// The command line that makes bubblewrap build a level L3 sandbox around pawl-shim.
#pragma once

#include <string>
#include <vector>

#include "os/sandbox.h"

namespace pawl::os {

// Where the shim lies inside.
inline constexpr std::string_view kShimInside = "/pawl/shim";

// `as_root`: no user namespace; the shim keeps the rights to change to the run's user and to end
// its processes, and nothing else.
std::vector<std::string> BubblewrapArgv(const SandboxSpec& spec, const Path& bwrap,
                                        const Path& shim, bool as_root);

// Device nodes and driver folders of NVIDIA GPUs that exist on this machine.
std::vector<Path> GpuDevices();
std::vector<Path> GpuFolders();

}  // namespace pawl::os
