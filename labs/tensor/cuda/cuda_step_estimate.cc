// cuda_step_estimate ATTENTION.json MATMUL.json FUSED.json KERNELS.json: adds the rows of the four
// benches up to one optimizer step of the GPT lab's default recipe (2^19 tokens: two micro-batches,
// eight layers, six of them with the short window, four with value embeddings), at sustained
// clocks, and says which rate that is.
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
constexpr double kValueLayers = 4;
constexpr double kTokensPerMicroBatch = 262144;
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

struct Products {
  double attention_ms = 0;
  double all_full_ms = 0;    // attention, were every layer full
  double matmul_ms = 0;      // without epilogues
  double relu_apart_ms = 0;  // added to matmul_ms by kernels of its own
  double relu_fused_ms = 0;
  double residual_ms = 0;  // the residual additions in the products' epilogues
};

pawl::Result<Products> SumProducts(const pawl::Json& attention, const pawl::Json& matmul,
                                   const pawl::Json& fused) {
  const double times = kMicroBatches * kLayers;
  Products p;
  PAWL_ASSIGN(const double full_ms, Sum(attention, "", {"forward full", "backward full"}));
  PAWL_ASSIGN(const double short_ms, Sum(attention, "", {"forward w1025", "backward w1025"}));
  p.attention_ms = kMicroBatches * (kShortLayers * short_ms + (kLayers - kShortLayers) * full_ms);
  p.all_full_ms = times * full_ms;
  double layer_ms = 0;
  for (const std::string_view layer : {"qkv ", "attention out ", "mlp up ", "mlp down "}) {
    PAWL_ASSIGN(const double ms, Sum(matmul, layer, {"forward", "dgrad", "wgrad fp32, added"}));
    layer_ms += ms;
  }
  PAWL_ASSIGN(const double head_ms,
              Sum(matmul, "head ", {"forward", "dgrad", "wgrad fp32, added"}));
  p.matmul_ms = kMicroBatches * (kLayers * layer_ms + head_ms);
  PAWL_ASSIGN(const double plain_ms, Sum(matmul, "", {"mlp up forward", "mlp down dgrad"}));
  PAWL_ASSIGN(
      const double fused_ms,
      Sum(fused, "", {"mlp up forward, relu^2: fused", "mlp down dgrad, relu^2 gradient: fused"}));
  PAWL_ASSIGN(
      const double apart_ms,
      Sum(fused, "", {"mlp up forward, relu^2: apart", "mlp down dgrad, relu^2 gradient: apart"}));
  p.relu_fused_ms = times * (fused_ms - plain_ms);
  p.relu_apart_ms = times * (apart_ms - plain_ms);
  PAWL_ASSIGN(const double added_ms,
              Sum(matmul, "", {"attention out forward + residual", "mlp down forward + residual"}));
  PAWL_ASSIGN(const double bare_ms, Sum(matmul, "", {"attention out forward", "mlp down forward"}));
  p.residual_ms = times * (added_ms - bare_ms);
  return p;
}

struct Kernels {
  double norms_ms = 0;
  double rope_ms = 0;
  double embeddings_ms = 0;
  double loss_ms = 0;
  double optimizer_ms = 0;

  double Total() const { return norms_ms + rope_ms + embeddings_ms + loss_ms + optimizer_ms; }
};

pawl::Result<Kernels> SumKernels(const pawl::Json& record) {
  Kernels k;
  PAWL_ASSIGN(const double layer_norms_ms,
              Sum(record, "", {"mix and norm forward", "norm forward", "norm backward, residual"}));
  PAWL_ASSIGN(const double mix_ms, SustainedMs(record, "mix and norm backward"));
  PAWL_ASSIGN(const double gated_mix_ms, SustainedMs(record, "mix and norm backward, gate"));
  PAWL_ASSIGN(const double head_norm_ms, Sum(record, "norm ", {"forward", "backward"}));
  k.norms_ms = kMicroBatches * (kLayers * layer_norms_ms + (kLayers - kValueLayers) * mix_ms +
                                kValueLayers * gated_mix_ms + head_norm_ms);
  PAWL_ASSIGN(const double rope_ms, SustainedMs(record, "qk norm and rope forward"));
  PAWL_ASSIGN(const double value_ms,
              Sum(record, "",
                  {"qk norm and rope forward, values", "value embedding gradient",
                   "value gate weight gradient"}));
  PAWL_ASSIGN(const double rope_back_ms, SustainedMs(record, "qk norm and rope backward"));
  k.rope_ms = kMicroBatches * ((kLayers - kValueLayers) * rope_ms + kValueLayers * value_ms +
                               kLayers * rope_back_ms);
  // The table's norm and its gradient are of the same size.
  PAWL_ASSIGN(k.embeddings_ms,
              Sum(record, "embedding ", {"table norm", "table norm", "gather", "gradient"}));
  k.embeddings_ms *= kMicroBatches;
  PAWL_ASSIGN(const double chunk_ms, SustainedMs(record, "cross entropy, 16384 rows"));
  PAWL_ASSIGN(const double sum_ms, SustainedMs(record, "loss sum"));
  k.loss_ms = kMicroBatches * (kTokensPerMicroBatch / 16384 * chunk_ms + sum_ms);
  // Two ranges of scalars have rates of their own.
  PAWL_ASSIGN(k.optimizer_ms, Sum(record, "",
                                  {"adamw, embeddings, fp32", "adamw, head, fp32", "adamw, scalars",
                                   "adamw, scalars", "muon, 32 of 512x512", "muon, 8 of 2048x512",
                                   "muon, 8 of 512x2048", "muon, 4 of 4x32"}));
  return k;
}

void Row(const char* part, double ms) {
  std::printf("| %s | %.1f |\n", part, ms);
}

pawl::Status Print(char** paths) {
  PAWL_ASSIGN(const pawl::Json attention, Load(paths[0]));
  PAWL_ASSIGN(const pawl::Json matmul, Load(paths[1]));
  PAWL_ASSIGN(const pawl::Json fused, Load(paths[2]));
  PAWL_ASSIGN(const pawl::Json kernels_record, Load(paths[3]));
  PAWL_ASSIGN(const Products p, SumProducts(attention, matmul, fused));
  PAWL_ASSIGN(const Kernels k, SumKernels(kernels_record));
  const double products_ms = p.attention_ms + p.matmul_ms + p.relu_fused_ms + p.residual_ms;
  const double step_ms = products_ms + k.Total();
  const double target_ms = 1e3 * kTokensPerStep / kTargetTokensPerSecond;

  std::printf("| part of a step, sustained | ms |\n| --- | ---: |\n");
  Row("attention, windows in 6 of 8 layers", p.attention_ms);
  Row("(attention, were all layers full)", p.all_full_ms);
  Row("matrix products, tuned cuBLASLt", p.matmul_ms);
  Row("relu^2 and its gradient fused by cuDNN", p.relu_fused_ms);
  Row("(relu^2 and its gradient as kernels of their own)", p.relu_apart_ms);
  Row("residual additions in the products' epilogues", p.residual_ms);
  Row("**attention and products**", products_ms);
  Row("norms and residual mixes", k.norms_ms);
  Row("QK norm, rope, value embeddings and gates", k.rope_ms);
  Row("token embedding", k.embeddings_ms);
  Row("cross entropy", k.loss_ms);
  Row("optimizer", k.optimizer_ms);
  Row("**kernels of our own**", k.Total());
  Row("**one step, added up**", step_ms);
  std::printf("| **M tokens/s** | %.2f |\n", kTokensPerStep / (step_ms * 1e3));
  std::printf("| a step at %.1f M tokens/s | %.1f |\n", kTargetTokensPerSecond * 1e-6, target_ms);
  Row("missing (negative: to spare)", step_ms - target_ms);
  return pawl::OkStatus();
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: cuda_step_estimate ATTENTION.json MATMUL.json FUSED.json KERNELS.json\n",
               stderr);
    return 2;
  }
  const auto status = lab::cuda::Print(argv + 1);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().Text().c_str());
  return 1;
}
