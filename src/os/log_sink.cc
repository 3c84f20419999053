#include "os/log_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace pawl::os {
namespace {

// The tail waits in memory, so it is what bounds Pawl's own size.
constexpr std::uint64_t kMaxTail = std::uint64_t{4} << 20;
constexpr std::size_t kBeginning = 2000;

}  // namespace

LogSink::LogSink(Fd file, Path path, std::uint64_t cap_bytes)
    : file_(std::move(file)),
      path_(std::move(path)),
      head_cap_(cap_bytes - std::min(cap_bytes / 2, kMaxTail)),
      tail_cap_(std::min(cap_bytes / 2, kMaxTail)) {}

Result<LogSink> LogSink::Open(const Path& path, std::uint64_t cap_bytes) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid()) return SystemError(Format("cannot open log {}", path.string()), errno);
  return LogSink(std::move(file), path, cap_bytes);
}

Status LogSink::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(Format("cannot write log {}", path_.string()), errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return OkStatus();
}

Status LogSink::Append(std::string_view bytes) {
  if (beginning_.size() < kBeginning) {
    beginning_ += bytes.substr(0, kBeginning - beginning_.size());
  }
  const std::uint64_t room = head_cap_ - std::min(head_cap_, total_);
  const std::string_view head = bytes.substr(0, std::min<std::uint64_t>(room, bytes.size()));
  total_ += bytes.size();
  PAWL_TRY(Write(head));
  bytes.remove_prefix(head.size());
  if (bytes.size() > tail_cap_) bytes.remove_prefix(bytes.size() - tail_cap_);
  const std::string_view grow = bytes.substr(0, tail_cap_ - ring_.size());
  ring_ += grow;
  bytes.remove_prefix(grow.size());
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, tail_cap_ - ring_next_);
    std::copy(part.begin(), part.end(), ring_.begin() + static_cast<std::ptrdiff_t>(ring_next_));
    ring_next_ = (ring_next_ + part.size()) % tail_cap_;
    bytes.remove_prefix(part.size());
  }
  return OkStatus();
}

Status LogSink::Finish() {
  if (cut()) {
    PAWL_TRY(Write(Format("\n[pawl] {} bytes left out here\n", total_ - head_cap_ - tail_cap_)));
  }
  const std::string_view ring = ring_;
  PAWL_TRY(Write(ring.substr(ring_next_)));
  PAWL_TRY(Write(ring.substr(0, ring_next_)));
  ring_ = std::string();
  ring_next_ = 0;
  return OkStatus();
}

}  // namespace pawl::os
