// The plan as the shim reads it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::os {

enum class SocketRule { kNone, kLocalNet, kAllNet };

struct Plan {
  bool own_user = false;
  uid_t user = 0;
  std::uint64_t processes = 0;
  std::uint64_t file_size_bytes = 0;
  bool filter = false;
  SocketRule sockets = SocketRule::kNone;
  int landlock_abi = 0;
  std::vector<const char*> read_only, writable, devices;
  const char* folder = nullptr;
  std::vector<char*> env, argv;  // null at the end

  std::string text;  // owns what the pointers point to
};

// False when the text is not a whole plan.
bool ParsePlan(Plan& plan);

}  // namespace pawl::os
