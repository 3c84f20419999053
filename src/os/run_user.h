// One unprivileged user for one run, leased from a range by a lock that dies with Pawl.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "os/files.h"

namespace pawl::os {

class RunUser {
 public:
  // kResourceExhausted when every user of the range is taken.
  static Result<RunUser> Lease(UserRange range);
  uid_t id() const { return id_; }

 private:
  RunUser(uid_t id, FileLock lock) : id_(id), lock_(std::move(lock)) {}
  uid_t id_;
  FileLock lock_;
};

}  // namespace pawl::os
