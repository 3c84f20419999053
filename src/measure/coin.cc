#include "measure/coin.h"

#include <cstddef>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/result.h"

namespace pawl::measure {
namespace {

void AppendNumber(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8)
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(number >> shift)));
}

std::uint32_t ToSeed(std::uint64_t word) {
  constexpr std::uint64_t kSeeds = (std::uint64_t{1} << 31) - 1;
  return static_cast<std::uint32_t>(1 + word % kSeeds);
}

}  // namespace

std::uint64_t Coin::Throw(std::string_view purpose, std::uint64_t index) const {
  // The purpose ends with a zero byte and the numbers have fixed width: no two messages collide.
  std::string message("pawl.coin.1/");
  message += purpose;
  message.push_back('\0');
  AppendNumber(message, experiment_);
  AppendNumber(message, index);
  const Sha256 hash = KeyedHash(key_, message);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{hash.bytes[i]} << (8 * i);
  return word;
}

Order Coin::BlockOrder(std::uint32_t block) const {
  return (Throw("order", block) & 1) == 0 ? Order::kIncumbentFirst : Order::kCandidateFirst;
}

std::uint32_t Coin::CandidateSeed(std::uint32_t run) const {
  return ToSeed(Throw("candidate-seed", run));
}

std::uint32_t Coin::IncumbentSeed(std::uint32_t run) const {
  return ToSeed(Throw("incumbent-seed", run));
}

std::uint32_t Coin::BlockSeed(std::uint32_t block) const {
  return ToSeed(Throw("block-seed", block));
}

void Coin::Shuffle(std::uint32_t batch, std::span<Arm> arms) const {
  PAWL_CHECK(arms.size() <= kMostShuffled);
  std::uint64_t word = Throw("shuffle", batch);
  for (std::size_t left = arms.size(); left > 1; --left) {
    std::swap(arms[left - 1], arms[word % left]);
    word /= left;
  }
}

std::vector<Arm> BlockArms(BlockDesign design, Order order) {
  const Arm first = order == Order::kIncumbentFirst ? Arm::kIncumbent : Arm::kCandidate;
  const Arm second = order == Order::kIncumbentFirst ? Arm::kCandidate : Arm::kIncumbent;
  if (design == BlockDesign::kPair) return {first, second};
  return {first, second, second, first};
}

}  // namespace pawl::measure
