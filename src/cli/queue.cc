#include "loop/queue_driver.h"

#include "base/text.h"
#include "cli/session.h"
#include "cli/verdict_text.h"

namespace pawl::cli {

namespace {

void PrintTable(Context& context, const loop::QueueReport& report, const std::string& metric) {
  TextTable table({"#", "verdict", "patch", "why", "trust", "look"});
  table.AlignRight(0);
  for (const loop::QueueItem& item : report.items) {
    table.AddRow(
        {Format("{}", item.experiment), std::string(campaign::VerdictName(item.verdict.kind)),
         PrintableLine(item.patch.name, 40), PrintableLine(VerdictReason(item.verdict, metric), 70),
         std::string(campaign::TrustName(item.verdict.trust)),
         Format("{} show {}", context.program, item.experiment)});
  }
  context.Print("");
  context.Print(Trim(table.Render()));
}

}  // namespace

Result<int> RunQueue(Context& context, const Arguments& arguments) {
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  Result<loop::QueueReport> driven = loop::DriveQueue(engine, arguments.positional(0));
  RefreshExports(context, engine.config());
  PAWL_ASSIGN(const loop::QueueReport report, std::move(driven));
  if (!report.items.empty()) PrintTable(context, report, engine.config().objective.metric);
  if (report.items.empty()) {
    context.Print("No *.patch or *.diff file in " + PrintableLine(arguments.positional(0)));
  }
  std::int64_t keeps = 0;
  JsonArray items;
  for (const loop::QueueItem& item : report.items) {
    keeps += item.verdict.kind == campaign::VerdictKind::kKeep ? 1 : 0;
    items.push_back(JsonObject{{"patch", item.patch.name},
                               {"experiment", item.experiment},
                               {"skipped", item.skipped},
                               {"verdict", item.verdict.ToJson()}});
  }
  context.Print(Format("{} of {} patches kept", keeps, report.items.size()));
  if (keeps > 0) {
    context.Print(
        "The branch moved on; your files are as they were. If you changed none of them, "
        "`git reset --hard` brings them up to date.");
  }
  context.PrintJson(JsonObject{{"items", std::move(items)}, {"stopped", report.stopped}});
  return report.stopped ? kExitInterrupted : kExitOk;
}

}  // namespace pawl::cli
