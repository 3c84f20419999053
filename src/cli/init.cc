#include "base/text.h"
#include "cli/session.h"

namespace pawl::cli {

Result<int> RunInit(Context& context, const Arguments& arguments) {
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  PAWL_ASSIGN(const loop::InitReport report, engine.Init(arguments.Has("--new-campaign")));
  RefreshExports(context, engine.config());
  if (!report.warning.empty()) context.Print(report.warning);
  context.Print("Initialized state in " + engine.config().state_dir.string());
  context.Print(Format("Locked {} fixed-file hashes", report.locked_files));
  context.Print(Format("Indexed {} knowledge documents", report.knowledge_documents));
  context.Print(Format("Next: {} baseline", context.program));
  context.PrintJson(JsonObject{{"campaign", report.campaign},
                               {"warning", report.warning},
                               {"state_dir", engine.config().state_dir.string()},
                               {"locked_files", report.locked_files},
                               {"knowledge_documents", report.knowledge_documents}});
  return kExitOk;
}

}  // namespace pawl::cli
