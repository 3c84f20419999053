// Writes foreign names below one folder and nowhere else: every component is opened by descriptor,
// no link is ever followed, files are made new. Used for candidates' trees, also after a
// candidate's code ran in them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace pawl::campaign {

using os::Path;

// What unchanged files carry as modification time, so that a copied build folder is newer.
inline constexpr std::int64_t kFixedMtimeSeconds = 1'000'000'000;

struct NewFile {
  std::string_view path;  // relative, '/'-separated
  std::string_view bytes;
  mode_t mode = 0644;
  bool touched = false;  // modification time is now instead of kFixedMtimeSeconds
};

class TreeWriter {
 public:
  // Makes the folder; kAlreadyExists when it is there.
  static Result<TreeWriter> Make(const Path& root);
  static Result<TreeWriter> Open(const Path& root);

  // Fails when a file of that name is there; folders on the way are made, and a link or file that
  // stands in a folder's place is removed first. Cheapest when called in path order.
  Status Write(const NewFile& file);
  // Removes the file, link or whole tree of that name. Absence is success.
  Status Clear(std::string_view path);

 private:
  struct Level {
    std::string name;
    os::Fd fd;
  };
  explicit TreeWriter(os::Fd root) : root_(std::move(root)) {}
  // Descriptor of the folder that holds `path`, and its last component.
  Result<int> EnterParent(std::string_view path, std::string_view& name);

  os::Fd root_;
  std::vector<Level> levels_;  // folders from the root to where the last file was written
};

}  // namespace pawl::campaign
