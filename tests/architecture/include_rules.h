// Reads the table of allowed includes from ARCHITECTURE.md and the includes from the sources, and
// names every edge that the table does not allow and every cycle.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::architecture {

// A module and what it includes (or may include): "judge" -> {"base", "store"}.
using Graph = std::map<std::string, std::set<std::string>, std::less<>>;

// Rows of the table below the heading "| module | may include |". "nothing" is the empty set, "all"
// every module, "everything above" every row before.
Result<Graph> ParseTable(std::string_view markdown);

struct SourceFile {
  std::string path;  // from the repository's root: "src/os/files.cc", "labs/gpt/train.cu"
  std::string text;
};

// What the files include in quotes, by module: "src/os/..." is "os", "labs/gpt/..." is "labs/gpt".
// A first folder that is no module is a file of the same folder and no edge. Includes of the module
// itself are left out.
Graph IncludesOf(const std::vector<SourceFile>& files, const Graph& rules);

// One sentence for each file that includes what its module may not.
std::vector<std::string> Violations(const std::vector<SourceFile>& files, const Graph& rules);

// "a -> b -> a" for the first cycle; empty when there is none.
std::string FindCycle(const Graph& graph);

}  // namespace pawl::architecture
