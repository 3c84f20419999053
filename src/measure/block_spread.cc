#include "measure/block_spread.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "base/result.h"
#include "measure/spread.h"

namespace pawl::measure {

double BlockSpread(BlockDesign design, std::span<const double> x) {
  PAWL_CHECK(x.size() >= 5);
  std::vector<double> effects;
  const std::size_t length = design == BlockDesign::kPair ? 2 : 4;
  for (std::size_t i = 0; i + length <= x.size(); ++i) {
    effects.push_back(design == BlockDesign::kPair ? x[i] - x[i + 1]
                                                   : 0.5 * (x[i] - x[i + 1] - x[i + 2] + x[i + 3]));
  }
  const double robust = RobustSpreadAboutZero(effects);
  if (robust > 0) return robust;
  double squares = 0;
  for (const double d : effects) squares += d * d;
  return std::sqrt(squares / static_cast<double>(effects.size()));
}

}  // namespace pawl::measure
