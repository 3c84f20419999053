#include "tensor/cuda/cudnn_matmul.h"

#include <cudnn.h>

#include <optional>
#include <utility>
#include <vector>

#include "tensor/cuda/cudnn_graph.h"
#include "tensor/cuda/cudnn_handle.h"
#include "tensor/cuda/device_timer.h"

namespace lab::cuda {
namespace {

struct ProductGraph {
  CudnnGraph graph;
  GraphTensor a, b, d;
  std::optional<GraphTensor> extra;
};

ProductGraph MakeGraph(const FusedMatmulSpec& spec) {
  ProductGraph p;
  CudnnGraph& g = p.graph;
  const auto matrix = [&](cudnnDataType_t type, std::int64_t rows, std::int64_t cols) {
    return g.Memory(type, {1, rows, cols}, {rows * cols, cols, 1});
  };
  p.a = matrix(CUDNN_DATA_BFLOAT16, spec.rows, spec.inner);
  p.b = spec.b == Operand::kPlain ? matrix(CUDNN_DATA_BFLOAT16, spec.inner, spec.cols)
                                  : g.Memory(CUDNN_DATA_BFLOAT16, {1, spec.inner, spec.cols},
                                             {spec.inner * spec.cols, 1, spec.inner});
  p.d = matrix(CUDNN_DATA_BFLOAT16, spec.rows, spec.cols);
  if (spec.epilogue == FusedEpilogue::kNone) {
    g.MatMul(p.a, p.b, p.d);
    return p;
  }
  GraphTensor y = g.MatMul(p.a, p.b);
  const auto relu_squared = [&](const GraphTensor& x) {
    const GraphTensor positive = g.Unary(CUDNN_POINTWISE_RELU_FWD, x);
    g.Binary(CUDNN_POINTWISE_MUL, positive, positive, p.d);
  };
  switch (spec.epilogue) {
    case FusedEpilogue::kNone:
      break;
    case FusedEpilogue::kReluSquared:
      relu_squared(y);
      break;
    case FusedEpilogue::kReluSquaredGradient: {
      p.extra = matrix(CUDNN_DATA_BFLOAT16, spec.rows, spec.cols);
      const GraphTensor root = g.Unary(CUDNN_POINTWISE_SQRT, *p.extra);
      y = g.Binary(CUDNN_POINTWISE_MUL, y, root);
      g.Binary(CUDNN_POINTWISE_MUL, y, g.Scalar(2.0F, y), p.d);
      break;
    }
    case FusedEpilogue::kRowScale:
      p.extra = matrix(CUDNN_DATA_FLOAT, spec.rows, 1);
      g.Binary(CUDNN_POINTWISE_MUL, y, *p.extra, p.d);
      break;
    case FusedEpilogue::kRowScaleReluSquared:
      p.extra = matrix(CUDNN_DATA_FLOAT, spec.rows, 1);
      relu_squared(g.Binary(CUDNN_POINTWISE_MUL, y, *p.extra));
      break;
    case FusedEpilogue::kAdd:
      p.extra = matrix(CUDNN_DATA_BFLOAT16, spec.rows, spec.cols);
      g.Binary(CUDNN_POINTWISE_ADD, y, *p.extra, p.d);
      break;
  }
  return p;
}

}  // namespace

std::string_view FusedEpilogueName(FusedEpilogue epilogue) {
  switch (epilogue) {
    case FusedEpilogue::kNone:
      return "none";
    case FusedEpilogue::kReluSquared:
      return "relu^2";
    case FusedEpilogue::kReluSquaredGradient:
      return "relu^2 gradient";
    case FusedEpilogue::kRowScale:
      return "row scale";
    case FusedEpilogue::kRowScaleReluSquared:
      return "row scale, relu^2";
    case FusedEpilogue::kAdd:
      return "add";
  }
  return "";
}

struct CudnnMatmul::Impl {
  cudnnHandle_t handle = nullptr;
  int choice = 0;
  ProductGraph tensors;  // without its graph, which Compile consumed: kept for the uids
  CudnnPlan plan;
};

CudnnMatmul::CudnnMatmul(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudnnMatmul::~CudnnMatmul() = default;
CudnnMatmul::CudnnMatmul(CudnnMatmul&&) noexcept = default;
CudnnMatmul& CudnnMatmul::operator=(CudnnMatmul&&) noexcept = default;

pawl::Result<CudnnMatmul> CudnnMatmul::Create(const CudnnHandle& handle,
                                              const FusedMatmulSpec& spec, int choice) {
  if (spec.rows < 1 || spec.cols < 1 || spec.inner < 1) {
    return pawl::MakeError(pawl::Code::kInvalidArgument, "a fused product has an empty side");
  }
  auto impl = std::make_unique<Impl>();
  impl->handle = handle.get();
  impl->choice = choice;
  impl->tensors = MakeGraph(spec);
  PAWL_ASSIGN(impl->plan, std::move(impl->tensors.graph).Compile(handle.get(), choice));
  return CudnnMatmul(std::move(impl));
}

pawl::Result<CudnnMatmul> CudnnMatmul::CreateTuned(const CudnnHandle& handle,
                                                   const FusedMatmulSpec& spec,
                                                   const FusedMatmulArgs& args,
                                                   const MatmulWorkspace& workspace,
                                                   CUstream_st* stream) {
  constexpr int kMostChoices = 16;
  constexpr int kWarmUp = 2;
  constexpr int kRepeats = 7;
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(stream));
  std::optional<CudnnMatmul> best;
  double best_ms = 0;
  for (int choice = 0; choice < kMostChoices; ++choice) {
    auto candidate = Create(handle, spec, choice);
    if (!candidate.ok()) {
      if (candidate.error().code != pawl::Code::kUnsupported) return candidate;
      if (best) break;  // no more of them
      return candidate;
    }
    if (candidate->workspace_bytes() > workspace.size_bytes) continue;
    PAWL_ASSIGN(const auto samples,
                timer.Sample([&] { return candidate->Run(args, workspace.data, stream); }, kWarmUp,
                             kRepeats));
    if (best && Median(samples) >= best_ms) continue;
    best_ms = Median(samples);
    best = std::move(candidate).value();
  }
  if (best) return *std::move(best);
  return pawl::MakeError(
      pawl::Code::kResourceExhausted,
      "every engine for the product " + std::string(FusedEpilogueName(spec.epilogue)) +
          " needs more scratch than " + std::to_string(workspace.size_bytes) + " bytes");
}

std::size_t CudnnMatmul::workspace_bytes() const {
  return impl_->plan.workspace_bytes();
}

pawl::Status CudnnMatmul::Run(const FusedMatmulArgs& args, void* workspace,
                              CUstream_st* stream) const {
  PAWL_TRY(FromCudnn(cudnnSetStream(impl_->handle, stream), "choosing the stream"));
  const ProductGraph& p = impl_->tensors;
  std::vector<Binding> bindings{{p.a.uid, const_cast<void*>(args.a)},
                                {p.b.uid, const_cast<void*>(args.b)},
                                {p.d.uid, args.d}};
  if (p.extra) bindings.push_back({p.extra->uid, const_cast<void*>(args.extra)});
  return impl_->plan.Execute(impl_->handle, bindings, workspace);
}

std::string CudnnMatmul::Describe() const {
  return "engine " + std::to_string(impl_->plan.engine()) + " choice " +
         std::to_string(impl_->choice);
}

pawl::Result<int> CountFusedMatmulEngines(const FusedMatmulSpec& spec,
                                          std::string_view device_json) {
  return std::move(MakeGraph(spec).graph).CountEngines(device_json);
}

}  // namespace lab::cuda
