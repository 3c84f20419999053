#include "campaign/commit_text.h"

#include "base/text.h"

namespace pawl::campaign {

CommitText ParseCommitText(std::string_view text) {
  CommitText commit;
  const auto blank = text.find("\n\n");
  for (const std::string_view line : Split(text.substr(0, blank), '\n')) {
    constexpr std::string_view kTree = "tree ";
    constexpr std::string_view kParent = "parent ";
    constexpr std::string_view kCommitter = "committer ";
    if (line.starts_with(kTree)) {
      commit.tree = std::string(line.substr(kTree.size()));
    } else if (line.starts_with(kParent)) {
      commit.parents.push_back({std::string(line.substr(kParent.size()))});
    } else if (line.starts_with(kCommitter)) {
      // "committer Name <mail> 1700000000 +0100"
      const std::vector<std::string_view> words = Split(line, ' ');
      if (words.size() >= 3) commit.committed_s = ParseInt(words[words.size() - 2]).value_or(0);
    }
  }
  if (blank == std::string_view::npos) return commit;
  const std::string_view message = Trim(text.substr(blank));
  commit.subject = PrintableLine(message.substr(0, message.find('\n')));
  return commit;
}

Result<CommitText> ReadCommitText(ObjectReader& objects, const CommitId& commit) {
  PAWL_ASSIGN(const std::string text, objects.Read("commit", commit.hex));
  return ParseCommitText(text);
}

}  // namespace pawl::campaign
