// Files that dit-ar's users read, rebuilt from the ledger at any time: results.tsv, best.json,
// session.json, fixed_hashes.json, baseline/ and the run folders' JSON files. Deleting them loses
// nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/config.h"
#include "campaign/journal.h"

namespace pawl::report {

// dit-ar's columns in its order and form (CRLF, quoting), then campaign, experiment, trust,
// isolation, source, expects, track, proposer.
std::string ResultsTsvHeading();
std::string ResultsTsvRow(const campaign::CampaignRow& campaign,
                          const campaign::ExperimentRow& experiment);

// Writes whatever of the compat files is missing or behind. The first campaign of a state folder
// has dit-ar's places; later lanes have theirs below lanes/<lane>/.
Status WriteExports(const campaign::Journal& journal, const campaign::Config& config);

}  // namespace pawl::report
