#include "loop/session.h"

#include <algorithm>

#include "base/text.h"
#include "loop/recovery.h"
#include "os/process.h"

namespace pawl::loop {

using campaign::Config;

namespace {

Observer& SilentObserver() {
  static Observer silent;
  return silent;
}

}  // namespace

Session::Session(EngineOptions options, campaign::LoadedConfig loaded, Observer* observer)
    : options_(std::move(options)),
      config_(std::make_unique<Config>(std::move(loaded.config))),
      notes_(std::move(loaded.notes)),
      state_(config_->state_dir),
      observer_(observer == nullptr ? &SilentObserver() : observer) {}

Result<Session> Session::Open(const EngineOptions& options, Observer* observer) {
  PAWL_ASSIGN(campaign::LoadedConfig loaded, campaign::LoadConfig(options.config_file));
  return Session(options, std::move(loaded), observer);
}

const os::SandboxProbe& Session::probe() {
  if (!probe_) probe_ = std::make_unique<os::SandboxProbe>(os::ProbeSandbox(options_.ceiling));
  return *probe_;
}

const os::Machine& Session::machine() {
  if (!machine_ || Monotonic::now() - machine_seen_ > std::chrono::minutes(1)) {
    machine_ = os::ProbeMachine();
    machine_seen_ = Monotonic::now();
  }
  return *machine_;
}

Status Session::RequireIsolation() {
  const os::IsolationLevel least = config().sandbox.min_level;
  const os::IsolationLevel level = probe().level;
  const bool by_flag = level == os::IsolationLevel::kL0 && least == os::IsolationLevel::kL1 &&
                       options_.trust_candidate;
  if (level >= least || by_flag) return OkStatus();
  const std::string why = Join(probe().findings, "; ");
  return MakeError(os::MachineCode(why).value_or(Code::kUnsupported),
                   Format("this machine isolates commands at {}, sandbox.min_level asks for {}{}{}",
                          os::LevelName(level), os::LevelName(least), why.empty() ? "" : ": ",
                          PrintableLine(why, 600)),
                   "`pawl doctor` says what is missing");
}

Status MakeStateFolder(const StateFolder& state) {
  PAWL_TRY(os::MakeFolders(state.path()));
  const os::Path ignore = state.path() / ".gitignore";
  if (os::Exists(ignore)) return OkStatus();
  return os::WriteFileAtomic(ignore, "*\n", {.durable = false});
}

Result<Writer> OpenWriter(Session& session) {
  PAWL_ASSIGN(campaign::Worktree worktree, campaign::OpenWorktree(session.config().root));
  PAWL_TRY(MakeStateFolder(session.state()));
  PAWL_ASSIGN(campaign::Journal journal, campaign::Journal::OpenWriter(session.state().path()));
  PAWL_ASSIGN(campaign::Vault vault, campaign::Vault::Open(session.state().path()));
  Writer writer{std::move(journal), std::move(vault), std::move(worktree)};
  PAWL_TRY(Recover(session, writer));
  return writer;
}

Result<LiveCampaign> LoadCampaign(const Session& session, const Writer& writer) {
  const Config& config = session.config();
  PAWL_ASSIGN(auto row, writer.journal.FindCampaign(writer.worktree.branch, config.file.string()));
  if (!row) {
    return MakeError(
        Code::kNotFound,
        Format("no campaign is open on branch `{}` with {}", PrintableLine(writer.worktree.branch),
               PrintableLine(config.file.string())),
        "run `pawl init`");
  }
  LiveCampaign live;
  live.row = std::move(*row);
  const Json* contract = live.row.opened.Find("contract");
  if (contract == nullptr) return MakeError(Code::kCorrupt, "campaign-opened names no contract");
  PAWL_ASSIGN(live.contract,
              campaign::ParseContract(*contract, config.contract_file.string(), config.protocol));
  live.lock_sha256 = live.row.opened.StringAt("lock_sha256");
  const auto hash = Sha256::FromHex(live.lock_sha256);
  if (!hash) return MakeError(Code::kCorrupt, "campaign-opened names no harness lock");
  PAWL_ASSIGN(const std::string bytes, writer.journal.artifacts().Get(*hash));
  PAWL_ASSIGN(const Json lock, ParseJson(bytes, "harness lock"));
  PAWL_ASSIGN(live.lock, campaign::HarnessLock::FromJson(lock));
  return live;
}

Result<std::vector<std::string>> DirtyPaths(const Session& session,
                                            const campaign::Worktree& worktree) {
  PAWL_ASSIGN(std::vector<std::string> dirty, campaign::DirtyPaths(worktree));
  const auto own = [&](const std::string& path) {
    const os::Path absolute = (worktree.top / path).lexically_normal();
    const os::Path relative = absolute.lexically_relative(session.state().path());
    return absolute == session.config().results_tsv ||
           (!relative.empty() && *relative.begin() != "..");
  };
  std::erase_if(dirty, own);
  return dirty;
}

}  // namespace pawl::loop
