// What Pawl and pawl-shim say to each other over descriptor 3, a stream socket pair that no foreign
// code ever holds.
//
// Pawl -> shim: a 32-bit length, then the plan: NUL-terminated words, a key followed by its value,
// keys may repeat. Later single bytes: kAskTerm, kKillNow. The end of the stream means that Pawl is
// gone, and kills.
// shim -> Pawl: Report structures. kHello comes before the plan, so that Pawl can put the shim
// under its bounds (its number is in the credentials of the message) before anything runs.
#pragma once

#include <array>
#include <cstdint>

namespace pawl::os {

inline constexpr int kShimSocket = 3;
inline constexpr char kAskTerm = 'T';
inline constexpr char kKillNow = 'K';

enum class ReportKind : std::uint32_t {
  kHello,
  kStarted,    // a_ns: monotonic time just before exec
  kRefused,    // value: errno, text: the step that failed; nothing ran
  kNoProgram,  // value: errno of exec: the command is at fault, not the machine
  kEnded,      // value: wait status of the command, a_ns: monotonic time of its end
  kUsage,      // nothing lives; a_ns: CPU time of the tree, b_bytes: largest resident size
};

struct Report {
  ReportKind kind = ReportKind::kHello;
  std::int32_t value = 0;
  std::int64_t a_ns = 0;
  std::int64_t b_bytes = 0;
  std::array<char, 40> text{};
};
static_assert(sizeof(Report) == 64);

// Keys of the plan.
namespace plan_key {
inline constexpr const char* kUser = "uid";             // absent: stay who we are
inline constexpr const char* kProcesses = "processes";  // RLIMIT_NPROC
inline constexpr const char* kFileSize = "file-size";   // RLIMIT_FSIZE in bytes
inline constexpr const char* kFilter = "filter";        // system call filter: kFilter* below
inline constexpr const char* kLandlock = "landlock";    // ABI to use; absent: none
inline constexpr const char* kReadOnly = "read";        // Landlock: a path to read and execute
inline constexpr const char* kWritable = "write";       // Landlock: a path with every right
inline constexpr const char* kDevice = "device";        // Landlock: a device to read, write, ioctl
inline constexpr const char* kFolder = "folder";        // working folder
inline constexpr const char* kVariable = "env";
inline constexpr const char* kWord = "arg";
// Values of kFilter: which sockets may be made.
inline constexpr const char* kFilterNoSockets = "no-sockets";
inline constexpr const char* kFilterLocalNet = "local-net";  // UNIX and internet families
inline constexpr const char* kFilterAllNet = "net";          // and netlink, for name look-ups
}  // namespace plan_key

}  // namespace pawl::os
