#include "campaign/object_reader.h"

#include <algorithm>

#include "base/text.h"
#include "campaign/git_call.h"

namespace pawl::campaign {
namespace {

// "<name> <type> <size>" or "<name> missing".
Result<ObjectInfo> ParseHeader(std::string_view line, std::string_view name) {
  const std::vector<std::string_view> words = Split(line, ' ');
  if (words.size() == 2 && words[0] == name && words[1] == "missing") return ObjectInfo{};
  const auto size = words.size() == 3 ? ParseInt(words[2]) : std::nullopt;
  if (!size || *size < 0 || words[0] != name) {
    return MakeError(Code::kCorrupt, Format("git answered `{}` when asked for object {}",
                                            PrintableLine(line, 100), name));
  }
  return ObjectInfo{std::string(words[1]), static_cast<std::uint64_t>(*size)};
}

}  // namespace

Status ObjectReader::EnsureStarted() {
  if (git_) return OkStatus();
  GitRun run;
  run.git_dir = git_dir_;
  run.arguments = {"cat-file", "--batch-command", "--buffer"};
  PAWL_ASSIGN(os::Dialogue git, os::Dialogue::Start(GitCall(run)));
  git_.emplace(std::move(git));
  return OkStatus();
}

Status ObjectReader::Converse(Command command, const std::vector<std::string_view>& names,
                              const Answer& answer) {
  constexpr std::string_view kFlush = "flush\n";
  const std::string_view verb = command == Command::kInfo ? "info " : "contents ";
  for (std::size_t next = 0; next < names.size();) {
    const std::size_t first = next;
    std::string request;
    while (next < names.size()) {
      PAWL_CHECK(IsObjectName(names[next]));
      const std::size_t size = verb.size() + names[next].size() + 1;
      if (request.size() + size + kFlush.size() > os::Dialogue::kMaxRequestBytes) break;
      request.append(verb).append(names[next]).append("\n");
      ++next;
    }
    request.append(kFlush);
    PAWL_TRY(EnsureStarted());
    PAWL_TRY(git_->Ask(request));
    for (std::size_t index = first; index < next; ++index) {
      PAWL_ASSIGN(const std::string line, git_->Line());
      PAWL_ASSIGN(const ObjectInfo info, ParseHeader(line, names[index]));
      PAWL_TRY(answer(index, info));
    }
  }
  return OkStatus();
}

Result<std::vector<ObjectInfo>> ObjectReader::Look(const std::vector<std::string_view>& names) {
  std::vector<ObjectInfo> infos(names.size());
  const Status asked = Converse(Command::kInfo, names, [&](std::size_t index, const auto& info) {
    infos[index] = info;
    return OkStatus();
  });
  if (!asked.ok()) {
    git_.reset();  // what it would say next is not known
    return asked.error();
  }
  return infos;
}

Status ObjectReader::Read(std::string_view type, const std::vector<std::string_view>& names,
                          const Take& take) {
  const auto answer = [&](std::size_t index, const ObjectInfo& info) -> Status {
    if (info.type != type) {
      return MakeError(Code::kCorrupt,
                       info.type.empty()
                           ? Format("{} {} cannot be read", type, names[index])
                           : Format("{} is a {}, not a {}", names[index], info.type, type));
    }
    PAWL_ASSIGN(std::string bytes, git_->Bytes(info.size_bytes));
    PAWL_ASSIGN(const std::string end, git_->Bytes(1));
    if (end != "\n") return MakeError(Code::kCorrupt, "git wrote an object of another size");
    return take(index, std::move(bytes));
  };
  const Status read = Converse(Command::kContents, names, answer);
  if (!read.ok()) git_.reset();
  return read;
}

Result<std::string> ObjectReader::Read(std::string_view type, std::string_view name) {
  std::string whole;
  PAWL_TRY(Read(type, {name}, [&](std::size_t /*index*/, std::string bytes) {
    whole = std::move(bytes);
    return OkStatus();
  }));
  return whole;
}

}  // namespace pawl::campaign
