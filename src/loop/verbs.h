// The engine's verbs, one file each.
#pragma once

#include <string>

#include "base/result.h"
#include "loop/engine.h"
#include "loop/session.h"

namespace pawl::loop {

Result<DoctorReport> Doctor(Session& session);
Result<InitReport> Init(Session& session, Writer& writer, bool new_campaign);
Result<BaselineReport> Baseline(Session& session, Writer& writer, Engine::BaselineMode mode);
Result<std::string> Undo(Session& session, Writer& writer);
Result<VerifyReport> Verify(const Session& session);
Result<GcReport> Gc(Session& session, Writer& writer);

}  // namespace pawl::loop
