// The verbs: a table of names, options and functions. One file per verb below this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/terminal.h"
#include "cli/options.h"

namespace pawl::cli {

// Documented in docs/cli.md; the same numbers as dit-ar.
enum ExitCode : int {
  kExitOk = 0,       // success; keep
  kExitNothing = 1,  // search found nothing
  kExitSetup = 2,    // usage, configuration, git, state
  kExitRefused = 3,  // a verdict that is no keep; verify found a problem
  kExitInterrupted = 130,
};

// Everything a verb needs from its surroundings.
struct Context {
  std::string program;  // "pawl" or "dit-ar": used in hints
  std::string config_file;
  bool json = false;
  Terminal out;  // stdout: data
  Terminal err;  // stderr: progress and errors

  // In JSON mode prints `document` and a line break, else nothing.
  void PrintJson(const Json& document);
  // Prints lines that dit-ar prints to stdout; nothing in JSON mode.
  void Print(std::string_view line);
};

struct Verb {
  std::string_view name;
  std::string_view summary;      // one line
  std::string_view description;  // paragraph for the help page
  std::vector<Positional> positionals;
  std::vector<Option> options;
  Result<int> (*run)(Context& context, const Arguments& arguments);
};

std::span<const Verb> Verbs();
const Verb* FindVerb(std::string_view name);

// Prints "ERROR: ..." and a hint line on stderr, or the error as JSON on stdout; returns the code.
int ReportError(Context& context, const Error& error);

Result<int> RunDoctor(Context& context, const Arguments& arguments);
Result<int> RunInit(Context& context, const Arguments& arguments);
Result<int> RunIndex(Context& context, const Arguments& arguments);
Result<int> RunSearch(Context& context, const Arguments& arguments);
Result<int> RunBaseline(Context& context, const Arguments& arguments);
Result<int> RunExperiment(Context& context, const Arguments& arguments);
Result<int> RunQueue(Context& context, const Arguments& arguments);
Result<int> RunStatus(Context& context, const Arguments& arguments);
Result<int> RunSummary(Context& context, const Arguments& arguments);
Result<int> RunShow(Context& context, const Arguments& arguments);
Result<int> RunUndo(Context& context, const Arguments& arguments);
Result<int> RunVerify(Context& context, const Arguments& arguments);
Result<int> RunGc(Context& context, const Arguments& arguments);
Result<int> RunProfilePlan(Context& context, const Arguments& arguments);

}  // namespace pawl::cli
