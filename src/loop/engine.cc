#include "loop/engine.h"

#include "loop/experiment.h"
#include "loop/session.h"
#include "loop/verbs.h"

namespace pawl::loop {

struct Engine::Impl {
  explicit Impl(Session opened) : session(std::move(opened)) {}

  // Opened at the first verb that writes and kept, lock included, for the engine's life. The branch
  // stays that of the campaign, whatever the user checks out meanwhile; the commit follows.
  Result<Writer*> Writing() {
    if (!writer) {
      PAWL_ASSIGN(Writer opened, OpenWriter(session));
      writer.emplace(std::move(opened));
    } else {
      PAWL_ASSIGN(const campaign::Worktree now, campaign::OpenWorktree(session.config().root));
      writer->worktree.head = now.head;
    }
    return &*writer;
  }

  Session session;
  std::optional<Writer> writer;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<Engine> Engine::Open(const EngineOptions& options, Observer* observer) {
  PAWL_ASSIGN(Session session, Session::Open(options, observer));
  return Engine(std::make_unique<Impl>(std::move(session)));
}

const campaign::Config& Engine::config() const {
  return impl_->session.config();
}

Result<DoctorReport> Engine::Doctor() {
  return loop::Doctor(impl_->session);
}

Result<InitReport> Engine::Init(bool new_campaign) {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  return loop::Init(impl_->session, *writer, new_campaign);
}

Result<BaselineReport> Engine::Baseline(BaselineMode mode) {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  return loop::Baseline(impl_->session, *writer, mode);
}

Result<ExperimentReport> Engine::Experiment(const ExperimentRequest& request) {
  PAWL_TRY(impl_->session.RequireIsolation());
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  PAWL_ASSIGN(LiveCampaign live, LoadCampaign(impl_->session, *writer));
  if (!live.baselined()) {
    return MakeError(Code::kConflict, "No best.json. Run baseline first.", "run `pawl baseline`");
  }
  return ExperimentRun(impl_->session, *writer, std::move(live), request).Execute();
}

Result<std::string> Engine::Undo() {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  return loop::Undo(impl_->session, *writer);
}

Result<VerifyReport> Engine::Verify() {
  return loop::Verify(impl_->session);
}

Result<GcReport> Engine::Gc() {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  return loop::Gc(impl_->session, *writer);
}

Result<campaign::CampaignRow> Engine::Campaign() {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  PAWL_ASSIGN(LiveCampaign live, LoadCampaign(impl_->session, *writer));
  return std::move(live.row);
}

Result<std::vector<campaign::ExperimentRow>> Engine::Experiments() {
  PAWL_ASSIGN(const campaign::CampaignRow row, Campaign());
  return impl_->writer->journal.Experiments({.campaign = row.id});
}

Result<judge::Verdict> Engine::VerdictOf(std::int64_t experiment) {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  PAWL_ASSIGN(const Json body, writer->journal.Evidence(experiment));
  const Json* stored = body.Find("evidence");
  if (stored == nullptr) {
    return MakeError(Code::kCorrupt,
                     "experiment " + std::to_string(experiment) + " has no evidence");
  }
  PAWL_ASSIGN(const judge::Evidence evidence, judge::Evidence::FromJson(*stored));
  return judge::Judge(evidence);
}

Result<campaign::CommitId> Engine::CommitPatchOnIncumbent(std::string_view patch,
                                                          std::string_view subject) {
  PAWL_ASSIGN(Writer * writer, impl_->Writing());
  PAWL_ASSIGN(const LiveCampaign live, LoadCampaign(impl_->session, *writer));
  return writer->vault.CommitPatch(live.incumbent(), patch, subject);
}

}  // namespace pawl::loop
