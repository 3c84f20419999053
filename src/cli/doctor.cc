#include "base/text.h"
#include "cli/session.h"

namespace pawl::cli {

namespace {

void PrintList(Context& context, std::string_view heading, const std::vector<std::string>& items) {
  if (items.empty()) return;
  context.Print("");
  context.Print(heading);
  for (const std::string& item : items) context.Print("- " + PrintableLine(item, 600));
}

}  // namespace

Result<int> RunDoctor(Context& context, const Arguments& arguments) {
  PAWL_ASSIGN(loop::Engine engine, OpenEngine(context, arguments, nullptr));
  PAWL_ASSIGN(const loop::DoctorReport report, engine.Doctor());
  const bool sound = report.errors.empty();
  if (context.json) {
    context.PrintJson(JsonObject{{"project", report.project},
                                 {"root", report.root},
                                 {"branch", report.branch},
                                 {"warnings", Json::Strings(report.warnings)},
                                 {"errors", Json::Strings(report.errors)},
                                 {"proposed_reads", Json::Strings(report.proposed_reads)},
                                 {"environment", report.environment},
                                 {"knowledge_documents", report.knowledge_documents},
                                 {"ok", sound}});
    return sound ? kExitOk : kExitSetup;
  }
  if (report.knowledge_created) {
    context.Print(
        Format("Knowledge index created ({} Markdown files).", report.knowledge_documents));
  }
  context.Print("Project: " + PrintableLine(report.project));
  context.Print("Root: " + PrintableLine(report.root));
  context.Print("Branch: " + (report.branch.empty() ? "<none>" : PrintableLine(report.branch)));
  std::vector<std::string> folders;
  for (const campaign::Path& folder : engine.config().knowledge_dirs)
    folders.push_back(folder.string());
  context.Print("Knowledge: " + PrintableLine(Join(folders, ", "), 1000));
  if (const Json* sandbox = report.environment.Find("sandbox")) {
    context.Print("Isolation: " + sandbox->StringAt("level"));
  }
  PrintList(context, "Warnings:", report.warnings);
  if (!report.proposed_reads.empty()) {
    context.Print("");
    context.Print("Commands resolve through folders that the sandbox does not show; consider:");
    context.Print("  sandbox.read = " + Json::Strings(report.proposed_reads).Compact());
  }
  PrintList(context, "Errors:", report.errors);
  if (!sound) return kExitSetup;
  context.Print("");
  context.Print("Doctor: " + context.out.Paint(Tone::kGood, "PASS"));
  return kExitOk;
}

}  // namespace pawl::cli
