#include "base/text.h"
#include "loop/verbs.h"

namespace pawl::loop {

Result<std::string> Undo(Session& session, Writer& writer) {
  PAWL_ASSIGN(const LiveCampaign live, LoadCampaign(session, writer));
  PAWL_ASSIGN(const auto previous, writer.journal.PreviousIncumbent(live.row.id));
  if (!previous) {
    return MakeError(Code::kConflict, "the incumbent is the root commit; there is nothing to undo");
  }
  // The step back owes the branch nothing.
  Json body = previous->body;
  if (JsonObject* members = body.AsObject()) members->Erase("promote");
  PAWL_TRY(writer.journal.MoveIncumbent(live.row.id, live.incumbent(), {previous->commit}, "undo",
                                        body));
  return previous->commit;
}

}  // namespace pawl::loop
