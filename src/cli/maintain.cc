// `undo`, `verify`, `gc`: care for a campaign's records.
#include "base/text.h"
#include "cli/session.h"

namespace pawl::cli {

Result<int> RunUndo(Context& context, const Arguments& arguments) {
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  PAWL_ASSIGN(const std::string incumbent, engine.Undo());
  RefreshExports(context, engine.config());
  context.Print("Incumbent is now " + incumbent);
  context.Print(
      Format("Your branches were not moved; `git reset --hard {}` takes the branch there.",
             incumbent.substr(0, 7)));
  context.PrintJson(JsonObject{{"incumbent", incumbent}});
  return kExitOk;
}

Result<int> RunVerify(Context& context, const Arguments& arguments) {
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  PAWL_ASSIGN(const loop::VerifyReport report, engine.Verify());
  const bool sound = report.problems.empty();
  context.Print(Format("{} events, {} stored files, {} verdicts checked", report.events,
                       report.artifacts, report.verdicts));
  for (const std::string& problem : report.problems) {
    context.Print("- " + PrintableLine(problem, 600));
  }
  context.Print(std::string("Verify: ") + (sound ? context.out.Paint(Tone::kGood, "PASS")
                                                 : context.out.Paint(Tone::kBad, "FAIL")));
  context.PrintJson(JsonObject{{"events", report.events},
                               {"artifacts", report.artifacts},
                               {"verdicts", report.verdicts},
                               {"problems", Json::Strings(report.problems)},
                               {"ok", sound}});
  return sound ? kExitOk : kExitRefused;
}

Result<int> RunGc(Context& context, const Arguments& arguments) {
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  PAWL_ASSIGN(const loop::GcReport report, engine.Gc());
  RefreshExports(context, engine.config());
  context.Print(Format("Removed {} folders and {} stored files, {} freed", report.folders_removed,
                       report.artifacts_removed, FormatBytes(report.bytes_freed)));
  context.PrintJson(JsonObject{{"folders_removed", report.folders_removed},
                               {"artifacts_removed", report.artifacts_removed},
                               {"bytes_freed", Json::Count(report.bytes_freed)}});
  return kExitOk;
}

}  // namespace pawl::cli
