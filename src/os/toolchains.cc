// Follows a command line to the folders that it needs: where its programs lie, what links, shims,
// virtual environments and script headings lead to. A proposal for people, so it prefers naming a
// folder too many to missing one, but never a whole home.
#include <cstdlib>
#include <set>
#include <string>
#include <system_error>

#include "base/text.h"
#include "os/sandbox.h"

namespace pawl::os {
namespace {

constexpr int kMaxHops = 16;

bool IsBelow(const Path& path, const Path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

Path Home() {
  const char* home = std::getenv("HOME");
  return home != nullptr ? Path(home) : Path("/root");
}

// The words of a shell command in which each simple command starts anew; quotes are removed, and
// nothing is expanded but a leading "~/".
struct Word {
  std::string text;
  bool first = false;
};

std::vector<Word> Words(std::string_view command) {
  std::vector<Word> words;
  std::string word;
  bool inside = false;
  bool first = true;
  char quote = 0;
  const auto finish = [&] {
    if (inside) {
      // NAME=value before a command leaves the next word first.
      const bool assignment =
          first && word.find('=') != std::string::npos && word.find('/') > word.find('=');
      words.push_back({word, first && !assignment});
      if (!assignment) first = false;
    }
    word.clear();
    inside = false;
  };
  for (const char c : command) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t') {
      finish();
    } else if (std::string_view("\n;|&()`{}").find(c) != std::string_view::npos) {
      finish();
      first = true;
    } else {
      word += c;
      inside = true;
    }
  }
  finish();
  return words;
}

bool RunsAnother(std::string_view program) {
  for (const char* name : {"env", "exec", "time", "nohup", "nice", "timeout", "taskset", "numactl",
                           "stdbuf", "command"}) {
    if (program == name) return true;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(Path cwd) : cwd_(std::move(cwd)) {
    for (const Mount& mount : SystemMounts()) system_.push_back(mount.host);
  }

  void Command(std::string_view command) {
    bool expect = false;
    for (const Word& word : Words(command)) {
      const bool program = word.first || expect;
      // "env A=b -i python": the program is still to come.
      const bool option = word.text.starts_with('-') || word.text.find('=') != std::string::npos ||
                          ParseDouble(word.text).has_value();
      if (program && !option) {
        Program(word.text, kMaxHops);
        expect = RunsAnother(Path(word.text).filename().string());
      } else {
        expect = expect || (program && option);
        if (word.text.find('/') != std::string::npos) Argument(word.text);
      }
    }
  }

  std::vector<Path> Take() const {
    std::vector<Path> out;
    for (const Path& folder : found_) {  // sorted: an outer folder comes before what lies in it
      const bool covered = !out.empty() && IsBelow(folder, out.back());
      if (!covered) out.push_back(folder);
    }
    return out;
  }

 private:
  Path Absolute(std::string_view text) const {
    if (text.starts_with("~/")) return (Home() / text.substr(2)).lexically_normal();
    return (cwd_ / Path(text)).lexically_normal();
  }

  // A program named by a path, or on PATH.
  void Program(std::string_view name, int hops) {
    if (name.find('/') != std::string_view::npos) {
      File(Absolute(name), hops);
    } else if (const Path found = FindProgram(name); !found.empty()) {
      File(found, hops);
    }
  }

  // Arguments count when they name a program, such as the interpreter in "xargs /opt/x/bin/y".
  void Argument(std::string_view text) {
    const Path path = Absolute(text);
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    const bool runs =
        (status.permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
    if (!failure && status.type() == std::filesystem::file_type::regular && runs) {
      File(path, kMaxHops);
    }
  }

  void File(const Path& file, int hops) {
    if (hops == 0 || !Exists(file) || !seen_.insert(file).second) return;
    std::error_code failure;
    FolderOf(file, hops);
    if (std::filesystem::is_symlink(file, failure)) {
      const Path target = std::filesystem::read_symlink(file, failure);
      File((file.parent_path() / target).lexically_normal(), hops - 1);
    }
    // Links among the parent folders, such as versions/current.
    const Path real = std::filesystem::canonical(file, failure);
    if (!failure && real != file) File(real, hops - 1);
    Heading(file, hops);
  }

  // "#!interpreter argument"
  void Heading(const Path& file, int hops) {
    const std::string head = ReadFile(file, {.max_bytes = 1 << 20}).ValueOr(std::string());
    if (!head.starts_with("#!")) return;
    const std::string line(Trim(std::string_view(head).substr(2, head.find('\n') - 2)));
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.empty() || words[0].empty()) return;
    Program(words[0], hops - 1);
    if (!words[0].ends_with("/env")) return;
    for (const std::string_view word : std::span(words).subspan(1)) {
      if (word.empty() || word.starts_with('-')) continue;
      Program(word, hops - 1);
      return;
    }
  }

  void FolderOf(const Path& file, int hops) {
    const Path folder = file.parent_path();
    const Path prefix = folder.parent_path();
    const std::string name = folder.filename().string();
    if (prefix == Home() / ".cargo") {
      // Not the whole of it: credentials lie there too.
      for (const char* part : {"bin", "registry", "git", "config.toml"}) Add(prefix / part);
      const char* rustup = std::getenv("RUSTUP_HOME");
      Add(rustup != nullptr ? Path(rustup) : Home() / ".rustup");
    } else if (prefix == Home() / ".local") {
      for (const char* part : {"bin", "lib", "share/uv"}) Add(prefix / part);
    } else if (Exists(prefix / "pyvenv.cfg")) {
      Add(prefix);
      BaseOfVirtualEnvironment(prefix / "pyvenv.cfg", hops);
    } else if (name == "shims" && Exists(prefix / "versions")) {
      Add(prefix);  // pyenv, rbenv, nodenv
    } else if ((name == "bin" || name == "sbin") && IsSpecific(prefix)) {
      Add(prefix);
    } else if (folder != cwd_) {
      Add(folder);
    }
  }

  void BaseOfVirtualEnvironment(const Path& config, int hops) {
    const std::string text = ReadFile(config, {.max_bytes = 1 << 16}).ValueOr(std::string());
    for (const std::string_view line : Split(text, '\n')) {
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos || Trim(line.substr(0, equals)) != "home") continue;
      File(Path(std::string(Trim(line.substr(equals + 1)))) / "python3", hops - 1);
    }
  }

  // Deep enough to be one tool's own place.
  static bool IsSpecific(const Path& prefix) {
    return prefix != Home() && prefix != prefix.root_path() && prefix != "/opt" &&
           prefix.parent_path() != "/home";
  }

  void Add(const Path& folder) {
    if (!Exists(folder) || folder == folder.root_path()) return;
    for (const Path& known : system_) {
      if (IsBelow(folder, known)) return;
    }
    found_.insert(folder);
  }

  Path cwd_;
  std::vector<Path> system_;
  std::set<Path> found_;
  std::set<Path> seen_;
};

}  // namespace

std::vector<Path> FindToolchainFolders(std::string_view shell_command, const Path& cwd) {
  Finder finder(cwd);
  finder.Command(shell_command);
  return finder.Take();
}

}  // namespace pawl::os
