// A trusted tool that stays and answers, as `git cat-file --batch-command` does: requests go to its
// standard input, answers come from its standard output. Saves the start of a process per question.
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/process.h"
#include "os/spawn.h"

namespace pawl::os {

class Dialogue {
 public:
  // What fits into a pipe that is empty: a request of at most this size, sent when all earlier ones
  // are answered, never waits for a tool that itself waits for its answers to be read.
  static constexpr std::size_t kMaxRequestBytes = 32768;

  // `call.input` and `call.max_output_bytes` do not apply; `call.timeout` bounds each wait.
  static Result<Dialogue> Start(const ToolCall& call);
  Dialogue(Dialogue&&) noexcept = default;
  Dialogue& operator=(Dialogue&&) = delete;
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;
  ~Dialogue();  // ends the tool and whatever it left in its group

  Status Ask(std::string_view request);
  // The next line of the answer, without its end. kIo with the tool's own last words when it ended,
  // kTimeout when it fell silent, kResourceExhausted when the line is longer than `max_bytes`.
  Result<std::string> Line(std::size_t max_bytes = 4096);
  // Exactly so many bytes of the answer.
  Result<std::string> Bytes(std::size_t count);

 private:
  Dialogue() = default;
  Status Fill();  // waits for more of the answer
  Error Ended() const;

  std::string name_;
  std::chrono::milliseconds timeout_{0};
  Child child_;
  Fd requests_;
  Fd answers_;
  Fd words_;  // the tool's standard error, a file in memory
  std::string buffer_;
  std::size_t taken_ = 0;  // of buffer_
};

}  // namespace pawl::os
