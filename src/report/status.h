// Where a state folder's campaigns stand, as one value that text, JSON and the dashboard draw from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "campaign/journal.h"

namespace pawl::report {

struct LaneStatus {
  campaign::CampaignRow campaign;
  std::string metric, direction, protocol;
  std::map<std::string, std::int64_t> verdicts;  // name -> count
  std::vector<campaign::ExperimentRow> recent;   // the last few, oldest first
  std::optional<campaign::ExperimentRow> open;   // being judged, or left by a dead process
  double gain_pct = 0;  // incumbent against baseline, by the recorded (not re-measured) values
  bool shared_keeps = false;  // some keep stands under trust `shared`

  Json ToJson() const;
};

// Every campaign that is not closed, the newest first.
Result<std::vector<LaneStatus>> ReadStatus(const campaign::Journal& journal, int recent);

}  // namespace pawl::report
