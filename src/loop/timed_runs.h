// Protocol wall: what Pawl itself makes of several timed and judged runs. Nobody else writes these
// figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/contract.h"
#include "os/sandbox.h"

namespace pawl::loop {

// A number that nothing before the call could know, in decimal digits, below 2^63.
std::string FreshSeed();

double MegaBytes(std::uint64_t bytes);
double Median(std::vector<double> values);  // not empty
double MedianWall(const std::vector<os::RunOutcome>& runs);

// perf.json: medians `wall` and `cpu` in seconds and `peak_rss` in MB, and the samples behind them.
std::string TimedPerf(const std::vector<os::RunOutcome>& runs);

// One quality.json that stands for all runs: each of the contract's metrics at its worst, a case
// passed when it passed every time. What is missing or ill-formed in one run is so in the whole.
std::string WorstQuality(const std::vector<std::string>& files, const campaign::Contract& contract);

}  // namespace pawl::loop
