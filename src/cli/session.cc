#include "cli/session.h"

#include "base/text.h"
#include "campaign/git.h"
#include "report/exports.h"

namespace pawl::cli {

Result<loop::Engine> OpenEngine(Context& context, const Arguments& arguments,
                                loop::Observer* observer) {
  loop::EngineOptions options;
  options.config_file = context.config_file;
  options.trust_candidate = arguments.Has("--trust-candidate");
  if (const auto level = os::ParseLevel(arguments.Get("--isolation"))) options.ceiling = *level;
  return loop::Engine::Open(options, observer);
}

Result<Reading> OpenReading(const Context& context) {
  PAWL_ASSIGN(campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  PAWL_ASSIGN(campaign::Journal journal, campaign::Journal::OpenReader(loaded.config.state_dir));
  PAWL_ASSIGN(const campaign::Worktree worktree, campaign::OpenWorktree(loaded.config.root));
  PAWL_ASSIGN(auto row, journal.FindCampaign(worktree.branch, loaded.config.file.string()));
  return Reading{std::move(loaded.config), std::move(journal), std::move(row)};
}

void RefreshExports(Context& context, const campaign::Config& config) {
  Result<campaign::Journal> journal = campaign::Journal::OpenReader(config.state_dir);
  const Status written =
      journal.ok() ? report::WriteExports(*journal, config) : Status(std::move(journal).error());
  if (!written.ok() && !context.json) {
    context.err.Line("warning: results.tsv and its companions are behind: " +
                     Printable(written.error().Text()));
  }
}

}  // namespace pawl::cli
