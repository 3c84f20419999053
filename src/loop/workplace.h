// Makes the folders that one commit is run in: its tree by object id, the locked harness over it,
// the incumbent's build folder copied in, the setup result, an empty run folder.
#pragma once

#include <optional>

#include "base/result.h"
#include "loop/session.h"
#include "os/files.h"
#include "run/runner.h"

namespace pawl::loop {

// Removed with everything in it when it goes out of scope.
struct PreparedWorkplace {
  os::ScratchFolder folder;
  run::Workplace place;
  os::Path build_dir;  // inside place.tree
};

// `build_from`: the commit whose kept build folder the build may start from. Only at L3, where
// every tree lies at the same path; elsewhere builds start from nothing.
Result<PreparedWorkplace> PrepareWorkplace(Session& session, const Writer& writer,
                                           const LiveCampaign& live,
                                           const campaign::CommitId& commit,
                                           const std::optional<campaign::CommitId>& build_from);

// Moves the build folder out, as what later candidates' builds start from. Nothing to do without
// commands.build.
Status KeepBuild(Session& session, const LiveCampaign& live, const PreparedWorkplace& prepared,
                 const campaign::CommitId& commit);

// Moves what the commands left in the run folder to its lasting place.
Status KeepRunFolder(Session& session, const PreparedWorkplace& prepared, const os::Path& run_dir);

// A new, empty <state>/runs/<local time>_<7 hex>, as dit-ar names them.
Result<os::Path> MakeRunFolder(const StateFolder& state, const campaign::CommitId& commit);

// Makes files of a sandbox's user Pawl's own.
Status TakeTree(const os::SandboxProbe& probe, const os::Path& path);

}  // namespace pawl::loop
