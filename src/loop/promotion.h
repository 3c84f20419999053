// Moving the campaign branch of the user's repository forward to a kept commit. The ledger decides
// first; the move follows, by compare and swap, and is noted when done. A move that a dead process
// still owed is made at the next start.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "loop/session.h"

namespace pawl::loop {

// The intent, stored with the new incumbent: {branch, from}. Null when the branch needs no move: it
// is at the candidate already (a person committed there) or somewhere else altogether.
Json PromotionIntent(const Writer& writer, const LiveCampaign& live,
                     const campaign::CommitId& candidate);

// Carries the intent out. False when the branch had been moved by somebody else meanwhile.
Result<bool> Promote(Session& session, Writer& writer, const campaign::CampaignRow& row,
                     std::int64_t experiment, const Json& intent);

// For a campaign whose incumbent's intent was recorded and never carried out.
Status FinishPromotion(Session& session, Writer& writer, const campaign::CampaignRow& row);

}  // namespace pawl::loop
