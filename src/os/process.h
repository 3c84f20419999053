// Trusted child processes (git, bwrap, nvidia-smi): a clean environment, bounded output, a time
// limit, no inherited descriptors. Candidates' code goes through os/sandbox.h instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace pawl::os {

struct ToolCall {
  std::vector<std::string> argv{};  // argv[0] is looked up on PATH
  std::vector<std::string> env{};   // "NAME=value", the whole environment; see BasicEnvironment
  Path cwd{};                       // empty: the caller's
  std::string input{};              // standard input; /dev/null when empty
  std::chrono::milliseconds timeout{60'000};
  std::uint64_t max_output_bytes = std::uint64_t{256} << 20;
};

struct ToolResult {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string out;
  std::string err;
};

// A program on PATH; kNotFound with a hint when it is not there.
Result<Path> FindTool(std::string_view name);

// Starts the tool, feeds and drains it, waits. An Error only when it could not be started, ran out
// of time or wrote too much; a non-zero exit code is a result.
Result<ToolResult> RunTool(const ToolCall& call);

// The same, but a non-zero exit is an error whose message holds the tool's own last words.
Result<std::string> RunToolOrError(const ToolCall& call);

// Where a system's programs are, whatever the caller's PATH says.
inline constexpr std::string_view kSystemSearchPath =
    "/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// What a failed tool's words say about the machine: kResourceExhausted when space, memory or
// descriptors ran out, kIo when a disk failed; nothing when the reason lies elsewhere.
std::optional<Code> MachineCode(std::string_view words);

// PATH, HOME, LANG=C.UTF-8, TZ and nothing else (no GIT_*, LD_*, PYTHON*).
std::vector<std::string> BasicEnvironment();

// SIGINT and SIGTERM set a flag instead of ending the process; long operations look at it.
void InstallStopSignals();
bool StopRequested();
// Readable as soon as a stop is requested, for poll(); -1 before InstallStopSignals().
int StopDescriptor();

}  // namespace pawl::os
