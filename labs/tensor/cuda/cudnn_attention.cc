// The graphs below are the formulas of the flash-attention papers, written out in the order in
// which cuDNN's fused engines recognise them; other orders compute the same and match no engine.
#include "tensor/cuda/cudnn_attention.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/cudnn_graph.h"
#include "tensor/cuda/cudnn_handle.h"

namespace lab::cuda {
namespace {

using pawl::Code;

constexpr std::size_t kAlignment = 256;
// Finite, so that exp(score - max) of a masked score is 0 without ever meeting inf - inf.
constexpr float kMasked = -1e30F;

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool Windowed(const AttentionSpec& spec) {
  return spec.window > 0 && spec.window < spec.tokens;
}

pawl::Status Validate(const AttentionSpec& spec) {
  const auto invalid = [](std::string message) {
    return pawl::MakeError(Code::kInvalidArgument, "attention: " + std::move(message));
  };
  if (spec.batch < 1 || spec.heads < 1 || spec.tokens < 1) {
    return invalid("batch, heads and tokens must be at least 1");
  }
  if (spec.head_dim < 8 || spec.head_dim > 128 || spec.head_dim % 8 != 0) {
    return invalid("head_dim " + std::to_string(spec.head_dim) +
                   " is not a multiple of 8 from 8 to 128");
  }
  const std::int64_t width = spec.heads * spec.head_dim;
  for (const std::int64_t pitch : {spec.qkv_pitch, spec.out_pitch}) {
    if (pitch < width || pitch % 8 != 0) {
      return invalid("a pitch of " + std::to_string(pitch) +
                     " elements is not a multiple of 8 of " +
                     "at least heads * head_dim = " + std::to_string(width));
    }
  }
  if (spec.window < 0) return invalid("the window must not be negative");
  if (!(spec.scale > 0) || !std::isfinite(spec.scale)) return invalid("the scale must be positive");
  return pawl::OkStatus();
}

// A graph, the tensors that callers bind, and the dims that both passes share.
struct Shapes {
  explicit Shapes(const AttentionSpec& spec)
      : rows{spec.batch, spec.heads, spec.tokens, spec.head_dim},
        columns{spec.batch, spec.heads, spec.head_dim, spec.tokens},
        scores{spec.batch, spec.heads, spec.tokens, spec.tokens},
        row_sums{spec.batch, spec.heads, spec.tokens, 1},
        qkv_strides{spec.tokens * spec.qkv_pitch, spec.head_dim, spec.qkv_pitch, 1},
        qkv_transposed_strides{spec.tokens * spec.qkv_pitch, spec.head_dim, 1, spec.qkv_pitch},
        out_strides{spec.tokens * spec.out_pitch, spec.head_dim, spec.out_pitch, 1},
        row_sum_strides{spec.heads * spec.tokens, spec.tokens, 1, 1},
        dense_strides{spec.heads * spec.tokens * spec.head_dim, spec.tokens * spec.head_dim,
                      spec.head_dim, 1},
        scores_transposed_strides{spec.heads * spec.tokens * spec.tokens, spec.tokens * spec.tokens,
                                  1, spec.tokens} {}

  using Dims = CudnnGraph::Dims;
  Dims rows, columns, scores, row_sums;
  Dims qkv_strides, qkv_transposed_strides, out_strides, row_sum_strides, dense_strides;
  Dims scores_transposed_strides;
};

GraphTensor Mask(CudnnGraph& graph, GraphTensor scores, const AttentionSpec& spec) {
  const GraphTensor query = graph.Index(scores, 2);
  const GraphTensor key = graph.Index(scores, 3);
  const GraphTensor causal = graph.Compare(CUDNN_POINTWISE_CMP_GE, query, key);
  scores = graph.Select(causal, scores, graph.Scalar(kMasked, scores));
  if (!Windowed(spec)) return scores;

  const GraphTensor query_again = graph.Index(scores, 2);
  const GraphTensor key_again = graph.Index(scores, 3);
  const GraphTensor key_end = graph.Binary(CUDNN_POINTWISE_ADD, key_again,
                                           graph.Scalar(static_cast<float>(spec.window), scores));
  const GraphTensor near = graph.Compare(CUDNN_POINTWISE_CMP_GT, key_end, query_again);
  return graph.Select(near, scores, graph.Scalar(kMasked, scores));
}

struct ForwardGraph {
  CudnnGraph graph;
  GraphTensor q, k, v, out, log_sum_exp;
};

// out = softmax(mask(scale q k')) v
ForwardGraph MakeForward(const AttentionSpec& spec) {
  const Shapes shapes(spec);
  ForwardGraph f;
  CudnnGraph& g = f.graph;
  f.q = g.Memory(CUDNN_DATA_BFLOAT16, shapes.rows, shapes.qkv_strides);
  f.k = g.Memory(CUDNN_DATA_BFLOAT16, shapes.columns, shapes.qkv_transposed_strides);
  f.v = g.Memory(CUDNN_DATA_BFLOAT16, shapes.rows, shapes.qkv_strides);
  f.out = g.Memory(CUDNN_DATA_BFLOAT16, shapes.rows, shapes.out_strides);
  f.log_sum_exp = g.Memory(CUDNN_DATA_FLOAT, shapes.row_sums, shapes.row_sum_strides);

  GraphTensor scores = g.MatMul(f.q, f.k);
  scores = g.Binary(CUDNN_POINTWISE_MUL, scores, g.Scalar(spec.scale, scores));
  scores = Mask(g, scores, spec);
  const GraphTensor row_max = g.Reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
  const GraphTensor shifted = g.Binary(CUDNN_POINTWISE_SUB, scores, row_max);
  const GraphTensor weights = g.Unary(CUDNN_POINTWISE_EXP, shifted);
  const GraphTensor row_sum = g.Reduce(CUDNN_REDUCE_TENSOR_ADD, weights);
  g.Binary(CUDNN_POINTWISE_ADD, row_max, g.Unary(CUDNN_POINTWISE_LOG, row_sum), f.log_sum_exp);
  const GraphTensor probabilities = g.Binary(CUDNN_POINTWISE_DIV, weights, row_sum,
                                             g.Virtual(CUDNN_DATA_BFLOAT16, shapes.scores));
  g.MatMul(probabilities, f.v, f.out);
  return f;
}

struct BackwardGraph {
  CudnnGraph graph;
  GraphTensor q, k, v, out, d_out, log_sum_exp, dq, dk, dv;
  GraphTensor row_dot;         // scratch: sum over d of d_out * out
  GraphTensor dq_accumulator;  // scratch: fp32, must be zero at the start
};

// p = exp(mask(scale q k') - log_sum_exp), dv = p' d_out,
// ds = scale p (d_out v' - row_dot), dk = ds' q, dq = ds k
BackwardGraph MakeBackward(const AttentionSpec& spec) {
  const Shapes shapes(spec);
  BackwardGraph b;
  CudnnGraph& g = b.graph;
  const auto qkv = [&] { return g.Memory(CUDNN_DATA_BFLOAT16, shapes.rows, shapes.qkv_strides); };
  const auto transposed = [&] {
    return g.Memory(CUDNN_DATA_BFLOAT16, shapes.columns, shapes.qkv_transposed_strides);
  };
  const auto output = [&] {
    return g.Memory(CUDNN_DATA_BFLOAT16, shapes.rows, shapes.out_strides);
  };
  const auto row_sums = [&] {
    return g.Memory(CUDNN_DATA_FLOAT, shapes.row_sums, shapes.row_sum_strides);
  };
  const auto scores_transposed = [&] {
    return g.VirtualWithStrides(CUDNN_DATA_BFLOAT16, shapes.scores,
                                shapes.scores_transposed_strides);
  };
  b.q = qkv(), b.k = transposed(), b.v = transposed(), b.out = output(), b.d_out = output();
  b.log_sum_exp = row_sums(), b.row_dot = row_sums();
  b.dq = qkv(), b.dk = qkv(), b.dv = qkv();
  b.dq_accumulator = g.Memory(CUDNN_DATA_FLOAT, shapes.rows, shapes.dense_strides);

  const GraphTensor products = g.Binary(CUDNN_POINTWISE_MUL, b.d_out, b.out);
  const GraphTensor row_dot = g.Reduce(CUDNN_REDUCE_TENSOR_ADD, products);
  // Where dropout would rescale; the engines expect the node.
  g.Binary(CUDNN_POINTWISE_MUL, row_dot, g.Scalar(1.0F, row_dot), b.row_dot);

  GraphTensor scores = g.MatMul(b.q, b.k);
  scores = g.Binary(CUDNN_POINTWISE_MUL, scores, g.Scalar(spec.scale, scores));
  scores = g.Binary(CUDNN_POINTWISE_SUB, scores, b.log_sum_exp);
  scores = Mask(g, scores, spec);
  const GraphTensor probabilities = g.Unary(CUDNN_POINTWISE_EXP, scores);
  g.MatMul(g.Reshape(probabilities, scores_transposed()), b.d_out, b.dv);

  GraphTensor d_scores = g.MatMul(b.d_out, b.v);
  d_scores = g.Binary(CUDNN_POINTWISE_SUB, d_scores, b.row_dot);
  d_scores = g.Binary(CUDNN_POINTWISE_MUL, d_scores, probabilities);
  d_scores = g.Binary(CUDNN_POINTWISE_MUL, d_scores, g.Scalar(spec.scale, d_scores));
  g.MatMul(g.Reshape(d_scores, scores_transposed()), b.q, b.dk);

  const GraphTensor keys =
      g.Reshape(b.k, g.VirtualWithStrides(CUDNN_DATA_FLOAT, shapes.rows, shapes.qkv_strides));
  g.MatMul(d_scores, keys, b.dq_accumulator);
  g.Unary(CUDNN_POINTWISE_IDENTITY, b.dq_accumulator, b.dq);
  return b;
}

void* Mutable(const void* data) {
  return const_cast<void*>(data);
}

}  // namespace

struct CudnnAttention::Impl {
  AttentionSpec spec;
  cudnnHandle_t handle = nullptr;
  CudnnPlan forward_plan;
  CudnnPlan backward_plan;
  // Without their graphs, which Compile consumed: kept for the uids.
  ForwardGraph forward;
  BackwardGraph backward;

  std::size_t row_dot_bytes() const {
    return RoundUp(static_cast<std::size_t>(spec.batch * spec.heads * spec.tokens) * sizeof(float));
  }
  std::size_t dq_accumulator_bytes() const {
    return RoundUp(static_cast<std::size_t>(spec.batch * spec.heads * spec.tokens * spec.head_dim) *
                   sizeof(float));
  }
};

CudnnAttention::CudnnAttention(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudnnAttention::~CudnnAttention() = default;
CudnnAttention::CudnnAttention(CudnnAttention&&) noexcept = default;
CudnnAttention& CudnnAttention::operator=(CudnnAttention&&) noexcept = default;

pawl::Result<CudnnAttention> CudnnAttention::Create(const CudnnHandle& handle,
                                                    const AttentionSpec& spec,
                                                    const AttentionEngines& engines) {
  PAWL_TRY(Validate(spec));
  auto impl = std::make_unique<Impl>();
  impl->spec = spec;
  impl->handle = handle.get();
  impl->forward = MakeForward(spec);
  PAWL_ASSIGN(impl->forward_plan,
              std::move(impl->forward.graph).Compile(handle.get(), engines.forward));
  impl->backward = MakeBackward(spec);
  PAWL_ASSIGN(impl->backward_plan,
              std::move(impl->backward.graph).Compile(handle.get(), engines.backward));
  return CudnnAttention(std::move(impl));
}

std::size_t CudnnAttention::forward_workspace_bytes() const {
  return RoundUp(impl_->forward_plan.workspace_bytes());
}

std::size_t CudnnAttention::backward_workspace_bytes() const {
  return impl_->row_dot_bytes() + impl_->dq_accumulator_bytes() +
         RoundUp(impl_->backward_plan.workspace_bytes());
}

pawl::Status CudnnAttention::Forward(const AttentionForwardArgs& args, void* workspace,
                                     CUstream_st* stream) const {
  PAWL_TRY(FromCudnn(cudnnSetStream(impl_->handle, stream), "choosing the stream"));
  const ForwardGraph& f = impl_->forward;
  const std::array<Binding, 5> bindings{{{f.q.uid, Mutable(args.q)},
                                         {f.k.uid, Mutable(args.k)},
                                         {f.v.uid, Mutable(args.v)},
                                         {f.out.uid, args.out},
                                         {f.log_sum_exp.uid, args.log_sum_exp}}};
  return impl_->forward_plan.Execute(impl_->handle, bindings, workspace);
}

pawl::Status CudnnAttention::Backward(const AttentionBackwardArgs& args, void* workspace,
                                      CUstream_st* stream) const {
  auto* const dq_accumulator = static_cast<std::byte*>(workspace);
  std::byte* const row_dot = dq_accumulator + impl_->dq_accumulator_bytes();
  std::byte* const plan_workspace = row_dot + impl_->row_dot_bytes();
  PAWL_TRY(FromCudnn(cudnnSetStream(impl_->handle, stream), "choosing the stream"));
  PAWL_TRY(FromCuda(cudaMemsetAsync(dq_accumulator, 0, impl_->dq_accumulator_bytes(), stream),
                    "clearing the accumulator of dq"));
  const BackwardGraph& b = impl_->backward;
  const std::array<Binding, 11> bindings{{{b.q.uid, Mutable(args.q)},
                                          {b.k.uid, Mutable(args.k)},
                                          {b.v.uid, Mutable(args.v)},
                                          {b.out.uid, Mutable(args.out)},
                                          {b.d_out.uid, Mutable(args.d_out)},
                                          {b.log_sum_exp.uid, Mutable(args.log_sum_exp)},
                                          {b.dq.uid, args.dq},
                                          {b.dk.uid, args.dk},
                                          {b.dv.uid, args.dv},
                                          {b.row_dot.uid, row_dot},
                                          {b.dq_accumulator.uid, dq_accumulator}}};
  return impl_->backward_plan.Execute(impl_->handle, bindings, plan_workspace);
}

std::string CudnnAttention::Describe() const {
  return "forward engine " + std::to_string(impl_->forward_plan.engine()) + ", backward engine " +
         std::to_string(impl_->backward_plan.engine());
}

pawl::Result<int> CountAttentionEngines(const AttentionSpec& spec, AttentionPass pass,
                                        std::string_view device_json) {
  PAWL_TRY(Validate(spec));
  if (pass == AttentionPass::kForward) {
    return std::move(MakeForward(spec).graph).CountEngines(device_json);
  }
  return std::move(MakeBackward(spec).graph).CountEngines(device_json);
}

double AttentionFlops(const AttentionSpec& spec, AttentionPass pass) {
  const std::int64_t window = Windowed(spec) ? spec.window : spec.tokens;
  // The first `window` queries see 1, 2, .. window keys, the others `window` each.
  const double pairs = 0.5 * static_cast<double>(window) * static_cast<double>(window + 1) +
                       static_cast<double>(spec.tokens - window) * static_cast<double>(window);
  const double product = 2.0 * pairs * static_cast<double>(spec.head_dim) *
                         static_cast<double>(spec.batch * spec.heads);
  return (pass == AttentionPass::kForward ? 2.0 : 5.0) * product;
}

}  // namespace lab::cuda
