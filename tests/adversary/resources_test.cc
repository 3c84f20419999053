// Candidates that take all there is, or never end. Each bound has its own verdict, the campaign
// goes on, and nothing of the candidate is left behind.
#include "adversary/adversary.h"
#include "base/text.h"

namespace pawl::adversary {
namespace {

std::string InPerf(std::string_view shell) {
  return Format("if test $stage = perf; then\n{}\nfi\n", shell);
}

class Resources : public testing::TestWithParam<const char*> {
 protected:
  static ProjectOptions Options(std::vector<std::pair<std::string, Json>> config) {
    ProjectOptions options;
    options.level = GetParam();
    options.config = std::move(config);
    return WithAttack(options);
  }
  // The next candidate is measured as if nothing had been.
  static void ExpectGoesOn(Project& project) {
    EXPECT_TRUE(Kept(project, project.Try("ops=9\n"), "shared"));
  }
};

TEST_P(Resources, AForkBombIsACrash) {
  Project project(Options({{"sandbox.processes", 40}}));
  PAWL_OPEN_OR_SKIP(project);
  const std::string mark = project.root().string();
  const Outcome outcome = project.Try(InPerf(Format("src/attack fork-bomb 400 {}", mark)));
  EXPECT_TRUE(Refused(project, outcome, "crash", "attack fork-bomb: refused"));
  EXPECT_FALSE(Lives(mark + '\0'));
  ExpectGoesOn(project);
}

TEST_P(Resources, AMemoryBombIsOutOfMemory) {
  Project project(Options({{"sandbox.memory_mb", 96}}));
  PAWL_OPEN_OR_SKIP(project);
  const Outcome alone = project.Try(InPerf("src/attack take-memory 1000"));
  EXPECT_TRUE(Refused(project, alone, "out-of-memory", "perf"));
  // Each of them is within the bound; together they are not.
  const Outcome together = project.Try(InPerf("src/attack take-memory-together 60"));
  EXPECT_TRUE(Refused(project, together, "out-of-memory", "perf"));
  ExpectGoesOn(project);
}

TEST_P(Resources, AFileWithoutEndIsACrash) {
  Project project(Options({{"sandbox.file_size_mb", 4}}));
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome = project.Try(InPerf("src/attack fill-file \"$run_dir/x\" 64"));
  EXPECT_TRUE(Refused(project, outcome, "crash", "perf"));
  const Outcome quality =
      project.Try("judge() { src/attack fill-file \"$run_dir/quality.json\" 64; }\n");
  EXPECT_TRUE(Refused(project, quality, "crash", "quality"));
  ExpectGoesOn(project);
}

TEST_P(Resources, AFloodOfOutputIsCut) {
  Project project(Options({{"sandbox.output_mb", 1}}));
  PAWL_OPEN_OR_SKIP(project);
  const Outcome outcome =
      project.Try(InPerf("echo first words\nsrc/attack flood 48\necho last words"));
  EXPECT_TRUE(Worthless(project, outcome));
  const Outcome record = project.Pawl({"show", Format("{}", outcome.id()), "--log", "perf"});
  EXPECT_NE(record.out.find("first words"), std::string::npos);
  EXPECT_NE(record.out.find("last words"), std::string::npos);
  std::uint64_t stored = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(project.state() / "objects")) {
    if (entry.is_regular_file()) stored += entry.file_size();
  }
  EXPECT_LT(stored, std::uint64_t{3} << 20);
}

TEST_P(Resources, WhateverDoesNotEndIsATimeout) {
  Project project(Options({{"timeouts_seconds.perf", 1}}));
  PAWL_OPEN_OR_SKIP(project);
  const std::string mark = project.root().string();
  const Outcome stopped = project.Try(InPerf("kill -STOP $$"));
  EXPECT_TRUE(Refused(project, stopped, "timeout", "perf"));
  const Outcome stubborn =
      project.Try(InPerf(Format("src/attack daemon 20 \"$run_dir/perf.json\" x {}\n"
                                "trap '' TERM INT HUP\n(trap '' TERM; sleep 30)\nsleep 30",
                                mark)));
  EXPECT_TRUE(Refused(project, stubborn, "timeout", "perf"));
  EXPECT_FALSE(Lives(mark + '\0'));
  ExpectGoesOn(project);
}

INSTANTIATE_TEST_SUITE_P(Levels, Resources, testing::Values("L3", "L2"),
                         [](const auto& level) { return std::string(level.param); });

// Private folders are memory, and count as such.
TEST(PrivateFolders, CannotBeFilledBeyondTheMemoryBound) {
  ProjectOptions options;
  options.config = {{"sandbox.memory_mb", 96}};
  Project project(WithAttack(options));
  PAWL_OPEN_OR_SKIP(project);
  for (const std::string_view place : {"/tmp", "$HOME", "/dev/shm"}) {
    SCOPED_TRACE(place);
    const Outcome outcome =
        project.Try("ops=5\n" + InPerf(Format("src/attack fill-file \"{}/x\" 300", place)));
    EXPECT_EQ(outcome.exit_code, 3) << outcome.Text();
    EXPECT_TRUE(outcome.verdict() == "crash" || outcome.verdict() == "out-of-memory")
        << outcome.Text();
  }
}

// A result counts only when the command that wrote it ended well.
TEST(CrashAtTheEnd, TheFiguresOfACommandThatFailedDoNotCount) {
  Project project;
  PAWL_OPEN_OR_SKIP(project);
  EXPECT_TRUE(Refused(project, project.Try("ops=1\n" + InPerf("trap 'exit 3' EXIT")), "crash",
                      "perf: exit 3"));
  EXPECT_TRUE(Refused(project, project.Try("ops=1\n" + InPerf("trap 'kill -SEGV $$' EXIT")),
                      "crash", "perf: exit 139"));
  EXPECT_TRUE(Refused(project,
                      project.Try("ops=1\nif test $stage = quality; then trap 'exit 1' EXIT; fi\n"),
                      "crash", "quality: exit 1"));
  EXPECT_TRUE(Refused(project, project.Try("ops=1\ntest $stage != smoke\n"), "crash", "smoke"));
}

}  // namespace
}  // namespace pawl::adversary
