// What the ledger's events mean: the typed layer over store/ledger.h. Campaigns, experiments, runs
// and verdicts are written here as events and read back from derived tables. All writing goes
// through one Journal that holds the state lock; readers open without it.
//
// Every step checks, in the transaction that records it, the state that it comes from: kConflict
// otherwise, and nothing is written. Artifacts that were put before are synced before the events
// that may name them are committed. Event kinds: campaign-opened, campaign-closed,
// baseline-recorded, experiment-admitted, experiment-stage, run-recorded, verdict, incumbent-moved,
// note. docs/formats/ledger.md lists the bodies.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "campaign/config.h"
#include "campaign/git.h"
#include "store/artifacts.h"
#include "store/ledger.h"

namespace pawl::campaign {

// keep, or a named refusal.
enum class VerdictKind : std::uint8_t {
  kKeep,
  kDiscardPerformance,
  kDiscardQuality,
  kDiscardScope,
  kDiscardHarness,
  kDiscardInvalid,
  kCrash,
  kTimeout,
  kOutOfMemory,
  kInterrupted,  // Pawl or its user stopped it; no judgement on the idea
  kInfraFail,    // the machine or Pawl failed; never charged to the idea
};
std::string_view VerdictName(VerdictKind kind);  // "discard-performance"
std::optional<VerdictKind> ParseVerdict(std::string_view name);

// Whether candidate code ran apart from what judged it. See SECURITY.md.
enum class Trust : std::uint8_t { kSeparate, kShared };
std::string_view TrustName(Trust trust);

// One command executed once, as stored.
struct RunRecord {
  std::string stage;           // StageName
  int index = 0;               // 0-based among the runs of that stage
  std::string command;         // as filled in
  Json outcome;                // os::RunOutcome: end, exit_code, wall_s, cpu_s, peak_rss_bytes, ...
  std::string log_sha256;      // artifact
  std::string perf_sha256;     // artifact of perf.json, when this run wrote one
  std::string quality_sha256;  // artifact of quality.json, when this run wrote one
  std::string seed;            // what {seed} was, when used
};

struct CampaignRow {
  std::int64_t id = 0;
  std::string branch, config_path, lane;  // lane: config file's stem
  std::string project;
  std::string root_commit;  // baseline
  std::string incumbent_commit;
  std::string state;  // "open", "baselined", "closed"
  std::int64_t opened_us = 0;
  std::int64_t keeps = 0, experiments = 0;
  double baseline_value = 0, incumbent_value = 0;  // objective; only when baselined
  Json opened;     // body of campaign-opened: config, contract, lock artifact hashes
  Json baseline;   // body of baseline-recorded
  Json incumbent;  // perf, quality, runs of the incumbent as last measured
};

struct ExperimentRow {
  std::int64_t id = 0, campaign = 0;
  std::int64_t admitted_us = 0, decided_us = 0;
  std::string commit, parent, incumbent;  // full ids
  std::string description, classification, source, expects, track, proposer;
  std::string status;  // VerdictName, or "open"
  std::string stage;   // last stage reached
  std::optional<double> best_before, candidate, improvement_pct, peak_vram_mb;
  std::string quality;  // "pass", or reasons joined with "; "
  std::string trust, level;
  std::string run_dir;      // absolute, as in results.tsv
  std::string diff_sha256;  // artifact: unified diff incumbent..candidate, "" before intake
};

struct ExperimentFilter {
  std::optional<std::int64_t> campaign = {};
  std::optional<std::string> status = {};
  std::int64_t limit = 0;  // 0: all; the last ones otherwise, oldest first
};

// A commit that was the incumbent, and what it was measured at then.
struct IncumbentRow {
  std::int64_t seq = 0;  // of the event that made it the incumbent
  std::int64_t time_us = 0;
  std::int64_t experiment = 0;  // 0: the baseline, or moved outside an experiment
  std::string commit, reason;
  double value = 0;  // objective
  Json body;         // perf, quality, runs, as given then
};

// When a record becomes durable: before the call returns, or with the next one that does. What
// waits is lost when Pawl dies, so only what nobody was shown yet may wait.
enum class Commit : std::uint8_t { kNow, kWithNext };

class Journal {
 public:
  // Takes the state lock (kBusy with the holder's note), opens or makes <state>/pawl.sqlite3 and
  // <state>/objects. A ledger of a newer version is refused, a broken end of the chain is kCorrupt
  // (`pawl verify` checks the whole of it).
  static Result<Journal> OpenWriter(const Path& state_dir);
  // Without the lock; kNotFound "run `pawl init`" when there is none.
  static Result<Journal> OpenReader(const Path& state_dir);

  // `body`: branch, config_path and root_commit must be there; lane (default: the config file's
  // stem) and project are known, everything else is the caller's. kAlreadyExists when branch and
  // config have a live campaign, unless that one is `replaces`, which is closed in the same step.
  Result<std::int64_t> OpenCampaign(const Json& body, std::int64_t replaces = 0);
  // Refused while an experiment is open.
  Status CloseCampaign(std::int64_t campaign, std::string_view reason);
  // `body`: objective_value (a number) must be there, the rest is the caller's; it is also what the
  // root commit is judged by as the first incumbent. A second one needs `refresh: true`; then
  // `incumbent` (an object with its objective_value) re-measures an incumbent other than the root.
  Status RecordBaseline(std::int64_t campaign, const Json& body);

  // Durable before anything of the experiment runs. Returns its id. kConflict unless the campaign
  // has a baseline, `incumbent` is its incumbent and no experiment on that commit is open.
  struct Admission {
    std::int64_t campaign = 0;
    CommitId commit, parent, incumbent;
    std::string description, classification, source, expects, track, proposer, run_dir;
    std::string diff_sha256;  // artifact, flushed before
    Json facts;               // CandidateFacts: changed paths, line counts
  };
  Result<std::int64_t> Admit(const Admission& admission);
  Status RecordStage(std::int64_t experiment, std::string_view stage,
                     Commit commit = Commit::kWithNext);
  // `run.index` must be the next one of its stage: nothing is counted twice. A run whose outcome
  // decides or is shown is kNow; the cheap gates before measuring may wait.
  Status RecordRun(std::int64_t experiment, const RunRecord& run, Commit commit = Commit::kNow);
  // Commits what waits.
  Status Flush();

  // Verdict and, on a keep, the incumbent's move: one transaction. kConflict when the experiment is
  // decided already, or on a keep when the incumbent is not the one it was admitted against.
  struct Decision {
    std::int64_t experiment = 0;
    VerdictKind kind = VerdictKind::kInfraFail;
    Trust trust = Trust::kShared;
    std::string level;
    std::optional<double> best_before, candidate, improvement_pct, peak_vram_mb;
    std::string quality;
    Json evidence;  // everything judge needs to compute the same verdict again, plus its result
    // On keep: perf, quality, runs that later candidates are judged against; its value is
    // `objective_value` when there, else `candidate`.
    Json incumbent;
  };
  Status Decide(const Decision& decision);
  // Recorded step back or forward of the incumbent outside an experiment (undo, refresh);
  // `incumbent` holds objective_value. kConflict when `from` is not the incumbent.
  Status MoveIncumbent(std::int64_t campaign, const CommitId& from, const CommitId& to,
                       std::string_view reason, const Json& incumbent);
  Status Note(std::int64_t campaign, std::int64_t experiment, std::string_view text);

  Result<std::optional<CampaignRow>> FindCampaign(
      std::string_view branch,
      std::string_view config_path) const;  // not closed
  Result<std::vector<CampaignRow>> Campaigns() const;
  Result<CampaignRow> GetCampaign(std::int64_t id) const;
  Result<std::vector<ExperimentRow>> Experiments(const ExperimentFilter& filter) const;
  Result<ExperimentRow> GetExperiment(std::int64_t id) const;
  // Decided experiments of a campaign by verdict name.
  Result<std::map<std::string, std::int64_t>> VerdictCounts(std::int64_t campaign) const;
  // Whether some keep of the campaign stands under trust `shared`.
  Result<bool> HasSharedKeep(std::int64_t campaign) const;
  Result<std::vector<RunRecord>> Runs(std::int64_t experiment) const;
  Result<Json> Evidence(std::int64_t experiment) const;  // body of its verdict event
  // Earlier experiments on the same commit, oldest first: a repeated candidate is no new throw.
  Result<std::vector<ExperimentRow>> AttemptsOn(std::int64_t campaign,
                                                const CommitId& commit) const;
  // What the present incumbent replaced, with what is needed to go back to it; absent at the root.
  Result<std::optional<IncumbentRow>> PreviousIncumbent(std::int64_t campaign) const;
  Result<std::vector<IncumbentRow>> IncumbentHistory(std::int64_t campaign) const;  // oldest first
  // What `gc` must keep: every hash that an event mentions, and those that the artifacts of
  // campaign-opened events (config, contract, lock) mention in turn. Not all of them are artifacts.
  Result<std::vector<Sha256>> ReferencedArtifacts() const;
  // What `verify` must find: the artifacts that events name by members `..._sha256`, in the body
  // itself and in the items of its `runs`, and the harness files that campaigns' locks keep a copy
  // of. Both sorted.
  Result<std::vector<Sha256>> RequiredArtifacts() const;
  // Experiments admitted but not decided, oldest first.
  Result<std::vector<ExperimentRow>> OpenExperiments() const;

  store::Artifacts& artifacts();
  const store::Artifacts& artifacts() const;
  store::Ledger& ledger();
  const store::Ledger& ledger() const;

  // Files of a state folder.
  static Path LedgerPath(const Path& state_dir);
  static Path ObjectsPath(const Path& state_dir);
  static Path LockPath(const Path& state_dir);

  ~Journal();
  Journal(Journal&&) noexcept;
  Journal& operator=(Journal&&) noexcept;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

 private:
  struct Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::campaign
