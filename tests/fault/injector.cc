// pawl-faults: runs a program whose calls that change files come to this process first, which lets
// them through, makes one fail, or kills at one. Works by seccomp's user notification, which asks
// for no right to trace and holds for whatever the program starts as well.
//
//   pawl-faults REPORT watch -- PROGRAM ARGUMENT...
//   pawl-faults REPORT kill WHO CALL AT -- ...         kill the program when WHO makes the call
//   pawl-faults REPORT kill-caller WHO CALL AT -- ...  kill the process that makes it
//   pawl-faults REPORT fail WHO CALL AT ERRNO -- ...   the call fails; ERRNO+: all later ones too
//
// WHO is `pawl` (the program itself), `git`, `bwrap`, or `stage` (whatever else it starts). AT
// counts from 1, for each WHO and CALL on its own.
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

// How long what the program started may live on after it.
constexpr std::chrono::seconds kGrace{3};
constexpr int kBroken = 125;
constexpr int kNotOffered = 124;  // by this system

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "pawl-faults: %s\n", what.c_str());
  std::exit(kBroken);
}

struct Plan {
  std::string mode, who, call;
  int at = 0;
  int error = 0;
  bool on = false;
};

// Calls that change content or names, and opening for writing.
constexpr std::array kCalls = {
    SCMP_SYS(write),     SCMP_SYS(pwrite64),  SCMP_SYS(writev),
    SCMP_SYS(pwritev),   SCMP_SYS(pwritev2),  SCMP_SYS(fsync),
    SCMP_SYS(fdatasync), SCMP_SYS(syncfs),    SCMP_SYS(rename),
    SCMP_SYS(renameat),  SCMP_SYS(renameat2), SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),  SCMP_SYS(rmdir),     SCMP_SYS(link),
    SCMP_SYS(linkat),    SCMP_SYS(symlink),   SCMP_SYS(symlinkat),
    SCMP_SYS(mkdir),     SCMP_SYS(mkdirat),   SCMP_SYS(ftruncate),
    SCMP_SYS(truncate),  SCMP_SYS(fallocate), SCMP_SYS(creat),
    SCMP_SYS(sendfile),  SCMP_SYS(utimensat), SCMP_SYS(copy_file_range),
};

void AddOpening(scmp_filter_ctx filter, int call, unsigned flags_at) {
  for (const scmp_datum_t access : {scmp_datum_t{O_WRONLY}, scmp_datum_t{O_RDWR}}) {
    const scmp_arg_cmp writes = {flags_at, SCMP_CMP_MASKED_EQ, O_ACCMODE, access};
    if (seccomp_rule_add_array(filter, SCMP_ACT_NOTIFY, call, 1, &writes) != 0) {
      Fail("no rule for opening");
    }
  }
}

// In the child: from here on its calls, and those of all that it starts, are asked about.
int Restrict() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) Fail("no seccomp filter");
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, ::geteuid() == 0 ? 0 : 1);
  for (const int call : kCalls) {
    if (seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call, 0) != 0) Fail("no rule for a call");
  }
  AddOpening(filter, SCMP_SYS(open), 1);
  AddOpening(filter, SCMP_SYS(openat), 2);
  if (const int failed = seccomp_load(filter); failed != 0) {
    std::fprintf(stderr, "this system offers no notification of calls (seccomp): %s\n",
                 std::strerror(-failed));
    std::exit(kNotOffered);
  }
  return seccomp_notify_fd(filter);
}

// One byte with room for a descriptor beside it.
struct DescriptorMessage {
  DescriptorMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};
};

void SendDescriptor(int socket, int descriptor) {
  DescriptorMessage sent;
  cmsghdr* header = CMSG_FIRSTHDR(&sent.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (::sendmsg(socket, &sent.message, 0) != 1) ::_exit(kBroken);
}

// -1 when the child gave up before.
int ReceiveDescriptor(int socket) {
  DescriptorMessage received;
  if (::recvmsg(socket, &received.message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&received.message);
  if (header == nullptr) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

class Supervisor {
 public:
  Supervisor(Plan plan, pid_t program, int listener)
      : plan_(std::move(plan)), program_(program), listener_(listener) {
    if (seccomp_notify_alloc(&request_, &response_) != 0) Fail("no memory");
  }

  // Until the program and all that it started have ended. Returns its wait status.
  int Run() {
    while (true) {
      if (!ended_ && ::waitpid(program_, &status_, WNOHANG) == program_) End();
      if (ended_ && std::chrono::steady_clock::now() > limit_) {
        outlived_ = true;
        return status_;
      }
      pollfd wait{listener_, POLLIN, 0};
      if (::poll(&wait, 1, 50) <= 0) continue;
      if ((wait.revents & POLLIN) != 0) {
        Answer();
      } else if ((wait.revents & (POLLHUP | POLLERR)) != 0) {
        if (!ended_) ::waitpid(program_, &status_, 0);
        return status_;
      }
    }
  }

  void Report(const std::string& path) const {
    std::ofstream report(path);
    for (const auto& [key, count] : counts_) {
      report << "call " << key.first << ' ' << key.second << ' ' << count << '\n';
    }
    report << "fired " << fired_ << "\noutlived " << (outlived_ ? 1 : 0) << '\n';
    if (!report.flush()) Fail("the report cannot be written");
  }

 private:
  void End() {
    ended_ = true;
    limit_ = std::chrono::steady_clock::now() + kGrace;
  }

  std::string Who(pid_t caller) const {
    const std::string thread = std::to_string(caller);
    if (::access(("/proc/" + std::to_string(program_) + "/task/" + thread).c_str(), F_OK) == 0) {
      return "pawl";
    }
    std::string name;
    std::ifstream comm("/proc/" + thread + "/comm");
    std::getline(comm, name);
    return name == "git" || name == "bwrap" ? name : "stage";
  }

  // "write", or "write-device" for what lies on no disk (pipes, /dev, control groups), which can
  // neither fill up nor break. Where the caller's memory is closed to us a path counts as a file.
  static std::string NameOf(pid_t caller, const seccomp_data& data) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, data.nr);
    std::string text = name == nullptr ? std::to_string(data.nr) : name;
    std::free(name);
    const std::string process = "/proc/" + std::to_string(caller);
    std::string path;
    if (data.nr == SCMP_SYS(write) || data.nr == SCMP_SYS(writev)) {
      const auto link = process + "/fd/" + std::to_string(static_cast<int>(data.args[0]));
      std::error_code unknown;
      path = std::filesystem::read_symlink(link, unknown).string();
      if (!path.starts_with('/')) return text + "-device";
    } else if (data.nr == SCMP_SYS(openat)) {
      path = TextAt(process, data.args[1]);
    } else if (data.nr == SCMP_SYS(open) || data.nr == SCMP_SYS(mkdir) ||
               data.nr == SCMP_SYS(rmdir)) {
      path = TextAt(process, data.args[0]);
    }
    for (const char* place : {"/dev/", "/proc/", "/sys/", "/memfd:"}) {
      if (path.starts_with(place) && !path.starts_with("/dev/shm/")) return text + "-device";
    }
    return text;
  }

  static std::string TextAt(const std::string& process, std::uint64_t address) {
    std::ifstream memory(process + "/mem", std::ios::binary);
    memory.seekg(static_cast<std::streamoff>(address));
    std::array<char, 16> start{};
    memory.read(start.data(), start.size() - 1);
    return start.data();
  }

  bool Due(const std::string& who, const std::string& call) {
    if (plan_.mode == "watch" || who != plan_.who || call != plan_.call) return false;
    ++seen_;
    return seen_ == plan_.at || (plan_.on && seen_ > plan_.at);
  }

  void Answer() {
    std::memset(request_, 0, sizeof *request_);
    std::memset(response_, 0, sizeof *response_);
    if (seccomp_notify_receive(listener_, request_) != 0) return;  // its caller is gone
    const auto caller = static_cast<pid_t>(request_->pid);
    const std::string who = Who(caller);
    const std::string call = NameOf(caller, request_->data);
    const int seen = seen_;
    const bool due = Due(who, call);
    response_->id = request_->id;
    if (due && plan_.mode == "fail") {
      response_->error = -plan_.error;
    } else {
      response_->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    ++counts_[{who, call}];
    fired_ += due ? 1 : 0;
    // Whoever is killed is dead before the call: it does not happen, or happens to orphans.
    if (due && plan_.mode == "kill-caller") {
      ::kill(caller, SIGKILL);
      return;
    }
    if (due && plan_.mode == "kill") {
      ::kill(program_, SIGKILL);
      if (::waitpid(program_, &status_, 0) == program_) End();
      if (who == "pawl") return;
      // Bubblewrap asks to die with its parent; a moment, so that it is not let go on before.
      for (int i = 0; i < 50 && who == "bwrap"; ++i) {
        if (seccomp_notify_id_valid(listener_, request_->id) != 0) return;
        ::usleep(1000);
      }
    }
    // A caller that a signal interrupted asks again.
    if (seccomp_notify_respond(listener_, response_) != 0 && !(due && plan_.mode == "kill")) {
      seen_ = seen;
      --counts_[{who, call}];
      fired_ -= due ? 1 : 0;
    }
  }

  Plan plan_;
  pid_t program_;
  int listener_;
  seccomp_notif* request_ = nullptr;
  seccomp_notif_resp* response_ = nullptr;
  std::map<std::pair<std::string, std::string>, int> counts_;
  int seen_ = 0;
  int fired_ = 0;
  int status_ = 0;
  std::chrono::steady_clock::time_point limit_;
  bool ended_ = false;
  bool outlived_ = false;
};

Plan ReadPlan(const std::vector<std::string>& words) {
  Plan plan;
  plan.mode = words.at(0);
  if (plan.mode == "watch") return plan;
  if (words.size() < 4) Fail("a plan is MODE WHO CALL AT");
  plan.who = words[1];
  plan.call = words[2];
  plan.at = std::atoi(words[3].c_str());
  if (plan.mode == "fail" && words.size() == 5) {
    plan.error = std::atoi(words[4].c_str());
    plan.on = words[4].ends_with('+');
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::size_t split = 0;
  while (split < words.size() && words[split] != "--") ++split;
  if (split < 2 || split + 1 >= words.size()) Fail("pawl-faults REPORT PLAN... -- PROGRAM...");
  const Plan plan = ReadPlan({words.begin() + 1, words.begin() + static_cast<long>(split)});

  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) Fail("socketpair");
  const pid_t program = ::fork();
  if (program < 0) Fail("fork");
  if (program == 0) {
    SendDescriptor(sockets[1], Restrict());
    ::execv(argv[split + 2], argv + split + 2);
    ::_exit(127);
  }
  ::close(sockets[1]);
  const int listener = ReceiveDescriptor(sockets[0]);
  if (listener < 0) {
    int status = 0;
    ::waitpid(program, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kBroken;
  }
  Supervisor supervisor(plan, program, listener);
  const int status = supervisor.Run();
  supervisor.Report(words[0]);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
