// `show N`: everything that is known about one experiment, from the records alone.
#include "base/text.h"
#include "base/time.h"
#include "cli/session.h"
#include "cli/verdict_text.h"
#include "judge/verdict.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kDiffLines = 40;

void PrintField(Context& context, std::string_view name, std::string_view value) {
  if (!value.empty()) context.Print(Format("{:12}{}", name, PrintableLine(value, 400)));
}

Result<std::string> StoredText(const campaign::Journal& journal, std::string_view sha256) {
  const auto hash = Sha256::FromHex(sha256);
  if (!hash) return std::string();
  return journal.artifacts().Get(*hash);
}

void PrintDiff(Context& context, std::string_view diff, bool whole) {
  std::size_t count = 0;
  for (const std::string_view line : Split(diff, '\n')) {
    if (!whole && count++ == kDiffLines) {
      context.Print("  ... (--diff shows all)");
      return;
    }
    const Tone tone = line.starts_with("+")   ? Tone::kGood
                      : line.starts_with("-") ? Tone::kBad
                                              : Tone::kPlain;
    context.Print("  " + context.out.Paint(tone, PrintableLine(line, 400)));
  }
}

void PrintRuns(Context& context, const std::vector<campaign::RunRecord>& runs) {
  if (runs.empty()) return;
  TextTable table({"stage", "run", "end", "wall", "cpu", "peak MB"});
  for (std::size_t column = 3; column < 6; ++column) table.AlignRight(column);
  for (const campaign::RunRecord& run : runs) {
    const Json& outcome = run.outcome;
    const std::string end = outcome.StringAt("end");
    table.AddRow({run.stage, Format("{}", run.index),
                  end == "exited" ? Format("exit {}", outcome.IntAt("exit_code")) : end,
                  FormatSeconds(outcome.DoubleAt("wall_s")),
                  FormatSeconds(outcome.DoubleAt("cpu_s")),
                  Format("{:.1f}", outcome.DoubleAt("peak_rss_bytes") / 1e6)});
  }
  context.Print("");
  context.Print(Trim(table.Render()));
}

Json RunJson(const campaign::RunRecord& run) {
  return JsonObject{{"stage", run.stage},
                    {"index", run.index},
                    {"command", run.command},
                    {"outcome", run.outcome},
                    {"seed", run.seed},
                    {"log_sha256", run.log_sha256},
                    {"perf_sha256", run.perf_sha256},
                    {"quality_sha256", run.quality_sha256}};
}

Result<int> PrintLog(Context& context, const campaign::Journal& journal,
                     const std::vector<campaign::RunRecord>& runs, std::string_view stage) {
  std::string text;
  for (const campaign::RunRecord& run : runs) {
    if (run.stage != stage) continue;
    PAWL_ASSIGN(const std::string log, StoredText(journal, run.log_sha256));
    text += log;
  }
  if (!context.json) context.out.Line(Printable(text, 4000));
  context.PrintJson(JsonObject{{"stage", stage}, {"log", Printable(text, 4000)}});
  return kExitOk;
}

}  // namespace

Result<int> RunShow(Context& context, const Arguments& arguments) {
  std::string_view word = arguments.positional(0);
  if (word.starts_with("#")) word.remove_prefix(1);
  const std::optional<std::int64_t> id = ParseInt(word);
  if (!id) {
    return MakeError(Code::kInvalidArgument,
                     Format("show: `{}` is no experiment number", PrintableLine(word)),
                     "`pawl summary` lists the experiments");
  }
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  PAWL_ASSIGN(const campaign::Journal journal,
              campaign::Journal::OpenReader(loaded.config.state_dir));
  PAWL_ASSIGN(const campaign::ExperimentRow row, journal.GetExperiment(*id));
  PAWL_ASSIGN(const std::vector<campaign::RunRecord> runs, journal.Runs(*id));
  if (arguments.Has("--log")) return PrintLog(context, journal, runs, arguments.Get("--log"));

  Json evidence_json;
  std::optional<judge::Verdict> verdict;
  if (row.status != "open") {
    PAWL_ASSIGN(evidence_json, journal.Evidence(*id));
    if (const Json* stored = evidence_json.Find("evidence")) {
      PAWL_ASSIGN(const judge::Evidence evidence, judge::Evidence::FromJson(*stored));
      verdict = judge::Judge(evidence);
    }
  }
  PAWL_ASSIGN(const std::string diff, StoredText(journal, row.diff_sha256));
  PAWL_ASSIGN(const campaign::CampaignRow campaign, journal.GetCampaign(row.campaign));

  PrintField(context, "experiment", Format("#{} in lane {}", row.id, campaign.lane));
  PrintField(context, "commit", row.commit);
  PrintField(context, "incumbent", row.incumbent);
  PrintField(context, "hypothesis", row.description);
  PrintField(context, "class", row.classification);
  PrintField(context, "source", row.source);
  PrintField(context, "expects", row.expects);
  PrintField(context, "track", row.track);
  PrintField(context, "proposer", row.proposer);
  PrintField(context, "admitted", IsoUtc(row.admitted_us));
  PrintField(context, "isolation", row.level);
  context.Print("");
  if (verdict) {
    for (const std::string& line : VerdictLines(*verdict, campaign.opened.StringAt("metric"))) {
      context.Print(line);
    }
  } else {
    context.Print("open, at stage " + row.stage);
  }
  PrintRuns(context, runs);
  if (!diff.empty()) {
    context.Print("");
    PrintDiff(context, diff, arguments.Has("--diff"));
  }
  JsonArray run_documents;
  for (const campaign::RunRecord& run : runs) run_documents.push_back(RunJson(run));
  context.PrintJson(JsonObject{{"experiment", row.id},
                               {"campaign", row.campaign},
                               {"commit", row.commit},
                               {"incumbent", row.incumbent},
                               {"description", row.description},
                               {"status", row.status},
                               {"trust", row.trust},
                               {"isolation", row.level},
                               {"runs", std::move(run_documents)},
                               {"record", std::move(evidence_json)},
                               {"verdict", verdict ? verdict->ToJson() : Json()},
                               {"diff", diff}});
  return kExitOk;
}

}  // namespace pawl::cli
