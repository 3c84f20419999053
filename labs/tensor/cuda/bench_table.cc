// cuda_bench_table RECORD.json: prints the rows of a bench record as a Markdown table.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tensor/cuda/bench_record.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: cuda_bench_table RECORD.json\n", stderr);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read the record %s\n", argv[1]);
    return 4;
  }
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto record = pawl::ParseJson(text, argv[1]);
  if (!record.ok()) {
    std::fprintf(stderr, "%s\n", record.error().Text().c_str());
    return 5;
  }
  const auto at = [&](std::string_view path) {
    const pawl::Json* value = record->FindPath(path);
    if (value == nullptr) return std::string("-");
    return value->AsString() != nullptr ? *value->AsString() : value->Compact();
  };
  std::printf("%s, driver %s, CUDA %s, cuDNN %s, cuBLASLt %s; %s; `%s`\n\n",
              at("machine.gpu").c_str(), at("machine.driver").c_str(),
              at("machine.cuda_runtime").c_str(), at("libraries.cudnn").c_str(),
              at("libraries.cublaslt").c_str(), at("date").c_str(), at("command").c_str());
  std::fputs(lab::cuda::BenchTable(*record).c_str(), stdout);
  return 0;
}
