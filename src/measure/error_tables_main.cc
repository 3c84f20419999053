// Prints the tables that stand between the markers of docs/statistics.md, byte for byte.
#include <cstdio>

#include "measure/operating.h"

int main() {
  const std::string tables =
      pawl::measure::ErrorTables(pawl::measure::kTableTrials, pawl::measure::kTableCampaigns);
  return std::fputs(tables.c_str(), stdout) < 0 ? 1 : 0;
}
