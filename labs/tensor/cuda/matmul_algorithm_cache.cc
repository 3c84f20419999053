#include "tensor/cuda/matmul_algorithm_cache.h"

#include <utility>

#include "os/files.h"
#include "tensor/cuda/device_description.h"

namespace lab::cuda {

pawl::Result<std::string> CurrentMatmulPlatform() {
  PAWL_ASSIGN(const DeviceDescription device, DescribeDevice());
  return device.name + ", driver " + device.driver + ", cuBLASLt " + CublasLtHandle::Version();
}

pawl::Result<MatmulAlgorithmCache> MatmulAlgorithmCache::Load(std::filesystem::path file,
                                                              std::string platform) {
  MatmulAlgorithmCache cache;
  cache.file_ = std::move(file);
  cache.platform_ = std::move(platform);
  cache.content_ = pawl::JsonObject{};
  if (!pawl::os::Exists(cache.file_)) return cache;
  PAWL_ASSIGN(const std::string text, pawl::os::ReadFile(cache.file_));
  auto content = pawl::ParseJson(text, cache.file_.string());
  const bool is_object = content.ok() && content->AsObject() != nullptr;
  if (!is_object) {
    return pawl::MakeError(pawl::Code::kCorrupt,
                           cache.file_.string() + " is not a cache of tuned algorithms" +
                               (content.ok() ? "" : ": " + content.error().message),
                           "remove the file; the products are tuned again");
  }
  cache.content_ = std::move(content).value();
  return cache;
}

std::string MatmulAlgorithmCache::Find(const std::string& key) const {
  const pawl::Json* products = content_.Find(platform_);
  return products == nullptr ? std::string() : products->StringAt(key);
}

void MatmulAlgorithmCache::Set(const std::string& key, std::string algorithm) {
  pawl::Json& products = (*content_.AsObject())[platform_];
  if (products.AsObject() == nullptr) products = pawl::JsonObject{};
  (*products.AsObject())[key] = std::move(algorithm);
}

bool MatmulAlgorithmCache::Restore(CublasLtMatmul& product) const {
  const std::string algorithm = Find(product.spec().Key());
  return !algorithm.empty() && product.RestoreAlgorithm(algorithm).ok();
}

void MatmulAlgorithmCache::Remember(const CublasLtMatmul& product) {
  Set(product.spec().Key(), product.SaveAlgorithm());
}

pawl::Status MatmulAlgorithmCache::Save() const {
  return pawl::os::WriteFileAtomic(file_, content_.Pretty());
}

}  // namespace lab::cuda
