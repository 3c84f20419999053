// Prints bench records as Markdown:
//   cuda_bench_table RECORD.json [ROW...]                  all rows, or those named
//   cuda_bench_table RECORD.json --beside OTHER.json NAME  the rows that both have, side by side
#include <cstdio>
#include <string>
#include <vector>

#include "base/json.h"
#include "os/files.h"
#include "tensor/cuda/bench_record.h"

namespace lab::cuda {
namespace {

pawl::Result<pawl::Json> Load(const std::string& path) {
  PAWL_ASSIGN(const std::string text, pawl::os::ReadFile(path));
  return pawl::ParseJson(text, path);
}

std::string Heading(const pawl::Json& record) {
  const auto at = [&](std::string_view path) {
    const pawl::Json* value = record.FindPath(path);
    if (value == nullptr) return std::string("-");
    return value->AsString() != nullptr ? *value->AsString() : value->Compact();
  };
  std::string heading = at("machine.gpu") + ", driver " + at("machine.driver") + ", CUDA " +
                        at("machine.cuda_runtime");
  if (const pawl::Json* libraries = record.Find("libraries"); libraries != nullptr) {
    for (const auto& [name, version] : *libraries->AsObject()) {
      heading += ", " + name + " " + *version.AsString();
    }
  }
  return heading + "; " + at("date") + "; `" + at("command") + "`\n\n";
}

pawl::Status Print(const std::vector<std::string>& words) {
  PAWL_ASSIGN(const pawl::Json record, Load(words[0]));
  std::fputs(Heading(record).c_str(), stdout);
  if (words.size() == 4 && words[1] == "--beside") {
    PAWL_ASSIGN(const pawl::Json other, Load(words[2]));
    std::fputs(ComparisonTable(record, other, words[3]).c_str(), stdout);
    return pawl::OkStatus();
  }
  std::fputs(BenchTable(record, {words.begin() + 1, words.end()}).c_str(), stdout);
  return pawl::OkStatus();
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: cuda_bench_table RECORD.json [ROW... | --beside OTHER.json NAME]\n", stderr);
    return 2;
  }
  const auto status = lab::cuda::Print({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return 1;
}
