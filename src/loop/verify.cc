#include <set>

#include "base/text.h"
#include "judge/verdict.h"
#include "loop/verbs.h"

namespace pawl::loop {

using campaign::Journal;

namespace {

void CheckChain(const Journal& journal, VerifyReport& report) {
  const auto chain = journal.ledger().VerifyChain();
  if (!chain.ok()) {
    report.problems.push_back(chain.error().Text());
    return;
  }
  report.events = chain->events;
  report.problems.insert(report.problems.end(), chain->problems.begin(), chain->problems.end());
  const auto tables = journal.ledger().VerifyProjection();
  if (!tables.ok()) {
    report.problems.push_back(tables.error().Text());
    return;
  }
  for (const std::string& table : *tables) {
    report.problems.push_back(Format("table {} does not follow from the events", table));
  }
}

void CheckArtifacts(const Journal& journal, VerifyReport& report) {
  const auto referenced = journal.RequiredArtifacts();
  if (!referenced.ok()) {
    report.problems.push_back(referenced.error().Text());
    return;
  }
  for (const Sha256& hash : *referenced) {
    const Status sound = journal.artifacts().Check(hash);
    ++report.artifacts;
    if (!sound.ok()) report.problems.push_back(sound.error().Text());
  }
}

bool Near(const std::optional<double>& recorded, const std::optional<double>& computed) {
  if (recorded.has_value() != computed.has_value()) return false;
  return !recorded || *recorded == *computed;
}

std::optional<double> NumberAt(const Json& body, std::string_view key) {
  const Json* member = body.Find(key);
  return member == nullptr ? std::nullopt : member->AsDouble();
}

// The verdict event's own words against what its evidence leads to.
void CheckVerdict(const store::Event& event, VerifyReport& report) {
  ++report.verdicts;
  const auto problem = [&](std::string_view what) {
    report.problems.push_back(Format("experiment {}: {}", event.experiment, what));
  };
  const Json* stored = event.body.Find("evidence");
  if (stored == nullptr) return problem("the verdict has no evidence");
  const auto evidence = judge::Evidence::FromJson(*stored);
  if (!evidence.ok()) return problem(evidence.error().Text());
  const judge::Verdict verdict = judge::Judge(*evidence);
  const std::string recorded = event.body.StringAt("verdict");
  if (recorded != campaign::VerdictName(verdict.kind)) {
    problem(Format("recorded {}, the evidence leads to {}", recorded,
                   campaign::VerdictName(verdict.kind)));
  }
  if (event.body.StringAt("trust") != campaign::TrustName(verdict.trust)) {
    problem(Format("recorded trust {}, the evidence leads to {}", event.body.StringAt("trust"),
                   campaign::TrustName(verdict.trust)));
  }
  const bool same = Near(NumberAt(event.body, "candidate"), verdict.candidate) &&
                    Near(NumberAt(event.body, "best_before"), verdict.best) &&
                    Near(NumberAt(event.body, "improvement_pct"), verdict.improvement_pct);
  if (!same) problem("recorded figures differ from those that the evidence holds");
}

// Each move of the incumbent starts where the one before ended, and each keep moves it.
class IncumbentWalk {
 public:
  void Visit(const store::Event& event, VerifyReport& report) {
    if (event.kind == "campaign-opened") at_[event.campaign] = event.body.StringAt("root_commit");
    if (event.kind == "verdict" && event.body.StringAt("verdict") == "keep") {
      owed_.insert(event.experiment);
    }
    if (event.kind != "incumbent-moved") return;
    owed_.erase(event.experiment);
    std::string& at = at_[event.campaign];
    if (event.body.StringAt("from") != at) {
      report.problems.push_back(Format("event {}: the incumbent moves from {}, but it was at {}",
                                       event.seq, event.body.StringAt("from"), at));
    }
    at = event.body.StringAt("to");
  }
  void Finish(VerifyReport& report) const {
    for (const std::int64_t experiment : owed_) {
      report.problems.push_back(
          Format("experiment {} is a keep that did not move the incumbent", experiment));
    }
  }

 private:
  std::map<std::int64_t, std::string> at_;
  std::set<std::int64_t> owed_;
};

void CheckDecisions(const Journal& journal, VerifyReport& report) {
  IncumbentWalk walk;
  const Status read = journal.ledger().ForEach({}, [&](const store::Event& event) {
    if (event.kind == "verdict") CheckVerdict(event, report);
    walk.Visit(event, report);
    return OkStatus();
  });
  if (!read.ok()) report.problems.push_back(read.error().Text());
  walk.Finish(report);
}

Status CheckHarness(const Session& session, const Journal& journal, VerifyReport& report) {
  PAWL_ASSIGN(const auto campaigns, journal.Campaigns());
  for (const campaign::CampaignRow& row : campaigns) {
    if (row.state == "closed" || row.config_path != session.config().file.string()) continue;
    const auto hash = Sha256::FromHex(row.opened.StringAt("lock_sha256"));
    if (!hash) continue;
    PAWL_ASSIGN(const std::string bytes, journal.artifacts().Get(*hash));
    PAWL_ASSIGN(const Json json, ParseJson(bytes, "harness lock"));
    PAWL_ASSIGN(const campaign::HarnessLock lock, campaign::HarnessLock::FromJson(json));
    PAWL_ASSIGN(const std::vector<std::string> changed,
                campaign::ChangedHarness(lock, session.config(), campaign::LockCheck::kFull));
    for (const std::string& path : changed) {
      report.problems.push_back(
          Format("campaign {}: the harness was changed since it was locked: {}", row.id,
                 PrintableLine(path)));
    }
  }
  return OkStatus();
}

}  // namespace

Result<VerifyReport> Verify(const Session& session) {
  PAWL_ASSIGN(const Journal journal, Journal::OpenReader(session.state().path()));
  VerifyReport report;
  CheckChain(journal, report);
  CheckArtifacts(journal, report);
  CheckDecisions(journal, report);
  const Status harness = CheckHarness(session, journal, report);
  if (!harness.ok()) report.problems.push_back(harness.error().Text());
  return report;
}

}  // namespace pawl::loop
