// What candidates are judged against: the metrics of the baseline or of an incumbent, as ledger
// events hold them.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "campaign/config.h"
#include "loop/session.h"
#include "loop/suite.h"

namespace pawl::loop {

// {commit, objective_value, perf, quality, outside_wall_s, run_dir}. The suite's results must be
// well-formed and hold the objective.
Result<Json> ReferenceBody(const campaign::Config& config, const SuiteResult& suite,
                           const campaign::CommitId& commit, const os::Path& run_dir);

// The bytes that the judge reads.
std::string PerfOf(const Json& reference);
std::string QualityOf(const Json& reference);

// All that speaks against judging anything by these results: ill-formed files, metrics that the
// contract, the objective or a required guardrail names and that were not produced, values that no
// candidate could pass. Empty when they can serve.
std::vector<std::string> ReferenceProblems(const campaign::Config& config,
                                           const campaign::Contract& contract,
                                           const SuiteResult& suite);

}  // namespace pawl::loop
