#include "base/text.h"
#include "cli/session.h"

namespace pawl::cli {

Result<int> RunBaseline(Context& context, const Arguments& arguments) {
  using Mode = loop::Engine::BaselineMode;
  const bool force = arguments.Has("--force");
  const bool refresh = arguments.Has("--refresh");
  if (force && refresh) {
    return MakeError(Code::kInvalidArgument, "baseline: --force and --refresh exclude each other",
                     "--refresh keeps the incumbent, --force starts from the original program");
  }
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  PAWL_ASSIGN(const loop::BaselineReport report, engine.Baseline(refresh ? Mode::kRefresh
                                                                 : force ? Mode::kForce
                                                                         : Mode::kFirst));
  RefreshExports(context, engine.config());
  context.Print(Format("Baseline complete: {}={}", report.metric, FormatG(report.value)));
  context.Print("Reference quality metrics: " + report.quality.Canonical());
  context.PrintJson(
      JsonObject{{"metric", report.metric}, {"value", report.value}, {"quality", report.quality}});
  return kExitOk;
}

}  // namespace pawl::cli
