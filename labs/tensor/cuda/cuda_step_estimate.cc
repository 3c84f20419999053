// cuda_step_estimate ATTENTION.json MATMUL.json FUSED.json: adds the rows of the three benches up
// to one optimizer step of the GPT lab's default recipe (2^19 tokens: two micro-batches, eight
// layers, six of them with the short window), at sustained clocks, and says what is left for the
// rest.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace lab::cuda {
namespace {

constexpr double kMicroBatches = 2;
constexpr double kLayers = 8;
constexpr double kShortLayers = 6;
constexpr double kTokensPerStep = 524288;
constexpr double kTargetTokensPerSecond = 2.2e6;

pawl::Result<pawl::Json> Load(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return pawl::MakeError(pawl::Code::kNotFound, std::string("cannot read ") + path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return pawl::ParseJson(text, path);
}

pawl::Result<double> SustainedMs(const pawl::Json& record, std::string_view row_name) {
  const pawl::Json* rows = record.Find("rows");
  if (rows != nullptr && rows->AsArray() != nullptr) {
    for (const pawl::Json& row : *rows->AsArray()) {
      if (row.StringAt("name") == row_name) return row.DoubleAt("sustained_ms");
    }
  }
  return pawl::MakeError(pawl::Code::kNotFound, pawl::Format("no row \"{}\"", row_name));
}

pawl::Result<double> Sum(const pawl::Json& record, std::string_view prefix,
                         std::initializer_list<std::string_view> rows) {
  double sum_ms = 0;
  for (const std::string_view row : rows) {
    PAWL_ASSIGN(const double ms, SustainedMs(record, pawl::Format("{}{}", prefix, row)));
    sum_ms += ms;
  }
  return sum_ms;
}

pawl::Status Print(char** paths) {
  PAWL_ASSIGN(const pawl::Json attention, Load(paths[0]));
  PAWL_ASSIGN(const pawl::Json matmul, Load(paths[1]));
  PAWL_ASSIGN(const pawl::Json fused, Load(paths[2]));

  PAWL_ASSIGN(const double full_ms, Sum(attention, "", {"forward full", "backward full"}));
  PAWL_ASSIGN(const double short_ms, Sum(attention, "", {"forward w1025", "backward w1025"}));
  const double attention_ms =
      kMicroBatches * (kShortLayers * short_ms + (kLayers - kShortLayers) * full_ms);
  double layer_ms = 0;
  for (const std::string_view layer : {"qkv ", "attention out ", "mlp up ", "mlp down "}) {
    PAWL_ASSIGN(const double ms, Sum(matmul, layer, {"forward", "dgrad", "wgrad fp32, added"}));
    layer_ms += ms;
  }
  PAWL_ASSIGN(const double head_ms,
              Sum(matmul, "head ", {"forward", "dgrad", "wgrad fp32, added"}));
  const double products_ms = kMicroBatches * (kLayers * layer_ms + head_ms);
  PAWL_ASSIGN(const double plain_ms, Sum(matmul, "", {"mlp up forward", "mlp down dgrad"}));
  PAWL_ASSIGN(
      const double fused_ms,
      Sum(fused, "", {"mlp up forward, relu^2: fused", "mlp down dgrad, relu^2 gradient: fused"}));
  PAWL_ASSIGN(
      const double apart_ms,
      Sum(fused, "", {"mlp up forward, relu^2: apart", "mlp down dgrad, relu^2 gradient: apart"}));
  const double times = kMicroBatches * kLayers;
  const double step_ms = 1e3 * kTokensPerStep / kTargetTokensPerSecond;
  const double fused_total_ms = attention_ms + products_ms + times * (fused_ms - plain_ms);

  std::printf("| part of a step, sustained | ms |\n| --- | ---: |\n");
  std::printf("| attention, windows in 6 of 8 layers | %.1f |\n", attention_ms);
  std::printf("| attention, were all layers full | %.1f |\n", kMicroBatches * kLayers * full_ms);
  std::printf("| matrix products, tuned cuBLASLt | %.1f |\n", products_ms);
  std::printf("| relu^2 and its gradient as kernels of their own | + %.1f |\n",
              times * (apart_ms - plain_ms));
  std::printf("| relu^2 and its gradient fused by cuDNN | + %.1f |\n",
              times * (fused_ms - plain_ms));
  std::printf("| attention, products and fused relu^2 | %.1f |\n", fused_total_ms);
  std::printf("| left of a step at %.1f M tokens/s | %.1f |\n", kTargetTokensPerSecond * 1e-6,
              step_ms - fused_total_ms);
  return pawl::OkStatus();
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: cuda_step_estimate ATTENTION.json MATMUL.json FUSED.json\n", stderr);
    return 2;
  }
  const auto status = lab::cuda::Print(argv + 1);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return 1;
}
