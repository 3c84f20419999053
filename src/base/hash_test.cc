#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

// FIPS 180-4 examples.
TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(HashBytes("").hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashBytes("abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, TheIncrementalFormGivesTheSameHash) {
  Hasher hasher;
  for (int i = 0; i < 1000; ++i) hasher.Update(std::string(1000, 'a'));
  EXPECT_EQ(hasher.Finish().hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, HexIsReadBackExactlyAndNothingElseIs) {
  const Sha256 hash = HashBytes("abc");
  ASSERT_TRUE(Sha256::FromHex(hash.hex()).has_value());
  EXPECT_EQ(*Sha256::FromHex(hash.hex()), hash);
  EXPECT_FALSE(Sha256::FromHex(hash.hex().substr(1)).has_value());
  EXPECT_FALSE(Sha256::FromHex(hash.hex() + "0").has_value());
  std::string upper = hash.hex();
  upper[0] = 'B';
  EXPECT_FALSE(Sha256::FromHex(upper).has_value());
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
TEST(KeyedHash, MatchesThePublishedVectors) {
  EXPECT_EQ(KeyedHash(std::string(20, '\x0b'), "Hi There").hex(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(KeyedHash("Jefe", "what do ya want for nothing?").hex(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      KeyedHash(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")
          .hex(),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(KeyedHash, AnEmptyKeyIsAKey) {
  EXPECT_EQ(KeyedHash("", "").hex(),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(RandomBytes, HasTheLengthAskedForAndDiffersEachTime) {
  EXPECT_EQ(RandomBytes(0).size(), 0U);
  EXPECT_EQ(RandomBytes(1000).size(), 1000U);
  EXPECT_NE(RandomBytes(32), RandomBytes(32));
}

TEST(HasherDeathTest, FinishingTwiceIsADefect) {
  Hasher hasher;
  hasher.Update("x");
  hasher.Finish();
  EXPECT_DEATH(hasher.Finish(), "finished");
}

}  // namespace
}  // namespace pawl
