#include <algorithm>

#include "base/text.h"
#include "cli/session.h"

namespace pawl::cli {

namespace {

// dit-ar's reading of --limit: the last N rows, all for 0, and without the first |N| for negative
// N.
std::vector<campaign::ExperimentRow> Tail(std::vector<campaign::ExperimentRow> rows,
                                          std::int64_t limit) {
  const auto size = static_cast<std::int64_t>(rows.size());
  const std::int64_t drop = limit > 0   ? std::max<std::int64_t>(size - limit, 0)
                            : limit < 0 ? std::min(-limit, size)
                                        : 0;
  rows.erase(rows.begin(), rows.begin() + drop);
  return rows;
}

std::string OptionalNumber(const std::optional<double>& value) {
  return value ? FormatDouble(*value) : std::string();
}

}  // namespace

Result<int> RunSummary(Context& context, const Arguments& arguments) {
  PAWL_ASSIGN(const std::int64_t limit, arguments.GetInt("--limit"));
  PAWL_ASSIGN(const campaign::LoadedConfig loaded, campaign::LoadConfig(context.config_file));
  Result<campaign::Journal> journal = campaign::Journal::OpenReader(loaded.config.state_dir);
  std::vector<campaign::ExperimentRow> rows;
  if (journal.ok()) {
    PAWL_ASSIGN(rows,
                journal->Experiments(
                    {.campaign = {}, .status = {}, .limit = std::max<std::int64_t>(limit, 0)}));
    std::erase_if(rows, [](const campaign::ExperimentRow& row) { return row.status == "open"; });
  } else if (journal.error().code != Code::kNotFound) {
    return std::move(journal).error();
  }
  rows = Tail(std::move(rows), limit);
  if (rows.empty()) context.Print("No experiments logged.");
  JsonArray documents;
  for (const campaign::ExperimentRow& row : rows) {
    if (documents.empty()) {
      context.Print("commit\tstatus\tclass\tcandidate\timprovement_pct\tquality\tdescription");
    }
    context.Print(Format("{}\t{}\t{}\t{}\t{}\t{}\t{}", row.commit.substr(0, 7), row.status,
                         row.classification, OptionalNumber(row.candidate),
                         OptionalNumber(row.improvement_pct), PrintableLine(row.quality, 300),
                         PrintableLine(row.description, 300)));
    documents.push_back(
        JsonObject{{"experiment", row.id},
                   {"campaign", row.campaign},
                   {"commit", row.commit},
                   {"status", row.status},
                   {"class", row.classification},
                   {"candidate", row.candidate ? Json(*row.candidate) : Json()},
                   {"improvement_pct", row.improvement_pct ? Json(*row.improvement_pct) : Json()},
                   {"quality", row.quality},
                   {"description", row.description},
                   {"trust", row.trust}});
  }
  context.PrintJson(JsonObject{{"experiments", std::move(documents)}});
  return kExitOk;
}

}  // namespace pawl::cli
