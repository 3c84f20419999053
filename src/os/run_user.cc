#include "os/run_user.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "base/text.h"

namespace pawl::os {

Result<RunUser> RunUser::Lease(UserRange range) {
  const Path folder = "/run/pawl";
  PAWL_TRY(MakeFolders(folder, 0700));
  // Going round delays the reuse of a number.
  static std::atomic<std::uint32_t> next{static_cast<std::uint32_t>(::getpid())};
  for (std::uint32_t attempt = 0; attempt < range.count; ++attempt) {
    const uid_t id = range.first + next.fetch_add(1) % range.count;
    auto lock = FileLock::Acquire(folder / Format("user-{}", id), Format("process {}", ::getpid()));
    if (lock.ok()) return RunUser(id, std::move(lock).value());
    if (lock.error().code != Code::kBusy) return std::move(lock).error();
  }
  return MakeError(
      Code::kResourceExhausted,
      Format("all {} users from {} on are taken by running commands", range.count, range.first),
      "wait until other runs on this machine have ended");
}

}  // namespace pawl::os
