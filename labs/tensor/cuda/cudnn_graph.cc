#include "tensor/cuda/cudnn_graph.h"

#include <array>
#include <utility>

namespace lab::cuda {
namespace {

using pawl::Code;

std::vector<std::int64_t> RowMajor(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace

pawl::Status FromCudnn(cudnnStatus_t code, std::string_view what) {
  if (code == CUDNN_STATUS_SUCCESS) return pawl::OkStatus();
  std::array<char, 2048> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  std::string message = std::string(what) + ": " + cudnnGetErrorString(code);
  if (detail[0] != '\0') message += std::string(", ") + detail.data();
  // cuDNN numbers its families of codes in thousands: 3xxx is "not supported".
  const bool unsupported = static_cast<int>(code) / 1000 == 3;
  return pawl::MakeError(unsupported ? Code::kUnsupported : Code::kIo, std::move(message));
}

void CudnnGraph::Keep(pawl::Status status) {
  if (!status.ok() && !error_) error_ = std::move(status).error();
}

cudnnBackendDescriptor_t CudnnGraph::Make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  Keep(FromCudnn(cudnnBackendCreateDescriptor(type, &descriptor), "creating a descriptor"));
  if (descriptor != nullptr) descriptors_.emplace_back(descriptor);
  return descriptor;
}

void CudnnGraph::Set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (error_) return;
  Keep(FromCudnn(cudnnBackendSetAttribute(descriptor, name, type, count, values),
                 "setting attribute " + std::to_string(name)));
}

void CudnnGraph::SetDescriptor(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
  Set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<const void*>(&value));
}

void CudnnGraph::Finish(cudnnBackendDescriptor_t descriptor, std::string_view what) {
  if (!error_) Keep(FromCudnn(cudnnBackendFinalize(descriptor), what));
}

GraphTensor CudnnGraph::AddTensor(cudnnDataType_t type, Dims dims, Dims strides, bool is_virtual,
                                  bool by_value) {
  GraphTensor tensor{Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), next_uid_++, std::move(dims)};
  const auto rank = static_cast<std::int64_t>(tensor.dims.size());
  const std::int64_t alignment_bytes = 16;
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, tensor.dims.data());
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides.data());
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor.uid);
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment_bytes);
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  Set(tensor.descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  Finish(tensor.descriptor, "describing a tensor");
  return tensor;
}

GraphTensor CudnnGraph::Memory(cudnnDataType_t type, Dims dims, Dims strides) {
  return AddTensor(type, std::move(dims), std::move(strides), false, false);
}

GraphTensor CudnnGraph::Virtual(cudnnDataType_t type, Dims dims) {
  Dims strides = RowMajor(dims);
  return VirtualWithStrides(type, std::move(dims), std::move(strides));
}

GraphTensor CudnnGraph::VirtualWithStrides(cudnnDataType_t type, Dims dims, Dims strides) {
  return AddTensor(type, std::move(dims), std::move(strides), true, false);
}

GraphTensor CudnnGraph::Scalar(float value, const GraphTensor& like) {
  const Dims ones(like.dims.size(), 1);
  GraphTensor tensor = AddTensor(CUDNN_DATA_FLOAT, ones, ones, false, true);
  scalars_.push_back({tensor.uid, value});
  return tensor;
}

GraphTensor CudnnGraph::AddPointwise(cudnnPointwiseMode_t mode, const GraphTensor& a,
                                     const GraphTensor* b, const GraphTensor* mask, GraphTensor out,
                                     cudnnDataType_t compute, std::int64_t axis) {
  const auto pointwise = Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  Set(pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  Set(pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  if (axis >= 0) Set(pointwise, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  Finish(pointwise, "describing a pointwise operation");

  const auto node = Make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a.descriptor);
  if (b != nullptr) SetDescriptor(node, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
  if (mask != nullptr) SetDescriptor(node, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, mask->descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, out.descriptor);
  Finish(node, "adding a pointwise operation");
  operations_.push_back(node);
  return out;
}

GraphTensor CudnnGraph::MatMul(const GraphTensor& a, const GraphTensor& b,
                               std::optional<GraphTensor> out) {
  if (!out) {
    Dims dims = a.dims;
    dims.back() = b.dims.back();
    out = Virtual(CUDNN_DATA_FLOAT, std::move(dims));
  }
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const auto matmul = Make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  Set(matmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  Finish(matmul, "describing a matrix product");

  const auto node = Make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_MATMUL_CDESC, out->descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul);
  Finish(node, "adding a matrix product");
  operations_.push_back(node);
  return *out;
}

GraphTensor CudnnGraph::Unary(cudnnPointwiseMode_t mode, const GraphTensor& a,
                              std::optional<GraphTensor> out) {
  if (!out) out = Virtual(CUDNN_DATA_FLOAT, a.dims);
  return AddPointwise(mode, a, nullptr, nullptr, *std::move(out));
}

GraphTensor CudnnGraph::Binary(cudnnPointwiseMode_t mode, const GraphTensor& a,
                               const GraphTensor& b, std::optional<GraphTensor> out) {
  if (!out) out = Virtual(CUDNN_DATA_FLOAT, a.dims);
  return AddPointwise(mode, a, &b, nullptr, *std::move(out));
}

GraphTensor CudnnGraph::Index(const GraphTensor& like, std::int64_t axis) {
  return AddPointwise(CUDNN_POINTWISE_GEN_INDEX, like, nullptr, nullptr,
                      Virtual(CUDNN_DATA_INT32, like.dims), CUDNN_DATA_FLOAT, axis);
}

GraphTensor CudnnGraph::Compare(cudnnPointwiseMode_t mode, const GraphTensor& a,
                                const GraphTensor& b) {
  return AddPointwise(mode, a, &b, nullptr, Virtual(CUDNN_DATA_BOOLEAN, a.dims),
                      CUDNN_DATA_BOOLEAN);
}

GraphTensor CudnnGraph::Select(const GraphTensor& mask, const GraphTensor& a,
                               const GraphTensor& b) {
  return AddPointwise(CUDNN_POINTWISE_BINARY_SELECT, a, &b, &mask,
                      Virtual(CUDNN_DATA_FLOAT, a.dims));
}

GraphTensor CudnnGraph::Reduce(cudnnReduceTensorOp_t operation, const GraphTensor& a,
                               std::optional<GraphTensor> out) {
  if (!out) {
    Dims dims = a.dims;
    dims.back() = 1;
    out = Virtual(CUDNN_DATA_FLOAT, std::move(dims));
  }
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const auto reduction = Make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  Set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operation);
  Set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  Finish(reduction, "describing a reduction");

  const auto node = Make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, a.descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, out->descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
  Finish(node, "adding a reduction");
  operations_.push_back(node);
  return *out;
}

GraphTensor CudnnGraph::Reshape(const GraphTensor& a, GraphTensor out) {
  const auto node = Make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, a.descriptor);
  SetDescriptor(node, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, out.descriptor);
  Finish(node, "adding a reshape");
  operations_.push_back(node);
  return out;
}

cudnnBackendDescriptor_t CudnnGraph::Seal(cudnnHandle_t handle) {
  const auto graph = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  Set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      static_cast<std::int64_t>(operations_.size()), static_cast<const void*>(operations_.data()));
  if (handle != nullptr) {
    Set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
        static_cast<const void*>(&handle));
  }
  Finish(graph, "closing the operation graph");
  return graph;
}

std::vector<cudnnBackendDescriptor_t> CudnnGraph::Candidates(cudnnBackendDescriptor_t graph,
                                                             cudnnBackendDescriptor_t device) {
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  const auto heuristics = Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  SetDescriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  Set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device != nullptr) SetDescriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  Finish(heuristics, "asking cuDNN's heuristics");
  if (error_) return {};

  std::int64_t count = 0;
  Keep(FromCudnn(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
                 "counting engines"));
  std::vector<cudnnBackendDescriptor_t> configs(static_cast<std::size_t>(count));
  for (auto& config : configs) config = Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (error_ || configs.empty()) return {};
  Keep(FromCudnn(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                          static_cast<void*>(configs.data())),
                 "listing engines"));
  configs.resize(static_cast<std::size_t>(count));
  return configs;
}

pawl::Result<CudnnPlan> CudnnGraph::Finalize(cudnnHandle_t handle,
                                             cudnnBackendDescriptor_t config) {
  cudnnBackendDescriptor_t raw = nullptr;
  PAWL_TRY(FromCudnn(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &raw),
                     "creating a plan"));
  CudnnPlan plan;
  plan.plan_.reset(raw);
  PAWL_TRY(FromCudnn(
      cudnnBackendSetAttribute(raw, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<void*>(&config)),
      "choosing the engine"));
  PAWL_TRY(FromCudnn(cudnnBackendSetAttribute(raw, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                              CUDNN_TYPE_HANDLE, 1, static_cast<void*>(&handle)),
                     "giving the plan its handle"));
  PAWL_TRY(FromCudnn(cudnnBackendFinalize(raw), "compiling the plan"));

  std::int64_t bytes = 0;
  std::int64_t count = 0;
  PAWL_TRY(FromCudnn(cudnnBackendGetAttribute(raw, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                              CUDNN_TYPE_INT64, 1, &count, &bytes),
                     "asking for the workspace"));
  plan.workspace_bytes_ = static_cast<std::size_t>(bytes);

  auto engine = Make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  PAWL_TRY(FromCudnn(
      cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               1, &count, static_cast<void*>(&engine)),
      "asking for the engine"));
  PAWL_TRY(FromCudnn(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                                              CUDNN_TYPE_INT64, 1, &count, &plan.engine_),
                     "asking for the engine's number"));
  return plan;
}

pawl::Result<CudnnPlan> CudnnGraph::Compile(cudnnHandle_t handle, int choice) && {
  const auto graph = Seal(handle);
  const auto configs = Candidates(graph, nullptr);
  if (error_) return *std::move(error_);

  std::string refusals;
  for (const auto config : configs) {
    auto plan = Finalize(handle, config);
    if (!plan.ok()) {
      refusals += "; " + plan.error().message;
      continue;
    }
    if (choice-- > 0) continue;
    plan.value().descriptors_ = std::move(descriptors_);
    plan.value().scalars_ = std::move(scalars_);
    return plan;
  }
  return pawl::MakeError(Code::kUnsupported,
                         "cuDNN has no engine for this operation graph on this device (" +
                             std::to_string(configs.size()) + " proposed" + refusals + ")");
}

pawl::Result<int> CudnnGraph::CountEngines(std::string_view device_json) && {
  const auto device = Make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  Set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      static_cast<std::int64_t>(device_json.size()), device_json.data());
  Finish(device, "reading the device description");
  const auto configs = Candidates(Seal(nullptr), device);
  if (error_) return *std::move(error_);
  if (configs.empty()) {
    return pawl::MakeError(Code::kUnsupported, "cuDNN proposes no engine for this graph");
  }
  return static_cast<int>(configs.size());
}

pawl::Status CudnnPlan::Execute(cudnnHandle_t handle, std::span<const Binding> bindings,
                                void* workspace) const {
  constexpr std::size_t kMaxTensors = 32;
  std::array<std::int64_t, kMaxTensors> uids{};
  std::array<void*, kMaxTensors> pointers{};
  PAWL_CHECK(bindings.size() + scalars_.size() <= kMaxTensors);
  std::size_t count = 0;
  const auto bind = [&](std::int64_t uid, void* data) {
    uids[count] = uid;
    pointers[count++] = data;
  };
  for (const Binding& binding : bindings) bind(binding.uid, binding.data);
  // The interface takes mutable pointers throughout but only reads by-value tensors.
  for (const Scalar& scalar : scalars_) bind(scalar.uid, const_cast<float*>(&scalar.value));

  cudnnBackendDescriptor_t pack = nullptr;
  PAWL_TRY(FromCudnn(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack),
                     "creating a variant pack"));
  const Descriptor owner(pack);
  const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       std::size_t n, const void* values) {
    return FromCudnn(
        cudnnBackendSetAttribute(pack, name, type, static_cast<std::int64_t>(n), values),
        "binding tensors");
  };
  PAWL_TRY(set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids.data()));
  PAWL_TRY(set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
               static_cast<const void*>(pointers.data())));
  PAWL_TRY(set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
               static_cast<const void*>(&workspace)));
  PAWL_TRY(FromCudnn(cudnnBackendFinalize(pack), "binding tensors"));
  return FromCudnn(cudnnBackendExecute(handle, plan_.get(), pack), "executing a plan");
}

}  // namespace lab::cuda
