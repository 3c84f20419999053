// What a knowledge index of 1,000 documents costs: building it, finding that nothing changed, and
// queries of several kinds. Prints; passes or fails nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "memory/knowledge.h"

namespace {

using namespace pawl;

constexpr int kDocuments = 1000;
constexpr int kSections = 10;
constexpr int kWordsPerSection = 120;

// Words by Zipf's law, so that common and rare ones are both there.
std::string Word(std::mt19937_64& random) {
  const double uniform = std::uniform_real_distribution<double>(0, 1)(random);
  return "term" + std::to_string(static_cast<int>(std::pow(20000.0, uniform)));
}

Status WriteHandbook(const os::Path& root) {
  std::mt19937_64 random(7);
  PAWL_TRY(os::MakeFolders(root));
  for (int document = 0; document < kDocuments; ++document) {
    std::string text = "# " + Word(random) + " " + Word(random) + "\n";
    for (int section = 0; section < kSections; ++section) {
      text += "\n## " + Word(random) + "\n";
      for (int i = 0; i < kWordsPerSection; ++i) text += Word(random) + (i % 12 == 11 ? "\n" : " ");
      text += "注意力计算时减少显存占用\n";
    }
    PAWL_TRY(os::WriteFileAtomic(root / Format("{:04}.md", document), text,
                                 {.mode = 0644, .durable = false}));
  }
  return OkStatus();
}

// Median and worst of 21 calls, in milliseconds.
template <class Call>
Status Measure(const char* what, Call call) {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    const auto start = Monotonic::now();
    PAWL_TRY(call());
    times.push_back(SecondsSince(start) * 1e3);
  }
  std::ranges::sort(times);
  std::printf("%-44s %8.2f ms median %8.2f ms worst\n", what, times[10], times.back());
  return OkStatus();
}

Status Run() {
  PAWL_ASSIGN(const os::ScratchFolder folder,
              os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "knowledge-bench"));
  const os::Path root = folder.path() / "handbook";
  PAWL_TRY(WriteHandbook(root));
  PAWL_ASSIGN(memory::Knowledge knowledge,
              memory::Knowledge::Open(folder.path() / "knowledge.sqlite3", {root}));
  const auto start = Monotonic::now();
  PAWL_ASSIGN(const memory::IndexReport report, knowledge.Update(false));
  std::printf("%lld documents, %lld sections: indexed in %.2f s\n",
              static_cast<long long>(report.documents), static_cast<long long>(report.sections),
              SecondsSince(start));
  PAWL_TRY(Measure("nothing changed (IsStale)", [&]() -> Status {
    const auto stale = knowledge.IsStale();
    return stale.ok() ? OkStatus() : Status(stale.error());
  }));
  for (const char* query : {"term15000", "term40 term700", "term1 term2 term3", "显存优化",
                            "how do I reduce term9 of term300 in term12000", "nothing of this"}) {
    PAWL_TRY(Measure(Format("search \"{}\"", query).c_str(), [&]() -> Status {
      const auto hits = knowledge.Search(query, 8);
      return hits.ok() ? OkStatus() : Status(hits.error());
    }));
  }
  return OkStatus();
}

}  // namespace

int main() {
  const Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return status.ok() ? 0 : 1;
}
