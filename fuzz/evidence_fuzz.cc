// Recorded evidence, mangled: it is refused by key or judged; judging is pure, survives the record,
// and nothing that forbids a keep is ever overlooked.
#include "input.h"
#include "judge/verdict.h"

namespace {

namespace judge = pawl::judge;

bool ForbidsKeep(const judge::Evidence& evidence) {
  return evidence.interrupted || !evidence.infra_error.empty() || evidence.intake != "none" ||
         !evidence.integrity.empty() || !evidence.environment_differences.empty() ||
         !judge::ReadPerf(evidence.perf).problems.empty() ||
         (evidence.isolation == "L0" && !evidence.trust_candidate);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = pawl::ParseJson(pawl::fuzz::TextOf(data, size), "input");
  if (!json.ok()) return 0;
  const auto evidence = judge::Evidence::FromJson(*json);
  if (!evidence.ok()) {
    pawl::fuzz::CheckMessage(evidence.error(), "evidence");
    return 0;
  }
  const judge::Verdict verdict = judge::Judge(*evidence);
  const auto stored = pawl::ParseJson(evidence->ToJson().Canonical(), "record");
  PAWL_CHECK(stored.ok());
  const auto again = judge::Evidence::FromJson(*stored);
  PAWL_CHECK(again.ok() && again->ToJson() == evidence->ToJson());
  PAWL_CHECK(judge::Judge(*again).ToJson() == verdict.ToJson());
  if (verdict.kind != pawl::campaign::VerdictKind::kKeep) return 0;
  PAWL_CHECK(!ForbidsKeep(*evidence));
  PAWL_CHECK(verdict.quality->passed && verdict.performance->passed);
  PAWL_CHECK(verdict.trust == pawl::campaign::Trust::kShared || evidence->judge_apart);
  return 0;
}
