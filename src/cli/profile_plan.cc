#include "base/text.h"
#include "base/time.h"
#include "campaign/config.h"
#include "cli/verbs.h"

namespace pawl::cli {

Result<int> RunProfilePlan(Context& context, const Arguments& /*arguments*/) {
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  const campaign::Config& config = loaded.config;
  const os::Path folder = config.state_dir / "profiles" / CompactLocal(UnixMicros());
  PAWL_TRY(os::MakeFolders(folder));
  std::string command;
  if (const std::string* configured = config.Command(campaign::Stage::kProfile)) {
    PAWL_ASSIGN(command, campaign::FillCommand(*configured, {.root = config.root.string(),
                                                             .run_dir = folder.string(),
                                                             .setup_dir = {},
                                                             .seed = "0"}));
    context.Print(command);
  } else {
    context.Print("No commands.profile is configured. A starting point:");
    context.Print(Format("  nsys profile -o {}/trace <perf command>", ShellQuote(folder.string())));
    context.Print("Rank GPU time by total contribution before looking into one kernel with ncu.");
  }
  context.PrintJson(JsonObject{{"folder", folder.string()}, {"command", command}});
  return kExitOk;
}

}  // namespace pawl::cli
