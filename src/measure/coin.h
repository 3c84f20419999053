// Pawl's own coin: which arm runs first, which seed a run gets, where a refresh run falls. Every
// throw is HMAC-SHA-256 of (purpose, experiment, index) under the campaign's key, so it can be
// computed again by anybody who holds the key, and a restart throws the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "measure/score.h"

namespace pawl::measure {

enum class BlockDesign : std::uint8_t {
  kPair,  // two runs: AB or BA
  kAbba,  // four runs: ABBA or BAAB; cancels a linear drift
};
enum class Order : std::uint8_t { kIncumbentFirst, kCandidateFirst };

class Coin {
 public:
  // `key` is the campaign's secret; it must outlive the coin.
  Coin(std::string_view key, std::uint64_t experiment) : key_(key), experiment_(experiment) {}

  // Depends on the block alone: a block that is run again has the same order.
  Order BlockOrder(std::uint32_t block) const;
  // Seeds for programs: 1 ... 2^31 - 1, which every language's generator takes.
  std::uint32_t CandidateSeed(std::uint32_t run) const;
  std::uint32_t IncumbentSeed(std::uint32_t run) const;
  // Seed shared by the runs of a block, so that both arms get the same inputs.
  std::uint32_t BlockSeed(std::uint32_t block) const;
  // Shuffles the arms of batch `batch` (Fisher and Yates, from one throw); at most kMostShuffled,
  // because 20! orders fit into 64 bits.
  static constexpr std::size_t kMostShuffled = 20;
  void Shuffle(std::uint32_t batch, std::span<Arm> arms) const;

 private:
  std::uint64_t Throw(std::string_view purpose, std::uint64_t index) const;
  std::string_view key_;
  std::uint64_t experiment_;
};

// Which arm each run of the block is, in order of time.
std::vector<Arm> BlockArms(BlockDesign design, Order order);

}  // namespace pawl::measure
