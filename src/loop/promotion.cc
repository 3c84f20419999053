#include "loop/promotion.h"

#include <algorithm>

#include "base/text.h"

namespace pawl::loop {

using campaign::CommitId;

namespace {

constexpr std::string_view kDone = "promotion: ";

std::string BranchRef(std::string_view branch) {
  return Format("refs/heads/{}", branch);
}

}  // namespace

Json PromotionIntent(const Writer& writer, const LiveCampaign& live, const CommitId& candidate) {
  const auto at = campaign::ResolveCommit(writer.worktree.top, BranchRef(live.row.branch));
  if (!at.ok() || *at == candidate || !(*at == live.incumbent())) return {};
  return JsonObject{{"branch", live.row.branch}, {"from", at->hex}};
}

Result<bool> Promote(Session& session, Writer& writer, const campaign::CampaignRow& row,
                     std::int64_t experiment, const Json& intent) {
  const os::Path& repository = writer.worktree.top;
  const CommitId from{intent.StringAt("from")};
  const CommitId to{row.incumbent_commit};
  const std::string branch = intent.StringAt("branch");
  const auto at = campaign::ResolveCommit(repository, BranchRef(branch));
  bool there = at.ok() && *at == to;
  if (!there && at.ok() && *at == from) {
    PAWL_TRY(writer.vault.Export(repository, to));
    const Status moved = campaign::MoveBranch(repository, branch, from, to,
                                              Format("pawl: keep of experiment {}", experiment));
    if (!moved.ok() && moved.error().code != Code::kConflict) return moved.error();
    there = moved.ok();
  }
  const std::string what =
      there ? Format("branch {} is at {}", branch, to.brief())
            : Format("branch {} was moved by somebody else and is left alone", branch);
  if (!there) session.observer().OnNote(what);
  PAWL_TRY(writer.journal.Note(row.id, experiment, std::string(kDone) + what));
  return there;
}

Status FinishPromotion(Session& session, Writer& writer, const campaign::CampaignRow& row) {
  const Json* intent = row.incumbent.Find("promote");
  if (intent == nullptr || intent->is_null()) return OkStatus();
  PAWL_ASSIGN(const auto history, writer.journal.IncumbentHistory(row.id));
  if (history.empty() || history.back().experiment == 0) return OkStatus();
  const std::int64_t experiment = history.back().experiment;
  PAWL_ASSIGN(const auto notes,
              writer.journal.ledger().Read(
                  {.experiment = experiment, .kind = "note", .after_seq = history.back().seq}));
  const bool done = std::ranges::any_of(notes, [](const store::Event& event) {
    return event.body.StringAt("text").starts_with(kDone);
  });
  if (done) return OkStatus();
  session.observer().OnNote(
      Format("finishing the promotion of experiment {} to branch {}", experiment, row.branch));
  PAWL_TRY(Promote(session, writer, row, experiment, *intent));
  return OkStatus();
}

}  // namespace pawl::loop
