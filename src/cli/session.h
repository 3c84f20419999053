// What most verbs begin with: the engine of the configured campaign, or a reader of its records.
#pragma once

#include <memory>

#include "campaign/config.h"
#include "campaign/journal.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "loop/engine.h"

namespace pawl::cli {

// Engine with options taken from --isolation and --trust-candidate where the verb has them.
Result<loop::Engine> OpenEngine(Context& context, const Arguments& arguments,
                                loop::Observer* observer);

// Records without the lock, and the campaign of this branch and configuration.
struct Reading {
  campaign::Config config;
  campaign::Journal journal;
  std::optional<campaign::CampaignRow> campaign;  // absent before init
};
Result<Reading> OpenReading(const Context& context);

// After anything was recorded: brings dit-ar's files up to date. A failure is a warning: the ledger
// is the record, and the next verb writes them again.
void RefreshExports(Context& context, const campaign::Config& config);

}  // namespace pawl::cli
