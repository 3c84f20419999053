// posix_spawn with everything that fork and exec leave to chance pinned down: own process group,
// default signals, no descriptors above 2, output drained while the child runs.
#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "os/spawn.h"

namespace pawl::os {
namespace {

// The input as an unlinked file: a pipe would have to be fed while the output is drained, and a
// child that stops reading would end Pawl with SIGPIPE.
Result<Fd> InputFor(std::string_view input) {
  if (input.empty()) return OpenNull();
  Fd file(::memfd_create("pawl-input", MFD_CLOEXEC));
  if (!file.valid()) return SystemError("cannot make a memory file", errno);
  while (!input.empty()) {
    const ssize_t written = ::write(file.get(), input.data(), input.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot fill a memory file", errno);
    input.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return SystemError("cannot rewind", errno);
  return file;
}

enum class Drained { kMore, kEnd, kTooMuch };

// Takes what is in the pipe now.
Drained Drain(int pipe, std::string& into, std::uint64_t& budget) {
  std::array<char, 65536> chunk{};
  while (true) {
    const ssize_t got = ::read(pipe, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? Drained::kMore : Drained::kEnd;
    if (got == 0) return Drained::kEnd;
    const auto size = static_cast<std::uint64_t>(got);
    if (size > budget) return Drained::kTooMuch;
    budget -= size;
    into.append(chunk.data(), size);
  }
}

struct Conversation {
  Child& child;
  Pipe& out;
  Pipe& err;
  const ToolCall& call;
};

// Drains both pipes until the child has ended. What a background process of the tool writes after
// that is nobody's concern.
Status Converse(Conversation talk, ToolResult& result) {
  const Monotonic::time_point deadline = Monotonic::now() + talk.call.timeout;
  std::uint64_t budget = talk.call.max_output_bytes;
  std::array<pollfd, 3> waits = {pollfd{talk.out.read_end.get(), POLLIN, 0},
                                 pollfd{talk.err.read_end.get(), POLLIN, 0},
                                 pollfd{talk.child.pidfd.get(), POLLIN, 0}};
  const std::array<std::string*, 2> sinks = {&result.out, &result.err};
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Monotonic::now());
    if (left.count() <= 0) {
      return MakeError(Code::kTimeout, Format("{} did not finish within {}", talk.call.argv[0],
                                              FormatSeconds(Seconds(talk.call.timeout).count())));
    }
    const int wait_ms = static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000));
    if (::poll(waits.data(), waits.size(), wait_ms) < 0 && errno != EINTR) {
      return SystemError("cannot wait for a child", errno);
    }
    // Before draining: output written before the end was seen is then all in the pipes.
    const bool ended = (waits[2].revents & POLLIN) != 0;
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      if (waits[i].fd < 0) continue;
      const Drained drained = Drain(waits[i].fd, *sinks[i], budget);
      if (drained == Drained::kTooMuch) {
        return MakeError(Code::kResourceExhausted,
                         Format("{} wrote more than {}", talk.call.argv[0],
                                FormatBytes(talk.call.max_output_bytes)));
      }
      if (drained == Drained::kEnd) waits[i].fd = -1;
    }
    if (ended) return OkStatus();
  }
}

std::string LastWords(const ToolResult& result) {
  std::string_view text = Trim(result.err.empty() ? result.out : result.err);
  constexpr std::size_t kMost = 600;
  if (text.size() > kMost) text.remove_prefix(text.size() - kMost);
  return PrintableLine(text, kMost);
}

}  // namespace

Result<Path> FindTool(std::string_view name) {
  Path program = FindProgram(name);
  if (!program.empty()) return program;
  return MakeError(Code::kNotFound, Format("program '{}' was not found", name),
                   "install it, or put its folder on PATH");
}

Result<ToolResult> RunTool(const ToolCall& call) {
  PAWL_CHECK(!call.argv.empty());
  PAWL_ASSIGN(const Path program, FindTool(call.argv[0]));
  PAWL_ASSIGN(Fd input, InputFor(call.input));
  PAWL_ASSIGN(Pipe out, MakePipe());
  PAWL_ASSIGN(Pipe err, MakePipe());
  SpawnPlan plan{.program = program,
                 .argv = call.argv,
                 .env = call.env,
                 .cwd = call.cwd,
                 .descriptors = {input.get(), out.write_end.get(), err.write_end.get()}};
  PAWL_ASSIGN(Child child, Spawn(plan));
  out.write_end.Reset();
  err.write_end.Reset();

  ToolResult result;
  const Status talked = Converse({child, out, err, call}, result);
  // Whatever the tool left in its group goes too; the unreaped child keeps the number ours.
  ::kill(-child.pid, SIGKILL);
  PAWL_ASSIGN(const Reaped reaped, Reap(child));
  if (!talked.ok()) return talked.error();
  result.exit_code = WIFSIGNALED(reaped.wait_status) ? 128 + WTERMSIG(reaped.wait_status)
                                                     : WEXITSTATUS(reaped.wait_status);
  return result;
}

Result<std::string> RunToolOrError(const ToolCall& call) {
  PAWL_ASSIGN(ToolResult result, RunTool(call));
  if (result.exit_code == 0) return std::move(result.out);
  const std::string words = LastWords(result);
  return MakeError(MachineCode(words).value_or(Code::kIo),
                   Format("{} failed with exit code {}{}{}", call.argv[0], result.exit_code,
                          words.empty() ? "" : ": ", words));
}

std::optional<Code> MachineCode(std::string_view words) {
  // Tools print the C library's texts, in English for the environment that they get here.
  const auto says = [&](int number) {
    return words.find(std::generic_category().message(number)) != std::string_view::npos;
  };
  for (const int exhausted : {ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE}) {
    if (says(exhausted)) return Code::kResourceExhausted;
  }
  // Git has words of its own.
  if (words.find("Out of diskspace") != std::string_view::npos) return Code::kResourceExhausted;
  if (says(EIO)) return Code::kIo;
  return std::nullopt;
}

std::vector<std::string> BasicEnvironment() {
  std::vector<std::string> env;
  for (const char* name : {"PATH", "HOME", "TZ"}) {
    if (const char* value = std::getenv(name)) env.push_back(Format("{}={}", name, value));
  }
  env.emplace_back("LANG=C.UTF-8");
  return env;
}

}  // namespace pawl::os
