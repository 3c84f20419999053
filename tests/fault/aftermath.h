// What must hold after any fault in a step of the campaign.
#pragma once

#include "fault/campaign.h"

namespace pawl::fault {

// Whatever was acknowledged is on record and the records are sound; the next start names an open
// experiment `interrupted` and leaves nothing of it behind; calling the step once more leads to
// where an uninterrupted one does (with `to_the_end`, all later steps too); exports that were
// removed come back as they were.
testing::AssertionResult Survives(Campaign& campaign, Step step, const Outcome& faulted,
                                  bool to_the_end);

// Either the step went well all the same, or it says what failed and exits with the code for that.
// A signal, a defect of Pawl's own, or a judgement on the idea that an uninterrupted step does not
// end in, is neither. `error` is the errno that was injected, 0 for a killed helper; the words must
// fit it.
testing::AssertionResult SaysWhatFailed(Step step, const Outcome& faulted, int error);

}  // namespace pawl::fault
