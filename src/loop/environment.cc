#include "loop/environment.h"

#include "base/text.h"
#include "judge/target.h"
#include "os/devices.h"
#include "run/runner.h"

namespace pawl::loop {

namespace {

// Variables may hold secrets, so that only their hashes are kept.
Json VariableHashes(Session& session) {
  const run::Runner runner(session.config(), session.probe());
  JsonObject hashes;
  for (const std::string& entry : runner.Environment()) {
    const std::size_t equals = entry.find('=');
    hashes[entry.substr(0, equals)] = HashBytes(entry.substr(equals + 1)).hex().substr(0, 16);
  }
  return hashes;
}

void CompareVariables(const Json* before, const Json* now, std::vector<std::string>& out) {
  const JsonObject empty;
  const JsonObject* old_values = before == nullptr ? &empty : before->AsObject();
  const JsonObject* new_values = now == nullptr ? &empty : now->AsObject();
  if (old_values == nullptr || new_values == nullptr) return;
  for (const auto& [name, value] : *new_values) {
    const Json* old_value = old_values->Find(name);
    if (old_value == nullptr) {
      out.push_back(Format("variable {} is set now and was not", name));
    } else if (!(*old_value == value)) {
      out.push_back(Format("variable {} has another value", name));
    }
  }
  for (const auto& [name, value] : *old_values) {
    if (!new_values->contains(name)) out.push_back(Format("variable {} was set", name));
  }
}

}  // namespace

Surroundings TakeSurroundings(Session& session) {
  const os::Machine& machine = session.machine();
  Surroundings surroundings;
  surroundings.machine = machine.ToJson();
  surroundings.fingerprint = JsonObject{{"machine", os::Fingerprint(machine)},
                                        {"isolation", os::LevelName(session.probe().level)},
                                        {"variables", VariableHashes(session)}};
  surroundings.target_mismatches =
      judge::MatchTarget(session.config().target, surroundings.machine).mismatches;
  return surroundings;
}

std::vector<std::string> Differences(const Json& fingerprint_before, const Json& fingerprint_now) {
  const Json none{JsonObject{}};
  const auto machine = [&](const Json& fingerprint) -> const Json& {
    const Json* found = fingerprint.Find("machine");
    return found == nullptr ? none : *found;
  };
  std::vector<std::string> out =
      os::FingerprintDifferences(machine(fingerprint_before), machine(fingerprint_now));
  const std::string level_before = fingerprint_before.StringAt("isolation");
  const std::string level_now = fingerprint_now.StringAt("isolation");
  if (level_before != level_now) {
    out.push_back(Format("isolation: {} -> {}", level_before, level_now));
  }
  CompareVariables(fingerprint_before.Find("variables"), fingerprint_now.Find("variables"), out);
  return out;
}

}  // namespace pawl::loop
