#include "tensor/cuda/cudnn_handle.h"

#include <cudnn.h>

#include <string>
#include <utility>

#include "tensor/cuda/cudnn_graph.h"

namespace lab::cuda {
namespace {

constexpr std::size_t kOldestVersion = 91800;

std::string VersionText(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

pawl::Result<CudnnHandle> CudnnHandle::Create() {
  if (cudnnGetVersion() < kOldestVersion) {
    return pawl::MakeError(pawl::Code::kUnsupported,
                           "cuDNN " + Version() + " is older than " + VersionText(kOldestVersion),
                           "install cuDNN 9.18 or later for CUDA 13");
  }
  CudnnHandle handle;
  PAWL_TRY(FromCudnn(cudnnCreate(&handle.handle_), "starting cuDNN"));
  return handle;
}

CudnnHandle::~CudnnHandle() {
  if (handle_ != nullptr) static_cast<void>(cudnnDestroy(handle_));
}

CudnnHandle::CudnnHandle(CudnnHandle&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

CudnnHandle& CudnnHandle::operator=(CudnnHandle&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

std::string CudnnHandle::Version() {
  return VersionText(cudnnGetVersion());
}

pawl::Result<std::string> CudnnHandle::DeviceJson() const {
  cudnnBackendDescriptor_t raw = nullptr;
  PAWL_TRY(FromCudnn(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &raw),
                     "creating a device description"));
  const Descriptor owner(raw);
  PAWL_TRY(FromCudnn(cudnnBackendSetAttribute(raw, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE,
                                              1, static_cast<const void*>(&handle_)),
                     "describing the device"));
  PAWL_TRY(FromCudnn(cudnnBackendFinalize(raw), "describing the device"));
  std::int64_t size = 0;
  PAWL_TRY(FromCudnn(cudnnBackendGetAttribute(raw, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                              CUDNN_TYPE_CHAR, 0, &size, nullptr),
                     "sizing the device description"));
  std::string json(static_cast<std::size_t>(size), '\0');
  PAWL_TRY(FromCudnn(cudnnBackendGetAttribute(raw, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                              CUDNN_TYPE_CHAR, size, &size, json.data()),
                     "reading the device description"));
  json.resize(json.find_last_not_of('\0') + 1);
  return json;
}

}  // namespace lab::cuda
