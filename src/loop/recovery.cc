#include "loop/recovery.h"

#include "base/text.h"
#include "judge/verdict.h"
#include "loop/leftovers.h"
#include "loop/promotion.h"

namespace pawl::loop {

namespace {

// Judged from what little is known, so that `verify` can do it again.
judge::Evidence InterruptedEvidence(Session& session, const campaign::CampaignRow& campaign,
                                    const campaign::ExperimentRow& row) {
  judge::Evidence evidence;
  evidence.protocol = campaign.opened.StringAt("protocol");
  evidence.isolation = os::LevelName(session.probe().level);
  evidence.trust_candidate = session.options().trust_candidate;
  evidence.declared_class = row.classification;
  evidence.judged_class = row.classification;
  evidence.interrupted = true;
  return evidence;
}

Status NameInterrupted(Session& session, Writer& writer, const campaign::ExperimentRow& row) {
  PAWL_ASSIGN(const campaign::CampaignRow campaign, writer.journal.GetCampaign(row.campaign));
  const judge::Evidence evidence = InterruptedEvidence(session, campaign, row);
  const judge::Verdict verdict = judge::Judge(evidence);
  campaign::Journal::Decision decision;
  decision.experiment = row.id;
  decision.kind = verdict.kind;
  decision.trust = verdict.trust;
  decision.level = evidence.isolation;
  decision.quality = Join(verdict.reasons, "; ");
  decision.evidence = evidence.ToJson();
  PAWL_TRY(writer.journal.Decide(decision));
  session.observer().OnNote(Format("experiment {} ({}) was cut off at stage `{}`; recorded as {}",
                                   row.id, PrintableLine(row.description, 60), row.stage,
                                   campaign::VerdictName(verdict.kind)));
  return OkStatus();
}

}  // namespace

Status Recover(Session& session, Writer& writer) {
  // The state lock is ours, so whatever lies in the work folder belongs to nobody alive. Sandboxes
  // that came up die with the process that started them.
  if (os::Exists(session.state().work())) PAWL_TRY(EndHalfStarted());
  PAWL_TRY(os::RemoveTree(session.state().work()));
  PAWL_TRY(RemoveHalfWritten(session.state()));
  PAWL_ASSIGN(const auto open, writer.journal.OpenExperiments());
  for (const campaign::ExperimentRow& row : open) {
    PAWL_TRY(NameInterrupted(session, writer, row));
  }
  PAWL_ASSIGN(const auto row,
              writer.journal.FindCampaign(writer.worktree.branch, session.config().file.string()));
  if (row && row->state == "baselined") PAWL_TRY(FinishPromotion(session, writer, *row));
  return OkStatus();
}

}  // namespace pawl::loop
