// SHA-256, the one hash of everything that Pawl stores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

class Sha256 {
 public:
  std::array<std::uint8_t, 32> bytes{};

  std::string hex() const;  // 64 lower-case digits
  static std::optional<Sha256> FromHex(std::string_view hex);
  friend bool operator==(const Sha256&, const Sha256&) = default;
  friend auto operator<=>(const Sha256&, const Sha256&) = default;
};

Sha256 HashBytes(std::string_view bytes);

// HMAC-SHA-256, for keyed coins and seeds.
Sha256 KeyedHash(std::string_view key, std::string_view message);

// Incremental form for files and streams.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void Update(std::string_view bytes);
  Sha256 Finish();  // once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Bytes from the system's random source; a CHECK if the system has none.
std::string RandomBytes(std::size_t count);

}  // namespace pawl
