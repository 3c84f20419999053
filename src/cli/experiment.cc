#include "base/text.h"
#include "cli/session.h"
#include "cli/verdict_text.h"

namespace pawl::cli {

Result<int> RunExperiment(Context& context, const Arguments& arguments) {
  Progress progress(context);
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, &progress));
  loop::ExperimentRequest request;
  request.description = arguments.Get("--description");
  request.classification = arguments.Get("--classification");
  request.source = arguments.Get("--source");
  request.expects = arguments.Get("--expects");
  request.track = arguments.Get("--track");
  PAWL_ASSIGN(const loop::ExperimentReport report, engine.Experiment(request));
  RefreshExports(context, engine.config());
  for (const std::string& line : VerdictLines(report.verdict, engine.config().objective.metric)) {
    context.Print(line);
  }
  context.Print(Format("evidence: {} show {}", context.program, report.id));
  context.PrintJson(JsonObject{{"experiment", report.id},
                               {"commit", report.commit},
                               {"branch_moved", report.branch_moved},
                               {"verdict", report.verdict.ToJson()}});
  if (report.verdict.kind == campaign::VerdictKind::kInterrupted) return kExitInterrupted;
  return report.verdict.kind == campaign::VerdictKind::kKeep ? kExitOk : kExitRefused;
}

}  // namespace pawl::cli
