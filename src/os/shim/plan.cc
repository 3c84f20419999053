#include "os/shim/plan.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "os/shim/protocol.h"

namespace pawl::os {
namespace {

std::uint64_t Number(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

bool Take(Plan& plan, std::string_view key, char* value) {
  const std::string_view word = value;
  if (key == plan_key::kUser) {
    plan.own_user = true;
    plan.user = static_cast<uid_t>(Number(value));
  } else if (key == plan_key::kProcesses) {
    plan.processes = Number(value);
  } else if (key == plan_key::kFileSize) {
    plan.file_size_bytes = Number(value);
  } else if (key == plan_key::kFilter) {
    plan.filter = true;
    plan.sockets = word == plan_key::kFilterAllNet     ? SocketRule::kAllNet
                   : word == plan_key::kFilterLocalNet ? SocketRule::kLocalNet
                                                       : SocketRule::kNone;
  } else if (key == plan_key::kLandlock) {
    plan.landlock_abi = static_cast<int>(Number(value));
  } else if (key == plan_key::kReadOnly) {
    plan.read_only.push_back(value);
  } else if (key == plan_key::kWritable) {
    plan.writable.push_back(value);
  } else if (key == plan_key::kDevice) {
    plan.devices.push_back(value);
  } else if (key == plan_key::kFolder) {
    plan.folder = value;
  } else if (key == plan_key::kVariable) {
    plan.env.push_back(value);
  } else if (key == plan_key::kWord) {
    plan.argv.push_back(value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool ParsePlan(Plan& plan) {
  if (plan.text.empty() || plan.text.back() != '\0') return false;
  char* at = plan.text.data();
  char* const end = at + plan.text.size();
  while (at < end) {
    const std::string_view key = at;
    char* value = at + key.size() + 1;
    if (value >= end || !Take(plan, key, value)) return false;
    at = value + std::strlen(value) + 1;
  }
  const bool whole = !plan.argv.empty() && plan.folder != nullptr && plan.processes > 0;
  plan.env.push_back(nullptr);
  plan.argv.push_back(nullptr);
  return whole;
}

}  // namespace pawl::os
