// cuDNN's back-end API as expressions: build an operation graph, compile it once, execute it often.
// The graph keeps the first error and ignores what follows, so a formula reads as one; Compile
// reports it. Only for .cc files: it brings in cudnn.h.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lab::cuda {

pawl::Status FromCudnn(cudnnStatus_t code, std::string_view what);

// Owns one cudnnBackendDescriptor_t.
struct DescriptorDeleter {
  void operator()(void* descriptor) const {
    static_cast<void>(cudnnBackendDestroyDescriptor(descriptor));
  }
};
using Descriptor = std::unique_ptr<void, DescriptorDeleter>;

// A tensor of a graph. Those in memory are bound by uid at execution.
struct GraphTensor {
  cudnnBackendDescriptor_t descriptor = nullptr;
  std::int64_t uid = 0;
  std::vector<std::int64_t> dims;
};

struct Binding {
  std::int64_t uid = 0;
  void* data = nullptr;
};

// A compiled graph. Thread-compatible; the handle's stream is the stream that runs it.
class CudnnPlan {
 public:
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  // Number of the engine that runs it, as cuDNN counts them.
  std::int64_t engine() const { return engine_; }

  // Enqueues the graph. Every tensor in memory must be bound. No device allocation and no wait, so
  // it can be captured into a CUDA graph.
  pawl::Status Execute(cudnnHandle_t handle, std::span<const Binding> bindings,
                       void* workspace) const;

 private:
  friend class CudnnGraph;
  struct Scalar {
    std::int64_t uid = 0;
    float value = 0;
  };
  std::vector<Descriptor> descriptors_;  // everything that plan_ refers to
  std::vector<Scalar> scalars_;
  Descriptor plan_;
  std::size_t workspace_bytes_ = 0;
  std::int64_t engine_ = -1;
};

class CudnnGraph {
 public:
  using Dims = std::vector<std::int64_t>;

  // A tensor in device memory; strides in elements.
  GraphTensor Memory(cudnnDataType_t type, Dims dims, Dims strides);
  // A result that exists only inside the fused kernel, row-major or with the given strides.
  GraphTensor Virtual(cudnnDataType_t type, Dims dims);
  GraphTensor VirtualWithStrides(cudnnDataType_t type, Dims dims, Dims strides);
  // A constant of the graph, as many dimensions as `like` has.
  GraphTensor Scalar(float value, const GraphTensor& like);

  // Operations. Without `out` the result is virtual, fp32 and shaped like `a` (MatMul: rows of `a`
  // by columns of `b`; Reduce: last dimension 1). Arithmetic is fp32.
  GraphTensor MatMul(const GraphTensor& a, const GraphTensor& b,
                     std::optional<GraphTensor> out = std::nullopt);
  GraphTensor Unary(cudnnPointwiseMode_t mode, const GraphTensor& a,
                    std::optional<GraphTensor> out = std::nullopt);
  GraphTensor Binary(cudnnPointwiseMode_t mode, const GraphTensor& a, const GraphTensor& b,
                     std::optional<GraphTensor> out = std::nullopt);
  // Index along `axis` as int32.
  GraphTensor Index(const GraphTensor& like, std::int64_t axis);
  // a `mode` b as bool.
  GraphTensor Compare(cudnnPointwiseMode_t mode, const GraphTensor& a, const GraphTensor& b);
  // a where `mask`, else b.
  GraphTensor Select(const GraphTensor& mask, const GraphTensor& a, const GraphTensor& b);
  // Over the last dimension.
  GraphTensor Reduce(cudnnReduceTensorOp_t operation, const GraphTensor& a,
                     std::optional<GraphTensor> out = std::nullopt);
  // The same elements under the dims and strides of `out`.
  GraphTensor Reshape(const GraphTensor& a, GraphTensor out);

  // Compiles for the handle's device with the best engine of the heuristics, or with the
  // `choice`-th best. Consumes the graph.
  pawl::Result<CudnnPlan> Compile(cudnnHandle_t handle, int choice = 0) &&;

  // How many engines the heuristics propose for a device that is described in cuDNN's JSON form;
  // needs no device. kUnsupported when none.
  pawl::Result<int> CountEngines(std::string_view device_json) &&;

 private:
  GraphTensor AddTensor(cudnnDataType_t type, Dims dims, Dims strides, bool is_virtual,
                        bool by_value);
  GraphTensor AddPointwise(cudnnPointwiseMode_t mode, const GraphTensor& a, const GraphTensor* b,
                           const GraphTensor* mask, GraphTensor out,
                           cudnnDataType_t compute = CUDNN_DATA_FLOAT, std::int64_t axis = -1);
  cudnnBackendDescriptor_t Make(cudnnBackendDescriptorType_t type);
  void Set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void Finish(cudnnBackendDescriptor_t descriptor, std::string_view what);
  void Keep(pawl::Status status);
  void SetDescriptor(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                     cudnnBackendDescriptor_t value);
  cudnnBackendDescriptor_t Seal(cudnnHandle_t handle);
  std::vector<cudnnBackendDescriptor_t> Candidates(cudnnBackendDescriptor_t graph,
                                                   cudnnBackendDescriptor_t device);
  pawl::Result<CudnnPlan> Finalize(cudnnHandle_t handle, cudnnBackendDescriptor_t config);

  std::vector<Descriptor> descriptors_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<CudnnPlan::Scalar> scalars_;
  std::int64_t next_uid_ = 1;
  std::optional<pawl::Error> error_;
};

}  // namespace lab::cuda
