// Reads git objects by their full names from one repository, through one git process that stays.
// Raw bytes: no filters, attributes or replace refs. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/dialogue.h"
#include "os/files.h"

namespace pawl::campaign {

using os::Path;

struct ObjectInfo {
  std::string type;  // "commit", "tree", "blob", "tag"; empty when the repository lacks it
  std::uint64_t size_bytes = 0;
};

class ObjectReader {
 public:
  // Starts git with the first question.
  explicit ObjectReader(Path git_dir) : git_dir_(std::move(git_dir)) {}

  // In the order of the names, each of which must be a full object name.
  Result<std::vector<ObjectInfo>> Look(const std::vector<std::string_view>& names);

  // Hands over the bytes of each object in the order of the names. kCorrupt when one is absent or
  // no `type`.
  using Take = std::function<Status(std::size_t index, std::string bytes)>;
  Status Read(std::string_view type, const std::vector<std::string_view>& names, const Take& take);
  Result<std::string> Read(std::string_view type, std::string_view name);

 private:
  enum class Command { kInfo, kContents };
  using Answer = std::function<Status(std::size_t index, const ObjectInfo& info)>;
  // Asks in portions that fit into the pipe and calls `answer` after each header line.
  Status Converse(Command command, const std::vector<std::string_view>& names,
                  const Answer& answer);
  Status EnsureStarted();

  Path git_dir_;
  std::optional<os::Dialogue> git_;
};

}  // namespace pawl::campaign
