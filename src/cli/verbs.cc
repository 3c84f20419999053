#include "cli/verbs.h"

#include "base/text.h"

namespace pawl::cli {

namespace {

constexpr std::string_view kSourceHelp = "handbook page the idea comes from, or `external`";
constexpr std::string_view kExpectsHelp = "the change of the bottleneck that is hoped for";
constexpr std::string_view kTrackHelp = "direction of research that the idea belongs to";

std::vector<Verb> MakeVerbs() {
  const Option trust_candidate{"--trust-candidate",
                               "",
                               "allow keeps even where nothing isolates the candidate (level L0)",
                               "",
                               {},
                               false};
  const Option ceiling{
      "--isolation", "LEVEL", "use at most this isolation level", "L3", {"L0", "L1", "L2", "L3"},
      false};
  return {
      {"doctor",
       "check configuration, machine and isolation",
       "Checks everything that can be checked without running a command of the harness: the\n"
       "configuration, git, the paths, the machine against `target`, the isolation level, and the\n"
       "folders that commands resolve through. Exit 2 when something must be mended first.",
       {},
       {ceiling},
       &RunDoctor},
      {"init",
       "open a campaign: lock the harness, take HEAD as its root",
       "Opens the campaign of this branch and configuration: checks the configuration whole, "
       "locks\n"
       "the harness by hash and snapshot, and builds the knowledge index.",
       {},
       {{"--new-campaign", "", "close the live campaign and void its baseline", "", {}, false}},
       &RunInit},
      {"index",
       "bring the knowledge index up to date",
       "Reads the knowledge folders' Markdown files.",
       {},
       {{"--rebuild", "", "read everything again", "", {}, false}},
       &RunIndex},
      {"search",
       "search the knowledge",
       "Ranks sections of the knowledge by BM25. Exit 1 when nothing matches.",
       {{"QUERY", "words in any script"}},
       {{"--limit", "N", "number of hits", "8", {}, false}},
       &RunSearch},
      {"baseline",
       "measure the original program",
       "Runs the harness on the campaign's root commit and stores the reference metrics.",
       {},
       {{"--force",
         "",
         "measure anew and replace the reference when the new one is whole",
         "",
         {},
         false},
        {"--refresh",
         "",
         "measure root and incumbent again on this machine; history stays",
         "",
         {},
         false},
        ceiling},
       &RunBaseline},
      {"experiment",
       "judge the commit at HEAD",
       "Takes one commit through intake, runs, judgement and record. Exit 0 on a keep, 3 on any\n"
       "refusal.",
       {},
       {{"--description", "TEXT", "hypothesis in one sentence", "", {}, true},
        {"--classification",
         "CLASS",
         "what the change does to results",
         "exact",
         {"exact", "numerical", "approximate", "quantization"},
         false},
        {"--source", "PAGE", kSourceHelp, "", {}, false},
        {"--expects", "TEXT", kExpectsHelp, "", {}, false},
        {"--track", "NAME", kTrackHelp, "", {}, false},
        trust_candidate,
        ceiling},
       &RunExperiment},
      {"queue",
       "judge every patch of a folder on the incumbent",
       "Puts each *.patch and *.diff file of the folder on the incumbent, in name order, commits "
       "it\n"
       "with its first line as the hypothesis, judges it, and keeps or drops it. Your checkout, "
       "index\n"
       "and branches are not touched, but for the campaign branch moving forward on a keep. A "
       "stopped\n"
       "queue goes on where it was. Exit 0 when every patch was judged, whatever the verdicts.",
       {{"DIR", "folder of patches"}},
       {trust_candidate, ceiling},
       &RunQueue},
      {"status",
       "where the campaign stands",
       "Lanes, incumbent, gain, experiments and the next step.",
       {},
       {},
       &RunStatus},
      {"summary",
       "list the experiments",
       "The last experiments, one line each.",
       {},
       {{"--limit", "N", "number of experiments, 0 for all", "30", {}, false}},
       &RunSummary},
      {"show",
       "explain one experiment",
       "Verdict, reasons, runs, change and evidence of one experiment.",
       {{"N", "number of the experiment"}},
       {{"--diff", "", "the whole change", "", {}, false},
        {"--log", "STAGE", "the stored log of one stage", "", {}, false}},
       &RunShow},
      {"undo",
       "step the incumbent back",
       "Makes the incumbent before the last keep the incumbent again. Recorded; nothing is lost.",
       {},
       {},
       &RunUndo},
      {"verify",
       "check the records",
       "Checks the hash chain, every stored file and the locked harness, and computes every "
       "verdict\n"
       "again from its evidence. Exit 3 when anything does not hold.",
       {},
       {},
       &RunVerify},
      {"gc",
       "free disk space",
       "Removes work folders and stored files that no record names.",
       {},
       {},
       &RunGc},
      {"profile-plan",
       "print how to profile",
       "Makes a profile folder and prints the configured profile command.",
       {},
       {},
       &RunProfilePlan},
  };
}

}  // namespace

std::span<const Verb> Verbs() {
  static const std::vector<Verb> verbs = MakeVerbs();
  return verbs;
}

const Verb* FindVerb(std::string_view name) {
  for (const Verb& verb : Verbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

void Context::PrintJson(const Json& document) {
  if (json) out.Line(document.Compact());
}

void Context::Print(std::string_view line) {
  if (!json) out.Line(line);
}

int ReportError(Context& context, const Error& error) {
  const int exit_code = error.code == Code::kCancelled ? kExitInterrupted : kExitSetup;
  if (context.json) {
    context.PrintJson(JsonObject{{"error", JsonObject{{"code", CodeName(error.code)},
                                                      {"message", error.message},
                                                      {"hint", error.hint}}},
                                 {"exit_code", exit_code}});
    return exit_code;
  }
  context.err.Line(context.err.Paint(Tone::kBad, "ERROR:") + " " + Printable(error.message, 4000));
  if (!error.hint.empty()) context.err.Line("hint: " + Printable(error.hint, 4000));
  return exit_code;
}

}  // namespace pawl::cli
