#include "base/text.h"
#include "loop/verbs.h"
#include "memory/knowledge.h"

namespace pawl::loop {

using campaign::Config;

namespace {

constexpr std::string_view kDitArHeading =
    "timestamp_utc\tcommit\tparent\tstatus\tclass\tobjective_metric\tbest_before\tcandidate\t"
    "improvement_pct\tpeak_vram_mb\tquality\tdescription\trun_dir";

Status CheckBeforeInit(const Session& session, const Writer& writer) {
  PAWL_ASSIGN(const std::vector<std::string> dirty, DirtyPaths(session, writer.worktree));
  if (!dirty.empty()) {
    return MakeError(Code::kConflict, "clean/commit your working tree before init",
                     "not committed: " + PrintableLine(Join(dirty, ", ")));
  }
  if (!writer.worktree.head) {
    return MakeError(Code::kConflict, "the repository has no commit yet",
                     "commit the original program; it becomes the campaign's root");
  }
  if (writer.worktree.branch.empty()) {
    return MakeError(Code::kConflict, "HEAD is detached, and a campaign needs a branch to move",
                     "git switch -c autoresearch/<tag>");
  }
  std::string problems;
  for (const campaign::ConfigIssue& issue : campaign::CheckAgainstDisk(session.config())) {
    if (issue.fatal) AppendFormat(problems, "\n- {}: {}", issue.where, issue.message);
  }
  if (problems.empty()) return OkStatus();
  return MakeError(Code::kInvalidArgument, "Invalid config:" + problems);
}

// Rows that dit-ar wrote before this state folder had a ledger, without the heading.
Result<std::string> ForeignRows(const Session& session, const Writer& writer) {
  PAWL_ASSIGN(const auto campaigns, writer.journal.Campaigns());
  if (!campaigns.empty() || !os::Exists(session.config().results_tsv)) return std::string();
  PAWL_ASSIGN(const std::string table, os::ReadFile(session.config().results_tsv));
  const std::size_t line_end = table.find('\n');
  if (line_end == std::string::npos || !table.starts_with(kDitArHeading)) return std::string();
  return table.substr(line_end + 1);
}

Result<Json> OpeningBody(const Session& session, Writer& writer,
                         const campaign::HarnessLock& lock) {
  const Config& config = session.config();
  PAWL_ASSIGN(const campaign::Contract contract, campaign::LoadContract(config));
  PAWL_ASSIGN(const Sha256 lock_hash, writer.journal.artifacts().Put(lock.ToJson().Canonical()));
  JsonObject body{{"branch", writer.worktree.branch},
                  {"config_path", config.file.string()},
                  {"lane", config.file.stem().string()},
                  {"project", config.project_name},
                  {"root_commit", writer.worktree.head->hex},
                  {"protocol", campaign::ProtocolName(config.protocol)},
                  {"metric", config.objective.metric},
                  {"direction", campaign::DirectionName(config.objective.direction)},
                  {"config", config.source},
                  {"contract", contract.source},
                  {"lock_sha256", lock_hash.hex()},
                  {"fixed_hashes", lock.CompatHashes()}};
  PAWL_ASSIGN(const std::string rows, ForeignRows(session, writer));
  if (!rows.empty()) {
    PAWL_ASSIGN(const Sha256 rows_hash, writer.journal.artifacts().Put(rows));
    body["imported_results_sha256"] = rows_hash.hex();
  }
  return Json(std::move(body));
}

// At the end of a campaign the harness is read again in full: what its verdicts stood on.
Status CheckClosing(Session& session, Writer& writer, const campaign::CampaignRow& row) {
  const auto live = LoadCampaign(session, writer);
  if (!live.ok()) return live.error();
  PAWL_ASSIGN(const std::vector<std::string> changed,
              campaign::ChangedHarness(live->lock, session.config(), campaign::LockCheck::kFull));
  if (changed.empty()) return OkStatus();
  const std::string note = "harness differs from the closed campaign's lock: " +
                           PrintableLine(Join(changed, ", "), 1000);
  session.observer().OnNote(note);
  return writer.journal.Note(row.id, 0, note);
}

std::string BranchWarning(const std::string& branch) {
  if (branch.starts_with("autoresearch/")) return {};
  return Format("WARNING: recommended branch name is autoresearch/<tag>; current branch is '{}'",
                PrintableLine(branch));
}

}  // namespace

Result<InitReport> Init(Session& session, Writer& writer, bool new_campaign) {
  PAWL_TRY(CheckBeforeInit(session, writer));
  PAWL_ASSIGN(const auto present,
              writer.journal.FindCampaign(writer.worktree.branch, session.config().file.string()));
  if (present && !new_campaign) {
    return MakeError(Code::kAlreadyExists,
                     Format("campaign {} is open on branch {} with this config", present->id,
                            PrintableLine(writer.worktree.branch)),
                     "--new-campaign closes it and voids its baseline; its history stays");
  }
  if (present) PAWL_TRY(CheckClosing(session, writer, *present));

  PAWL_ASSIGN(const campaign::HarnessLock lock,
              campaign::LockHarness(session.config(), writer.journal.artifacts()));
  PAWL_TRY(writer.vault.Fetch(writer.worktree.top, *writer.worktree.head));
  PAWL_ASSIGN(const Json body, OpeningBody(session, writer, lock));

  InitReport report;
  PAWL_ASSIGN(report.campaign, writer.journal.OpenCampaign(body, present ? present->id : 0));
  report.locked_files = static_cast<std::int64_t>(lock.files.size());
  report.warning = BranchWarning(writer.worktree.branch);
  PAWL_ASSIGN(
      memory::Knowledge knowledge,
      memory::Knowledge::Open(session.state().knowledge(), session.config().knowledge_dirs));
  PAWL_ASSIGN(const memory::IndexReport index, knowledge.Update(true));
  report.knowledge_documents = index.documents;
  return report;
}

}  // namespace pawl::loop
