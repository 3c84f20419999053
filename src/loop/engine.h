// The experiment state machine: the verbs of the referee as operations on one campaign. Everything
// that the CLI, the queue or a server does to a campaign goes through here.
//
// An experiment: intake -> admit (durable) -> materialise -> check, build, smoke, quality/perf ->
// judge -> record -> promote. At every start, experiments left open by a dead process are finished
// or named interrupted, and leftovers (processes, folders) are ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "campaign/config.h"
#include "campaign/journal.h"
#include "judge/verdict.h"
#include "loop/events.h"
#include "os/sandbox.h"

namespace pawl::loop {

struct EngineOptions {
  os::Path config_file;
  os::IsolationLevel ceiling = os::IsolationLevel::kL3;  // tests and diagnosis of lower levels
  bool trust_candidate = false;                          // allow keeps at L0
};

struct DoctorReport {
  std::string project, root, branch;
  std::vector<std::string> warnings, errors;  // dit-ar's texts first, in its order
  Json environment;                           // machine, sandbox probe
  std::vector<std::string> proposed_reads;    // what sandbox.read should list
  std::int64_t knowledge_documents = 0;
  bool knowledge_created = false;
};

struct InitReport {
  std::int64_t campaign = 0;
  std::string warning;  // dit-ar's branch name warning
  std::int64_t locked_files = 0;
  std::int64_t knowledge_documents = 0;
};

struct BaselineReport {
  std::string metric;
  double value = 0;
  Json quality;  // reference quality metrics
};

struct ExperimentRequest {
  std::string revision = "HEAD";  // what to judge; resolved in the user's repository
  std::optional<campaign::CommitId>
      vault_commit;   // or a commit that is in Pawl's repository already
  std::string patch;  // or a patch to put on the incumbent; first choice when set
  std::string description;
  std::string classification = "exact";
  std::string source, expects, track;
  std::string proposer = "person";
  bool require_clean = true;  // dit-ar: refuse a dirty tree (a patch does not need it)
};

struct ExperimentReport {
  std::int64_t id = 0;
  judge::Verdict verdict;
  std::string commit;
  bool branch_moved = false;  // campaign branch moved forward in the user's repository
};

struct VerifyReport {
  std::int64_t events = 0, artifacts = 0, verdicts = 0;
  std::vector<std::string> problems;  // empty: everything holds
};

struct GcReport {
  std::int64_t folders_removed = 0, artifacts_removed = 0;
  std::uint64_t bytes_freed = 0;
};

class Engine {
 public:
  // Loads the config; takes no lock yet. The observer may be null and must outlive the engine.
  static Result<Engine> Open(const EngineOptions& options, Observer* observer);

  Result<DoctorReport> Doctor();
  Result<InitReport> Init(bool new_campaign);
  enum class BaselineMode : std::uint8_t { kFirst, kForce, kRefresh };
  Result<BaselineReport> Baseline(BaselineMode mode);
  Result<ExperimentReport> Experiment(const ExperimentRequest& request);
  // Steps the incumbent back to the one before it; recorded. Returns the new incumbent.
  Result<std::string> Undo();
  Result<VerifyReport> Verify();
  Result<GcReport> Gc();

  const campaign::Config& config() const;
  // The campaign of this branch and config; kNotFound "run `pawl init`".
  Result<campaign::CampaignRow> Campaign();
  // Its experiments, oldest first.
  Result<std::vector<campaign::ExperimentRow>> Experiments();
  // The verdict of a decided experiment, from its records.
  Result<judge::Verdict> VerdictOf(std::int64_t experiment);
  // Writer for proposers that need Pawl's repository; kConflict before init.
  Result<campaign::CommitId> CommitPatchOnIncumbent(std::string_view patch,
                                                    std::string_view subject);

  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::loop
