// A verdict in words: first line and layout as dit-ar prints them, then what Pawl adds.
#pragma once

#include <string>
#include <vector>

#include "judge/verdict.h"

namespace pawl::cli {

// "KEEP", "DISCARD-QUALITY", "DISCARD: candidate changed out-of-scope paths: ...", "CRASH: ...":
// what programs written for dit-ar look at.
std::string VerdictHeadline(const judge::Verdict& verdict);

// Headline and the lines below it: gates with their reasons, objective, trust, warnings.
std::vector<std::string> VerdictLines(const judge::Verdict& verdict, const std::string& metric);

// One short clause for tables: "1.52x faster than the incumbent", "edits the harness: ...".
std::string VerdictReason(const judge::Verdict& verdict, const std::string& metric);

}  // namespace pawl::cli
