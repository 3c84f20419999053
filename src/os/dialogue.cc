#include "os/dialogue.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "base/time.h"

namespace pawl::os {

Result<Dialogue> Dialogue::Start(const ToolCall& call) {
  PAWL_CHECK(!call.argv.empty());
  PAWL_ASSIGN(const Path program, FindTool(call.argv[0]));
  // A socket, since writing to one whose other end is gone can be told not to raise SIGPIPE.
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("cannot make a socket pair", errno);
  }
  Dialogue dialogue;
  dialogue.requests_ = Fd(ends[0]);
  const Fd input(ends[1]);
  PAWL_ASSIGN(Pipe out, MakePipe());
  dialogue.words_ = Fd(::memfd_create("pawl-words", MFD_CLOEXEC));
  if (!dialogue.words_.valid()) return SystemError("cannot make a memory file", errno);
  PAWL_ASSIGN(dialogue.child_,
              Spawn({.program = program,
                     .argv = call.argv,
                     .env = call.env,
                     .cwd = call.cwd,
                     .descriptors = {input.get(), out.write_end.get(), dialogue.words_.get()}}));
  dialogue.name_ = call.argv[0];
  dialogue.timeout_ = call.timeout;
  dialogue.answers_ = std::move(out.read_end);
  return dialogue;
}

Dialogue::~Dialogue() {
  if (!child_.pidfd.valid()) return;
  ::kill(-child_.pid, SIGKILL);
  Reap(child_).Ignore("it was killed");
}

Status Dialogue::Ask(std::string_view request) {
  PAWL_CHECK(request.size() <= kMaxRequestBytes);
  while (!request.empty()) {
    const ssize_t sent = ::send(requests_.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Ended();
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
  return OkStatus();
}

Status Dialogue::Fill() {
  if (taken_ > 0) {
    buffer_.erase(0, taken_);
    taken_ = 0;
  }
  pollfd wait{answers_.get(), POLLIN, 0};
  const auto limit_ms = std::min<std::int64_t>(timeout_.count(), 3'600'000);
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, static_cast<int>(limit_ms));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return SystemError("cannot wait for a child", errno);
  if (ready == 0) {
    return MakeError(Code::kTimeout, Format("{} did not answer within {}", name_,
                                            FormatSeconds(Seconds(timeout_).count())));
  }
  std::array<char, 65536> chunk{};
  const ssize_t got = ::read(answers_.get(), chunk.data(), chunk.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return OkStatus();
  if (got <= 0) return Ended();
  buffer_.append(chunk.data(), static_cast<std::size_t>(got));
  return OkStatus();
}

Error Dialogue::Ended() const {
  std::array<char, 600> words{};
  const ssize_t got = ::pread(words_.get(), words.data(), words.size(), 0);
  const std::string_view text(words.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return MakeError(Code::kIo, Format("{} ended before it had answered{}{}", name_,
                                     Trim(text).empty() ? "" : ": ", PrintableLine(Trim(text))));
}

Result<std::string> Dialogue::Line(std::size_t max_bytes) {
  while (true) {
    const auto end = buffer_.find('\n', taken_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(taken_, end - taken_);
      taken_ = end + 1;
      return line;
    }
    if (buffer_.size() - taken_ > max_bytes) {
      return MakeError(Code::kResourceExhausted,
                       Format("{} wrote a line of more than {}", name_, FormatBytes(max_bytes)));
    }
    PAWL_TRY(Fill());
  }
}

Result<std::string> Dialogue::Bytes(std::size_t count) {
  if (buffer_.size() - taken_ < count) buffer_.reserve(taken_ + count);
  while (buffer_.size() - taken_ < count) PAWL_TRY(Fill());
  std::string bytes = buffer_.substr(taken_, count);
  taken_ += count;
  return bytes;
}

}  // namespace pawl::os
