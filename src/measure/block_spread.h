// The spread of null blocks, from runs of one program in a row.
#pragma once

#include <span>

#include "measure/coin.h"

namespace pawl::measure {

// Robust spread of the effects of all blocks of neighbouring runs; their plain standard deviation
// where more than half of the effects are 0 (a coarse clock). 0 when all runs are the same. Needs
// five scores.
double BlockSpread(BlockDesign design, std::span<const double> scores);

}  // namespace pawl::measure
