#include "fault/sample.h"

#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace pawl::fault {

bool TryAll() {
  const char* all = std::getenv("PAWL_TEST_ALL");
  return all != nullptr && std::string_view(all) == "1";
}

unsigned Seed() {
  static const unsigned seed = [] {
    const char* given = std::getenv("PAWL_TEST_SEED");
    const auto number = given == nullptr ? std::nullopt : ParseInt(given);
    return number ? static_cast<unsigned>(*number) : std::random_device()();
  }();
  return seed;
}

}  // namespace pawl::fault
