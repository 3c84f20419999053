// What a bench on the device leaves behind: a JSON record that says on which machine, with which
// libraries and by which command each row was measured, and how far it is from its floor. The
// ceilings behind the floors are measured by the same process just before the rows.
// Times are medians of 20, settled (after a moment of rest) and sustained (after 0.4 s of the same
// work); floors and shares of them belong to the settled ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/cuda/device_timer.h"

struct CUstream_st;

namespace lab::cuda {

struct BenchTimes {
  std::vector<double> settled_ms;    // sorted
  std::vector<double> sustained_ms;  // sorted
};
pawl::Result<BenchTimes> TimeWork(const DeviceTimer& timer, const DeviceWork& work);

struct BenchRow {
  std::string name;
  BenchTimes times;
  double flops = 0;
  double bytes = 0;          // that must cross device memory at least
  pawl::JsonObject details;  // whatever else the bench knows: shape, engine, ...
};

class BenchRecord {
 public:
  // Describes the current device and measures its ceilings: a bf16 product of 8192 cubed through
  // cuBLASLt, a copy of 1 GiB within device memory. Takes about a second.
  static pawl::Result<BenchRecord> Create(std::string bench, std::string command,
                                          CUstream_st* stream);

  void SetLibrary(std::string name, std::string version);
  void Add(const BenchRow& row);

  // The longer of flops and bytes over the ceilings.
  double FloorMs(double flops, double bytes) const;
  // Writes the record as JSON.
  pawl::Status Write(const std::string& path) const;
  const pawl::Json& json() const { return json_; }

 private:
  pawl::Json json_;
  double bf16_flops_per_s_ = 0;  // settled
  double copy_bytes_per_s_ = 0;
};

// The main() of a bench with one argument, the record's path: `bench` measures and writes it, given
// the command as the record names it. Returns the exit code.
int BenchMain(int argc, char** argv, std::string_view name,
              pawl::Status (*bench)(const std::string& command, const std::string& path));

// The rows of a record as a Markdown table; only those named, in that order, unless `names` is
// empty.
std::string BenchTable(const pawl::Json& record, const std::vector<std::string>& names = {});

// The rows that both records have, side by side, with their sums as the last line.
std::string ComparisonTable(const pawl::Json& ours, const pawl::Json& theirs,
                            const std::string& their_name);

}  // namespace lab::cuda
