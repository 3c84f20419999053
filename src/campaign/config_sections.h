// The parts of a config and their rules, one function each; LoadConfig puts them together.
#pragma once

#include "campaign/config.h"
#include "campaign/config_reader.h"

namespace pawl::campaign {

// Root, state folder, results, contract and knowledge folders, as absolute paths. config.file is
// set already.
void ReadPlaces(ConfigReader& top, Config& config);

// Everything else that stands in the file.
void ReadSections(ConfigReader& top, Config& config);

// Mutable against fixed paths, and both against Pawl's own folders; needs no disk.
void CheckScopes(const Config& config, IssueList& issues);

}  // namespace pawl::campaign
