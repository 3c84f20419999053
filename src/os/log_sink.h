// Keeps the beginning and the end of what a command prints, within a fixed amount of disk and
// memory, however much that is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/files.h"

namespace pawl::os {

class LogSink {
 public:
  // Creates or empties the file. `cap_bytes` holds for head and tail together, without the line
  // between them that says how much was left out.
  static Result<LogSink> Open(const Path& path, std::uint64_t cap_bytes);

  Status Append(std::string_view bytes);
  // Writes the tail; nothing may be appended afterwards.
  Status Finish();

  std::uint64_t total_bytes() const { return total_; }
  bool cut() const { return total_ > head_cap_ + tail_cap_; }
  // The first bytes, for messages about a sandbox that did not come up.
  const std::string& beginning() const { return beginning_; }

 private:
  LogSink(Fd file, Path path, std::uint64_t cap_bytes);
  Status Write(std::string_view bytes);

  Fd file_;
  Path path_;
  std::uint64_t head_cap_;
  std::uint64_t tail_cap_;
  std::uint64_t total_ = 0;
  std::string beginning_;
  std::string ring_;             // grows up to tail_cap_, then wraps
  std::uint64_t ring_next_ = 0;  // where the next byte goes, once it is full
};

}  // namespace pawl::os
