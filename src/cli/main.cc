// pawl: one program, a verb each. Also installed as `dit-ar`, which behaves the same.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/verbs.h"
#include "os/files.h"
#include "os/process.h"

namespace pawl::cli {
namespace {

// dit-ar's default place first; then the names that a new project would choose.
std::string DefaultConfig() {
  for (const char* candidate : {"config/autoresearch.json", "pawl.toml", "config/pawl.toml"}) {
    if (os::Exists(candidate)) return candidate;
  }
  return "config/autoresearch.json";
}

Result<int> RunVerb(Context& context, const std::vector<std::string>& arguments) {
  PAWL_ASSIGN(const GlobalArguments global, ParseGlobal(arguments));
  context.json = global.json;
  context.config_file = global.config.empty() ? DefaultConfig() : global.config;
  if (global.version) {
    context.out.Line(Format("{} {}", context.program, PAWL_VERSION));
    return kExitOk;
  }
  if (global.help) {
    context.out.Line(Trim(ProgramHelp(context.program)));
    return kExitOk;
  }
  if (global.used == arguments.size()) {
    return MakeError(Code::kInvalidArgument, "the following arguments are required: VERB",
                     Format("`{} --help` lists the verbs", context.program));
  }
  const std::string& name = arguments[global.used];
  const Verb* verb = FindVerb(name);
  if (verb == nullptr) {
    std::vector<std::string_view> names;
    for (const Verb& known : Verbs()) names.push_back(known.name);
    const auto near = Nearest(name, names);
    return MakeError(Code::kInvalidArgument, Format("no such verb: {}", PrintableLine(name)),
                     near ? Format("did you mean `{} {}`?", context.program, *near)
                          : Format("`{} --help` lists the verbs", context.program));
  }
  const std::vector<std::string> rest(
      arguments.begin() + static_cast<std::ptrdiff_t>(global.used) + 1, arguments.end());
  PAWL_ASSIGN(const Arguments parsed, ParseVerb(*verb, rest));
  context.json |= parsed.Has("--json");
  if (parsed.Has("--help")) {
    context.out.Line(Trim(VerbHelp(*verb, context.program)));
    return kExitOk;
  }
  return verb->run(context, parsed);
}

int Main(int argc, char** argv) {
  os::InstallStopSignals();
  const std::string called = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "pawl";
  Context context{.program = called == "dit-ar" ? "dit-ar" : "pawl",
                  .config_file = {},
                  .json = false,
                  .out = Terminal(stdout),
                  .err = Terminal(stderr)};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const Result<int> result = RunVerb(context, arguments);
  int exit_code = result.ok() ? *result : ReportError(context, result.error());
  // A full disk or a closed pipe behind stdout must not look like success.
  if (std::fflush(stdout) != 0 && exit_code == kExitOk) exit_code = kExitSetup;
  return exit_code;
}

}  // namespace
}  // namespace pawl::cli

int main(int argc, char** argv) {
  return pawl::cli::Main(argc, argv);
}
