// Tuned algorithms on disk, so that a program tunes once per device and library version: one JSON
// file that maps a device to products to algorithms.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "tensor/cuda/cublaslt_matmul.h"

namespace lab::cuda {

// What an algorithm's bytes depend on besides the product: "NVIDIA H200, driver 580.159.04,
// cuBLASLt 13.1.0".
pawl::Result<std::string> CurrentMatmulPlatform();

// Not thread-safe; two processes that save at once leave one of the two contents.
class MatmulAlgorithmCache {
 public:
  // An absent file is an empty cache; one that is no JSON object is kCorrupt.
  static pawl::Result<MatmulAlgorithmCache> Load(std::filesystem::path file, std::string platform);

  // Gives `product` its stored algorithm. False when there is none, or when the library does not
  // take it any more: tune then.
  bool Restore(CublasLtMatmul& product) const;
  void Remember(const CublasLtMatmul& product);
  pawl::Status Save() const;

  // The text under a product's key on this platform; empty when absent.
  std::string Find(const std::string& key) const;
  void Set(const std::string& key, std::string algorithm);

 private:
  std::filesystem::path file_;
  std::string platform_;
  pawl::Json content_;
};

}  // namespace lab::cuda
