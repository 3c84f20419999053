// What the verbs work on. A Session is what every verb starts from; a Writer exists while the state
// lock is held; a LiveCampaign is one campaign's locked rules, read back from the ledger.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "campaign/config.h"
#include "campaign/contract.h"
#include "campaign/git.h"
#include "campaign/harness_lock.h"
#include "campaign/journal.h"
#include "campaign/vault.h"
#include "loop/engine.h"
#include "loop/events.h"
#include "loop/state_folder.h"
#include "os/devices.h"
#include "os/sandbox.h"

namespace pawl::loop {

class Session {
 public:
  static Result<Session> Open(const EngineOptions& options, Observer* observer);

  const EngineOptions& options() const { return options_; }
  const campaign::Config& config() const { return *config_; }
  const std::vector<campaign::ConfigIssue>& notes() const { return notes_; }
  const StateFolder& state() const { return state_; }
  Observer& observer() const { return *observer_; }
  // Probed at the first call, which starts a few processes.
  const os::SandboxProbe& probe();
  // As it was at most a minute ago: asking compilers and drivers starts processes, and a queue of
  // short experiments would spend more on that than on the experiments.
  const os::Machine& machine();
  // kUnsupported when this machine cannot isolate as the config demands.
  Status RequireIsolation();

 private:
  Session(EngineOptions options, campaign::LoadedConfig loaded, Observer* observer);

  EngineOptions options_;
  std::unique_ptr<campaign::Config> config_;  // of stable address: runners refer to it
  std::vector<campaign::ConfigIssue> notes_;
  StateFolder state_;
  Observer* observer_;
  std::unique_ptr<os::SandboxProbe> probe_;
  std::optional<os::Machine> machine_;
  Monotonic::time_point machine_seen_;
};

// The state folder, which ignores itself, so that a project needs no line in its .gitignore.
Status MakeStateFolder(const StateFolder& state);

struct Writer {
  campaign::Journal journal;
  campaign::Vault vault;
  campaign::Worktree worktree;
};
// Takes the state lock, makes the state folder when there is none, and recovers what a dead process
// left open.
Result<Writer> OpenWriter(Session& session);

struct LiveCampaign {
  campaign::CampaignRow row;
  campaign::Contract contract;
  campaign::HarnessLock lock;
  std::string lock_sha256;

  campaign::CommitId root() const { return {row.root_commit}; }
  campaign::CommitId incumbent() const { return {row.incumbent_commit}; }
  bool baselined() const { return row.state == "baselined"; }
};
// The campaign of the checked-out branch and this config; kNotFound "run `pawl init`".
Result<LiveCampaign> LoadCampaign(const Session& session, const Writer& writer);

// Changed paths of the work tree that are not Pawl's own files.
Result<std::vector<std::string>> DirtyPaths(const Session& session,
                                            const campaign::Worktree& worktree);

}  // namespace pawl::loop
