// The tables that are derived from the ledger's events, and with them the state machine: Apply
// checks that an event fits the state it meets, inside the transaction that appends it. Internal to
// the journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/journal.h"
#include "store/ledger.h"

namespace pawl::campaign {

namespace event_kind {
inline constexpr const char* kCampaignOpened = "campaign-opened";
inline constexpr const char* kCampaignClosed = "campaign-closed";
inline constexpr const char* kBaselineRecorded = "baseline-recorded";
inline constexpr const char* kExperimentAdmitted = "experiment-admitted";
inline constexpr const char* kExperimentStage = "experiment-stage";
inline constexpr const char* kRunRecorded = "run-recorded";
inline constexpr const char* kVerdict = "verdict";
inline constexpr const char* kIncumbentMoved = "incumbent-moved";
inline constexpr const char* kNote = "note";
}  // namespace event_kind

class JournalTables : public store::Projection {
 public:
  Status CreateTables(store::Database& database) override;
  Status Apply(store::Database& database, const store::Event& event) override;
};

// A campaign without the bodies of its events, and where those are.
struct CampaignRecord {
  CampaignRow row;
  std::int64_t opened_seq = 0, baseline_seq = 0, incumbent_seq = 0;  // 0: none yet
};
// `where` is the text after WHERE, with one integer parameter.
Result<std::vector<CampaignRecord>> ReadCampaigns(store::Database& database,
                                                  const std::string& where, std::int64_t parameter);
Result<CampaignRecord> ReadCampaign(store::Database& database, std::int64_t id);

// The columns that ExperimentOf reads, as "SELECT ... FROM experiments ".
extern const char* const kSelectExperiments;
ExperimentRow ExperimentOf(const store::Statement& row);
Result<std::vector<ExperimentRow>> AllExperiments(store::Statement& query);
Result<ExperimentRow> ReadExperiment(store::Database& database, std::int64_t id);

// The incumbent's measurements inside the body of a baseline-recorded or incumbent-moved event;
// null when a baseline has none of its own: then the whole body is the root's.
const Json* IncumbentIn(const Json& body);

// An entry of the incumbents table; `previous` is the seq of the one it stands on, 0 at the root.
struct IncumbentRecord {
  IncumbentRow row;
  std::int64_t previous = 0;
};
Result<IncumbentRecord> ReadIncumbent(store::Database& database, std::int64_t seq);

}  // namespace pawl::campaign
