#include <algorithm>

#include "base/text.h"
#include "judge/target.h"
#include "loop/verbs.h"
#include "memory/knowledge.h"
#include "os/devices.h"

namespace pawl::loop {

using campaign::Config;

namespace {

void CheckGit(const Session& session, DoctorReport& report) {
  const auto worktree = campaign::OpenWorktree(session.config().root);
  if (!worktree.ok()) {
    report.errors.push_back("project root is not a git repository: " +
                            session.config().root.string());
    return;
  }
  report.branch = worktree->branch;
  const auto dirty = DirtyPaths(session, *worktree);
  if (!dirty.ok()) {
    report.errors.push_back(dirty.error().Text());
  } else if (!dirty->empty()) {
    report.warnings.emplace_back(
        "working tree is dirty; experiments should start from a clean commit");
  }
}

// dit-ar's two texts stand alone, without the key that they belong to.
void CheckConfig(const Session& session, DoctorReport& report) {
  std::vector<campaign::ConfigIssue> issues = session.notes();
  const auto on_disk = campaign::CheckAgainstDisk(session.config());
  issues.insert(issues.end(), on_disk.begin(), on_disk.end());
  for (const campaign::ConfigIssue& issue : issues) {
    const bool plain = issue.message.starts_with("mutable path does not currently exist: ") ||
                       issue.message.starts_with("fixed path missing: ");
    std::vector<std::string>& list = issue.fatal ? report.errors : report.warnings;
    list.push_back(plain ? issue.message : Format("{}: {}", issue.where, issue.message));
  }
}

void CheckMachine(const Session& session, const Json& machine, DoctorReport& report) {
  judge::TargetMatch match = judge::MatchTarget(session.config().target, machine);
  std::ranges::move(match.mismatches, std::back_inserter(report.errors));
  std::ranges::move(match.warnings, std::back_inserter(report.warnings));
  if (session.config().Command(campaign::Stage::kProfile) == nullptr) return;
  if (os::FindProgram("nsys").empty()) {
    report.warnings.emplace_back(
        "nsys not found; Nsight Systems profiling commands will not be available");
  }
  if (os::FindProgram("ncu").empty()) {
    report.warnings.emplace_back(
        "ncu not found; Nsight Compute profiling commands will not be available");
  }
}

void CheckSandbox(Session& session, DoctorReport& report) {
  const os::SandboxProbe& probe = session.probe();
  const Status enough = session.RequireIsolation();
  if (!enough.ok()) report.errors.push_back(enough.error().message);
  if (probe.level != os::IsolationLevel::kL3) {
    for (const std::string& finding : probe.findings) report.warnings.push_back(finding);
  }
  for (const os::Path& path : session.config().sandbox.write) {
    report.warnings.push_back("sandbox.write lets commands change " + path.string());
  }
  if (session.config().protocol == campaign::Protocol::kFiles) {
    report.warnings.emplace_back(
        "protocol files: keeps have trust `shared`, because candidate code may run where its own "
        "figures are made; see SECURITY.md");
  }
}

bool IsCovered(const os::Path& path, const std::vector<os::Path>& folders) {
  return std::ranges::any_of(folders, [&](const os::Path& folder) {
    const os::Path relative = path.lexically_relative(folder);
    return !relative.empty() && *relative.begin() != "..";
  });
}

void ProposeReads(const Session& session, DoctorReport& report) {
  const Config& config = session.config();
  for (const auto& [stage, command] : config.commands) {
    if (stage == campaign::Stage::kProfile) continue;
    for (const os::Path& folder : os::FindToolchainFolders(command, config.root)) {
      if (IsCovered(folder, config.sandbox.read) || IsCovered(folder, {config.root})) continue;
      const std::string text = folder.string();
      if (std::ranges::find(report.proposed_reads, text) == report.proposed_reads.end()) {
        report.proposed_reads.push_back(text);
      }
    }
  }
}

Status CheckKnowledge(const Session& session, DoctorReport& report) {
  const bool there = os::Exists(session.state().knowledge());
  PAWL_ASSIGN(
      memory::Knowledge knowledge,
      memory::Knowledge::Open(session.state().knowledge(), session.config().knowledge_dirs));
  if (!there) {
    PAWL_TRY(knowledge.Update(true));
    report.knowledge_created = true;
  }
  report.knowledge_documents = knowledge.documents();
  return OkStatus();
}

}  // namespace

Result<DoctorReport> Doctor(Session& session) {
  DoctorReport report;
  report.project = session.config().project_name;
  report.root = session.config().root.string();
  PAWL_TRY(MakeStateFolder(session.state()));
  PAWL_TRY(os::MakeFolders(session.state().runs()));

  CheckGit(session, report);
  CheckConfig(session, report);
  Json environment = os::ProbeMachine().ToJson();
  PAWL_TRY(os::WriteFileAtomic(session.state().path() / "environment.json", environment.Pretty(),
                               {.durable = false}));
  CheckMachine(session, environment, report);
  CheckSandbox(session, report);
  ProposeReads(session, report);
  PAWL_TRY(CheckKnowledge(session, report));
  report.environment =
      JsonObject{{"machine", std::move(environment)}, {"sandbox", session.probe().ToJson()}};
  return report;
}

}  // namespace pawl::loop
