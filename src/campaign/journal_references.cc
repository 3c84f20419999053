#include "campaign/journal_references.h"

#include <optional>
#include <string>

#include "campaign/harness_lock.h"

namespace pawl::campaign {
namespace {

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

void CollectMembers(const Json& record, std::set<Sha256>& hashes) {
  const JsonObject* members = record.AsObject();
  if (members == nullptr) return;
  for (const auto& [key, value] : *members) {
    const std::string* text = value.AsString();
    if (text == nullptr || !key.ends_with("_sha256")) continue;
    if (const auto hash = Sha256::FromHex(*text)) hashes.insert(*hash);
  }
}

}  // namespace

void CollectMentionedHashes(std::string_view text, std::set<Sha256>& hashes) {
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && IsHexDigit(text[at])) continue;
    if (at - start == 64) {
      if (const auto hash = Sha256::FromHex(text.substr(start, 64))) hashes.insert(*hash);
    }
    start = at + 1;
  }
}

void CollectNamedHashes(const Json& record, std::set<Sha256>& hashes) {
  CollectMembers(record, hashes);
  const Json* runs = record.Find("runs");
  if (runs == nullptr || runs->AsArray() == nullptr) return;
  for (const Json& run : *runs->AsArray()) CollectMembers(run, hashes);
}

Status CollectSnapshot(std::string_view lock_text, std::set<Sha256>& hashes) {
  PAWL_ASSIGN(const Json json, ParseJson(lock_text, "harness lock"));
  PAWL_ASSIGN(const HarnessLock lock, HarnessLock::FromJson(json));
  for (const LockedFile& file : lock.files) {
    const auto hash = Sha256::FromHex(file.sha256);
    if (hash && !file.in_place) hashes.insert(*hash);
  }
  return OkStatus();
}

}  // namespace pawl::campaign
