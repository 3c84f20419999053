// `index` and `search`: the knowledge at hand.
#include "base/text.h"
#include "campaign/config.h"
#include "cli/verbs.h"
#include "memory/knowledge.h"

namespace pawl::cli {

namespace {

Result<memory::Knowledge> OpenKnowledge(const campaign::Config& config) {
  PAWL_TRY(os::MakeFolders(config.state_dir));
  return memory::Knowledge::Open(config.state_dir / "knowledge.sqlite3", config.knowledge_dirs);
}

Json HitJson(const memory::Hit& hit) {
  return JsonObject{{"title", hit.title}, {"heading", hit.heading}, {"path", hit.path},
                    {"line", hit.line},   {"snippet", hit.snippet}, {"score", hit.score}};
}

}  // namespace

Result<int> RunIndex(Context& context, const Arguments& arguments) {
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  PAWL_ASSIGN(memory::Knowledge knowledge, OpenKnowledge(loaded.config));
  PAWL_ASSIGN(const memory::IndexReport report, knowledge.Update(arguments.Has("--rebuild")));
  context.Print(Format("Indexed {} Markdown files -> {}", report.documents,
                       (loaded.config.state_dir / "knowledge.sqlite3").string()));
  for (const std::string& skipped : report.skipped) {
    if (!context.json) context.err.Line("warning: skipped " + PrintableLine(skipped, 400));
  }
  context.PrintJson(JsonObject{{"documents", report.documents},
                               {"sections", report.sections},
                               {"updated", report.updated},
                               {"removed", report.removed},
                               {"skipped", Json::Strings(report.skipped)}});
  return kExitOk;
}

Result<int> RunSearch(Context& context, const Arguments& arguments) {
  PAWL_ASSIGN(const std::int64_t limit, arguments.GetInt("--limit"));
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  PAWL_ASSIGN(memory::Knowledge knowledge, OpenKnowledge(loaded.config));
  PAWL_ASSIGN(const bool stale, knowledge.IsStale());
  if (stale) PAWL_TRY(knowledge.Update(false));
  PAWL_ASSIGN(const std::vector<memory::Hit> hits,
              knowledge.Search(arguments.positional(0), static_cast<int>(limit)));
  JsonArray documents;
  int number = 0;
  for (const memory::Hit& hit : hits) {
    const std::string title = hit.heading.empty() ? hit.title : hit.title + " / " + hit.heading;
    context.Print(Format("[{}] {} — {}:{}", ++number, PrintableLine(title), PrintableLine(hit.path),
                         hit.line));
    context.Print("    " + hit.snippet);
    documents.push_back(HitJson(hit));
  }
  if (hits.empty()) context.Print("No matching knowledge entries.");
  context.PrintJson(JsonObject{{"hits", std::move(documents)}, {"reindexed", stale}});
  return hits.empty() ? kExitNothing : kExitOk;
}

}  // namespace pawl::cli
