#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <climits>

#include "base/result.h"
#include "base/text.h"

namespace pawl {

namespace {

std::optional<std::uint8_t> HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  return std::nullopt;
}

}  // namespace

std::string Sha256::hex() const {
  return ToHex(bytes);
}

std::optional<Sha256> Sha256::FromHex(std::string_view hex) {
  Sha256 out;
  if (hex.size() != 2 * out.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < out.bytes.size(); ++i) {
    const auto high = HexDigit(hex[2 * i]);
    const auto low = HexDigit(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    out.bytes[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return out;
}

Sha256 HashBytes(std::string_view bytes) {
  Sha256 out;
  PAWL_CHECK(EVP_Digest(bytes.data(), bytes.size(), out.bytes.data(), nullptr, EVP_sha256(),
                        nullptr) == 1);
  return out;
}

Sha256 KeyedHash(std::string_view key, std::string_view message) {
  PAWL_CHECK(key.size() <= INT_MAX);
  Sha256 out;
  unsigned length = 0;
  PAWL_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                  reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                  out.bytes.data(), &length) != nullptr);
  PAWL_CHECK(length == out.bytes.size());
  return out;
}

struct Hasher::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool finished = false;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : impl_(std::make_unique<Impl>()) {
  PAWL_CHECK(impl_->context != nullptr);
  PAWL_CHECK(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1);
}

Hasher::~Hasher() = default;

void Hasher::Update(std::string_view bytes) {
  PAWL_CHECK(!impl_->finished);
  PAWL_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
}

Sha256 Hasher::Finish() {
  PAWL_CHECK(!impl_->finished);
  impl_->finished = true;
  Sha256 out;
  PAWL_CHECK(EVP_DigestFinal_ex(impl_->context, out.bytes.data(), nullptr) == 1);
  return out;
}

std::string RandomBytes(std::size_t count) {
  std::string out(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t got = getrandom(out.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    PAWL_CHECK(got > 0);
    filled += static_cast<std::size_t>(got);
  }
  return out;
}

}  // namespace pawl
