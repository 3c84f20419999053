#include "tensor/cuda/matmul_algorithm_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace lab::cuda {
namespace {

class MatmulAlgorithmCacheTest : public ::testing::Test {
 protected:
  MatmulAlgorithmCacheTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        file_(folder_ / "algorithms.json") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~MatmulAlgorithmCacheTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::filesystem::path file_;
};

TEST_F(MatmulAlgorithmCacheTest, KeepsPlatformsApartAcrossSaves) {
  {
    auto cache = MatmulAlgorithmCache::Load(file_, "card A");
    ASSERT_TRUE(cache.ok());
    EXPECT_EQ(cache->Find("8x8x8 nn bf16"), "");
    cache->Set("8x8x8 nn bf16", "aa");
    ASSERT_TRUE(cache->Save().ok());
  }
  {
    auto cache = MatmulAlgorithmCache::Load(file_, "card B");
    ASSERT_TRUE(cache.ok());
    EXPECT_EQ(cache->Find("8x8x8 nn bf16"), "");
    cache->Set("8x8x8 nn bf16", "bb");
    ASSERT_TRUE(cache->Save().ok());
  }
  const auto cache = MatmulAlgorithmCache::Load(file_, "card A");
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(cache->Find("8x8x8 nn bf16"), "aa");
}

TEST_F(MatmulAlgorithmCacheTest, ReportsADamagedFile) {
  for (const char* content : {"{\"card A\": ", "[1, 2]"}) {
    std::ofstream(file_) << content;
    const auto cache = MatmulAlgorithmCache::Load(file_, "card A");
    ASSERT_FALSE(cache.ok()) << content;
    EXPECT_EQ(cache.error().code, pawl::Code::kCorrupt);
    EXPECT_NE(cache.error().message.find(file_.string()), std::string::npos);
  }
}

}  // namespace
}  // namespace lab::cuda
