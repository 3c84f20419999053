// The parts of a commit object that Pawl uses, read from its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "campaign/git.h"
#include "campaign/object_reader.h"

namespace pawl::campaign {

struct CommitText {
  std::string tree;  // object name
  std::vector<CommitId> parents;
  std::int64_t committed_s = 0;  // seconds since 1970
  std::string subject;           // first line of the message, made printable
};
CommitText ParseCommitText(std::string_view text);

Result<CommitText> ReadCommitText(ObjectReader& objects, const CommitId& commit);

}  // namespace pawl::campaign
