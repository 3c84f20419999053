#include <utility>

#include "base/text.h"
#include "tensor/cuda/cross_entropy.h"
#include "tensor/cuda/cublaslt_matmul.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/gpt_bench_parts.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kVocab = 8192;
constexpr std::int64_t kHeadTokens = 49152;

// Logits, loss, input gradient and weight gradient of one chunk after the other, each chunk's
// logits in the same buffer.
class Head {
 public:
  static pawl::Result<Head> Create(const CublasLtHandle& handle, std::int64_t chunk) {
    LinearSpecs specs = SpecsOfLinear(chunk, kVocab, kWidth);
    specs.weight_gradient.output = MatmulOutput::kFp32;
    specs.weight_gradient.add_c = true;
    PAWL_ASSIGN(CublasLtMatmul forward_product, CublasLtMatmul::Create(handle, specs.forward));
    PAWL_ASSIGN(CublasLtMatmul input_product, CublasLtMatmul::Create(handle, specs.input_gradient));
    PAWL_ASSIGN(CublasLtMatmul weight_product,
                CublasLtMatmul::Create(handle, specs.weight_gradient));
    Head head(chunk, std::move(forward_product), std::move(input_product),
              std::move(weight_product));
    PAWL_TRY(head.Allocate());
    return head;
  }

  pawl::Status Run() const {
    for (std::int64_t first = 0; first < kHeadTokens; first += chunk_) {
      const MatmulWorkspace workspace{scratch_.data(), scratch_.size_bytes()};
      PAWL_TRY(forward_.Run(Forward(first), workspace, nullptr));
      PAWL_TRY(CrossEntropy(logits_.data(), targets_.as<std::int32_t>() + first,
                            loss_.as<float>() + first, 1.0F / kHeadTokens, {chunk_, kVocab, 15},
                            nullptr));
      PAWL_TRY(input_.Run(Input(first), workspace, nullptr));
      PAWL_TRY(weight_.Run(Weight(first), workspace, nullptr));
    }
    return pawl::OkStatus();
  }
  double flops() const {
    return static_cast<double>(kHeadTokens / chunk_) *
           (forward_.spec().flops() + input_.spec().flops() + weight_.spec().flops());
  }

 private:
  Head(std::int64_t chunk, CublasLtMatmul forward, CublasLtMatmul input, CublasLtMatmul weight)
      : chunk_(chunk),
        forward_(std::move(forward)),
        input_(std::move(input)),
        weight_(std::move(weight)) {}

  pawl::Status Allocate() {
    PAWL_ASSIGN(z_, DeviceMemory::Allocate(kHeadTokens * kWidth * 2));
    PAWL_ASSIGN(d_z_, DeviceMemory::Allocate(kHeadTokens * kWidth * 2));
    PAWL_ASSIGN(w_, DeviceMemory::Allocate(kVocab * kWidth * 2));
    PAWL_ASSIGN(d_w_, DeviceMemory::AllocateZeros(kVocab * kWidth * 4));
    PAWL_ASSIGN(logits_, DeviceMemory::Allocate(static_cast<std::size_t>(chunk_ * kVocab) * 2));
    PAWL_ASSIGN(targets_, DeviceMemory::AllocateZeros(kHeadTokens * 4));
    PAWL_ASSIGN(loss_, DeviceMemory::AllocateZeros(kHeadTokens * 4));
    PAWL_ASSIGN(scratch_, DeviceMemory::Allocate(kMatmulWorkspaceBytes));
    PAWL_TRY(FillUniformBf16(z_.data(), kHeadTokens * kWidth, 1.7F, 1, nullptr));
    PAWL_TRY(FillUniformBf16(w_.data(), kVocab * kWidth, 0.1F, 2, nullptr));
    const MatmulWorkspace workspace{scratch_.data(), scratch_.size_bytes()};
    PAWL_TRY(forward_.Tune(Forward(0), workspace, MatmulSearch::kHeuristics, nullptr));
    PAWL_TRY(input_.Tune(Input(0), workspace, MatmulSearch::kHeuristics, nullptr));
    PAWL_TRY(weight_.Tune(Weight(0), workspace, MatmulSearch::kHeuristics, nullptr));
    return d_w_.Clear();
  }
  void* Rows(const DeviceMemory& tensor, std::int64_t first) const {
    return tensor.as<std::uint16_t>() + first * kWidth;
  }
  MatmulArgs Forward(std::int64_t first) const {
    return {Rows(z_, first), w_.data(), nullptr, logits_.data()};
  }
  MatmulArgs Input(std::int64_t first) const {
    return {logits_.data(), w_.data(), nullptr, Rows(d_z_, first)};
  }
  MatmulArgs Weight(std::int64_t first) const {
    return {logits_.data(), Rows(z_, first), d_w_.data(), d_w_.data()};
  }

  std::int64_t chunk_;
  CublasLtMatmul forward_, input_, weight_;
  DeviceMemory z_, d_z_, w_, d_w_, logits_, targets_, loss_, scratch_;
};

}  // namespace

pawl::Status BenchHead(const DeviceTimer& timer, BenchRecord& record) {
  PAWL_ASSIGN(const CublasLtHandle handle, CublasLtHandle::Create());
  for (const std::int64_t chunk : {1536, 3072, 8192, 16384, 49152}) {
    PAWL_ASSIGN(const Head head, Head::Create(handle, chunk));
    PAWL_ASSIGN(const BenchTimes times, TimeWork(timer, [&] { return head.Run(); }));
    record.Add(
        {pawl::Format("head, chunks of {}", chunk),
         times,
         head.flops(),
         0,
         {{"note", pawl::Format("{} MB of logits at a time", chunk * kVocab * 2 / 1000000)}}});
  }
  return pawl::OkStatus();
}

}  // namespace lab::cuda
