// What keeping records costs: an experiment of 8 events and 10 artifacts, opening, status and the
// checks at 10,000 experiments. Prints; passes or fails nothing.
//
//   store_bench [experiments]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "campaign/journal.h"

namespace {

using pawl::Code;
using pawl::Format;
using pawl::Json;
using pawl::JsonObject;
using pawl::MakeError;
using pawl::Monotonic;
using pawl::OkStatus;
using pawl::ParseInt;
using pawl::Result;
using pawl::SecondsSince;
using pawl::Sha256;
using pawl::Status;
using pawl::campaign::Journal;
namespace campaign = pawl::campaign;
namespace os = pawl::os;
namespace store = pawl::store;

double CpuSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Prints medians, worst cases and the processor's share; keeps the first error.
class Stopwatch {
 public:
  template <class Call>
  void Measure(const char* what, int calls, Call call) {
    std::vector<double> times;
    const double cpu = CpuSeconds();
    for (int i = 0; i < calls && status_.ok(); ++i) {
      const auto start = Monotonic::now();
      status_ = call();
      times.push_back(SecondsSince(start) * 1e3);
    }
    if (!status_.ok()) return;
    std::ranges::sort(times);
    std::printf("%-56s %8.2f ms median %8.2f ms worst %8.2f ms cpu\n", what,
                times[times.size() / 2], times.back(), (CpuSeconds() - cpu) * 1e3 / calls);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

std::string CommitName(std::int64_t number) {
  return Format("{:040x}", number);
}

campaign::RunRecord RunOf(const char* stage, const std::string& log) {
  campaign::RunRecord run;
  run.stage = stage;
  run.command = "./build/attention --shapes all --out {run_dir}/outputs";
  run.outcome = JsonObject{{"end", "exited"}, {"exit_code", 0},  {"wall_s", 0.1234},
                           {"cpu_s", 0.12},   {"level", "L3"},   {"peak_rss_bytes", 12345678},
                           {"log_bytes", 99}, {"log_cut", false}};
  run.log_sha256 = log;
  return run;
}

// 10 artifacts; 8 events: admission, two stages, four runs, verdict. Two commits, or three where
// the timed run lasts and is therefore recorded at once.
Status OneExperiment(Journal& journal, std::int64_t number, bool long_run) {
  const auto put = [&](const char* what) -> Result<std::string> {
    PAWL_ASSIGN(const Sha256 hash,
                journal.artifacts().Put(Format("{} {} {}", what, number, std::string(3000, 'x'))));
    return hash.hex();
  };
  Journal::Admission admission;
  admission.campaign = 1;
  admission.commit.hex = CommitName(number + 2);
  admission.parent.hex = admission.incumbent.hex = CommitName(1);
  admission.description = "tile the inner loop by 64 and keep the accumulators in registers";
  admission.classification = "exact";
  admission.run_dir = "/home/somebody/project/.autoresearch/runs/20261130_090807_1234567";
  PAWL_ASSIGN(admission.diff_sha256, put("diff"));
  PAWL_ASSIGN(const std::int64_t id, journal.Admit(admission));
  PAWL_TRY(journal.RecordStage(id, "materialised"));
  for (const char* stage : {"build", "smoke", "perf", "quality"}) {
    PAWL_ASSIGN(const std::string log, put(stage));
    PAWL_TRY(put(Format("{} result", stage).c_str()));
    const bool now = long_run && std::string_view(stage) == "perf";
    PAWL_TRY(journal.RecordRun(id, RunOf(stage, log),
                               now ? campaign::Commit::kNow : campaign::Commit::kWithNext));
  }
  PAWL_TRY(put("evidence"));
  PAWL_TRY(journal.RecordStage(id, "judged"));
  Journal::Decision decision;
  decision.experiment = id;
  decision.kind =
      number % 3 == 0 ? campaign::VerdictKind::kCrash : campaign::VerdictKind::kDiscardPerformance;
  decision.level = "L3";
  decision.quality = "pass";
  decision.best_before = 1.0;
  decision.candidate = 1.1;
  decision.evidence = JsonObject{{"version", 1}, {"perf", std::string(600, 'p')}};
  return journal.Decide(decision);
}

Status Start(const os::Path& state) {
  PAWL_ASSIGN(Journal journal, Journal::OpenWriter(state));
  PAWL_TRY(journal.OpenCampaign(JsonObject{{"branch", "research"},
                                           {"config_path", "latency.json"},
                                           {"root_commit", CommitName(1)},
                                           {"metric", "wall"}}));
  return journal.RecordBaseline(1, JsonObject{{"objective_value", 1.0}});
}

// A large ledger: the events of one experiment again and again under other numbers, many in one
// transaction.
Status Fill(const os::Path& state, std::int64_t experiments) {
  PAWL_TRY(Start(state));
  PAWL_ASSIGN(Journal journal, Journal::OpenWriter(state));
  PAWL_TRY(OneExperiment(journal, 0, false));
  PAWL_ASSIGN(const std::vector<store::Event> pattern, journal.ledger().Read({.experiment = 1}));
  std::vector<store::NewEvent> batch;
  for (std::int64_t id = 2; id <= experiments; ++id) {
    for (const store::Event& event : pattern) {
      Json body = event.body;
      if (body.Find("commit") != nullptr) (*body.AsObject())["commit"] = CommitName(id + 2);
      batch.push_back({.kind = event.kind, .campaign = 1, .experiment = id, .body = body});
    }
    if (id % 500 != 0 && id != experiments) continue;
    PAWL_TRY(journal.ledger().Append(batch));
    batch.clear();
  }
  return OkStatus();
}

Status MeasureWriting(const os::Path& parent) {
  PAWL_ASSIGN(const os::ScratchFolder folder, os::ScratchFolder::Make(parent, "store-bench-"));
  PAWL_TRY(Start(folder.path()));
  PAWL_ASSIGN(Journal journal, Journal::OpenWriter(folder.path()));
  std::int64_t number = 0;
  Stopwatch watch;
  watch.Measure("experiment: 8 events, 10 artifacts, 2 commits", 41,
                [&] { return OneExperiment(journal, number++, false); });
  watch.Measure("experiment: the same with its timed run durable at once", 41,
                [&] { return OneExperiment(journal, number++, true); });
  watch.Measure("one commit (a note)", 41, [&] { return journal.Note(1, 0, "x"); });
  return watch.status();
}

Status MeasureReading(const os::Path& state, std::int64_t experiments) {
  Stopwatch watch;
  std::printf("at %lld experiments:\n", static_cast<long long>(experiments));
  watch.Measure("open for reading", 11, [&]() -> Status {
    PAWL_TRY(Journal::OpenReader(state));
    return OkStatus();
  });
  watch.Measure("open for writing", 11, [&]() -> Status {
    PAWL_TRY(Journal::OpenWriter(state));
    return OkStatus();
  });
  watch.Measure("status: open, campaigns, counts, last 10, open ones", 11, [&]() -> Status {
    PAWL_ASSIGN(const Journal journal, Journal::OpenReader(state));
    PAWL_TRY(journal.Campaigns());
    PAWL_TRY(journal.VerdictCounts(1));
    PAWL_TRY(journal.HasSharedKeep(1));
    PAWL_TRY(journal.Experiments({.campaign = 1, .status = {}, .limit = 10}));
    PAWL_TRY(journal.OpenExperiments());
    return OkStatus();
  });
  PAWL_ASSIGN(const Journal journal, Journal::OpenReader(state));
  watch.Measure("all rows of all experiments", 11, [&]() -> Status {
    PAWL_TRY(journal.Experiments({}));
    return OkStatus();
  });
  watch.Measure("verify: chain", 3, [&]() -> Status {
    PAWL_ASSIGN(const store::ChainReport report, journal.ledger().VerifyChain());
    if (report.problems.empty()) return OkStatus();
    return MakeError(Code::kCorrupt, report.problems.front());
  });
  watch.Measure("verify: derived tables", 3, [&]() -> Status {
    PAWL_TRY(journal.ledger().VerifyProjection());
    return OkStatus();
  });
  watch.Measure("verify: names of the artifacts that must be there", 3, [&]() -> Status {
    PAWL_TRY(journal.RequiredArtifacts());
    return OkStatus();
  });
  return watch.status();
}

Status Run(std::int64_t experiments) {
  const os::Path parent = std::filesystem::current_path();
  PAWL_TRY(MeasureWriting(parent));
  for (const std::int64_t count : {experiments / 10, experiments}) {
    PAWL_ASSIGN(const os::ScratchFolder folder, os::ScratchFolder::Make(parent, "store-bench-"));
    PAWL_TRY(Fill(folder.path(), count));
    PAWL_TRY(MeasureReading(folder.path(), count));
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::int64_t experiments = argc > 1 ? ParseInt(argv[1]).value_or(10'000) : 10'000;
  const Status status = Run(experiments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return 1;
}
