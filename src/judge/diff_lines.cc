#include "judge/diff_lines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace pawl::judge {

namespace {

enum class Language : std::uint8_t { kHash, kSlash, kNone };

Language LanguageOf(std::string_view file) {
  constexpr std::array<std::string_view, 7> kProse = {".md",  ".rst", ".txt",  ".adoc",
                                                      ".svg", ".csv", ".ipynb"};
  constexpr std::array<std::string_view, 10> kHash = {".py",  ".pyi", ".sh",    ".toml", ".yaml",
                                                      ".yml", ".cfg", ".cmake", ".ini",  ".rb"};
  const auto ends = [&](std::string_view suffix) { return file.ends_with(suffix); };
  // Before the prose: CMakeLists.txt is code.
  if (std::ranges::any_of(kHash, ends) || file.ends_with("Makefile") ||
      file.ends_with("CMakeLists.txt")) {
    return Language::kHash;
  }
  if (std::ranges::any_of(kProse, ends)) return Language::kNone;
  return Language::kSlash;
}

// Follows comments that reach over lines: /* */ and Python's texts in triple quotes that stand
// alone. Every hunk starts outside of both, which is the best guess there is.
class CommentFilter {
 public:
  explicit CommentFilter(Language language) : language_(language) {}

  std::string Strip(std::string_view line) {
    std::string out;
    bool blank = true;     // what is in `out`
    std::string unclosed;  // quotes that have no partner further on in this line
    for (std::size_t i = 0; i < line.size();) {
      if (!closing_.empty()) {
        const std::size_t end = line.find(closing_, i);
        if (end == std::string_view::npos) return out;
        i = end + closing_.size();
        closing_.clear();
        continue;
      }
      if (OpensBlock(line, i, blank)) continue;
      if (IsLineComment(line, i)) return out;
      std::size_t end = i + 1;
      const bool quote = line[i] == '"' || line[i] == '\'';
      if (quote && unclosed.find(line[i]) == std::string::npos) {
        // Once no end was found, none will be for a later quote: the same bytes would be searched.
        if (const auto found = EndOfText(line, i)) {
          end = *found;
        } else {
          unclosed += line[i];
        }
      }
      blank = blank && Trim(line.substr(i, end - i)).empty();
      out += line.substr(i, end - i);
      i = end;
    }
    return out;
  }

 private:
  bool OpensBlock(std::string_view line, std::size_t& i, bool blank_before) {
    const std::string_view rest = line.substr(i);
    if (language_ == Language::kSlash && rest.starts_with("/*")) {
      closing_ = "*/";
      i += 2;
      return true;
    }
    const bool triple = rest.starts_with("\"\"\"") || rest.starts_with("'''");
    if (language_ == Language::kHash && triple && blank_before) {
      closing_ = std::string(rest.substr(0, 3));
      i += 3;
      return true;
    }
    return false;
  }

  bool IsLineComment(std::string_view line, std::size_t i) const {
    if (language_ == Language::kHash) return line[i] == '#';
    return line.substr(i).starts_with("//");
  }

  // Nothing for an apostrophe, which opens no text.
  static std::optional<std::size_t> EndOfText(std::string_view line, std::size_t start) {
    for (std::size_t i = start + 1; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == line[start]) {
        return i + 1;
      }
    }
    return std::nullopt;
  }

  Language language_;
  std::string closing_;
};

// "@@ -12,3 +14,5 @@" or "@@ -12 +14 @@".
struct Hunk {
  int old_line = 0, old_count = 1, new_line = 0, new_count = 1;
};

bool ReadRange(std::string_view word, int& line, int& count) {
  const auto parts = Split(word.substr(1), ',');
  const auto first = ParseInt(parts[0]);
  const auto second = parts.size() > 1 ? ParseInt(parts[1]) : std::optional<std::int64_t>(1);
  constexpr std::int64_t kMost = 1'000'000'000;
  if (!first || !second || *first < 0 || *second < 0 || *first > kMost || *second > kMost) {
    return false;
  }
  line = static_cast<int>(*first);
  count = static_cast<int>(*second);
  return true;
}

std::optional<Hunk> ReadHunk(std::string_view line) {
  if (!line.starts_with("@@ -")) return std::nullopt;
  const auto words = Split(line, ' ');
  if (words.size() < 4 || !words[2].starts_with('+')) return std::nullopt;
  Hunk hunk;
  if (!ReadRange(words[1], hunk.old_line, hunk.old_count) ||
      !ReadRange(words[2], hunk.new_line, hunk.new_count)) {
    return std::nullopt;
  }
  return hunk;
}

std::string_view FileName(std::string_view header) {
  std::string_view name = header.substr(4);
  name = name.substr(0, name.find('\t'));
  if (name.starts_with('"') && name.ends_with('"') && name.size() > 2) {
    name = name.substr(1, name.size() - 2);
  }
  if (name.starts_with("a/") || name.starts_with("b/")) name.remove_prefix(2);
  return name;
}

class DiffReader {
 public:
  std::vector<DiffLine> Read(std::string_view diff) {
    while (!diff.empty()) {
      const std::size_t end = diff.find('\n');
      const std::string_view line = diff.substr(0, end);
      diff.remove_prefix(end == std::string_view::npos ? diff.size() : end + 1);
      if (hunk_.old_count > 0 || hunk_.new_count > 0) {
        Content(line);
      } else {
        Header(line);
      }
    }
    return std::move(lines_);
  }

 private:
  void Header(std::string_view line) {
    if (line.starts_with("--- ")) {
      old_file_ = FileName(line);
    } else if (line.starts_with("+++ ")) {
      file_ = FileName(line);
      if (file_ == "/dev/null") file_ = old_file_;
    } else if (const auto hunk = ReadHunk(line)) {
      hunk_ = *hunk;
      language_ = LanguageOf(file_);
      old_filter_ = CommentFilter(language_);
      new_filter_ = CommentFilter(language_);
    }
  }

  void Content(std::string_view line) {
    const char mark = line.empty() ? ' ' : line[0];
    if (mark == '\\') return;  // "\ No newline at end of file"
    const std::string_view text = line.substr(line.empty() ? 0 : 1);
    if (mark == '+') {
      Keep(true, hunk_.new_line, new_filter_.Strip(text));
    } else if (mark == '-') {
      Keep(false, hunk_.old_line, old_filter_.Strip(text));
    } else {
      new_filter_.Strip(text);
      old_filter_.Strip(text);
    }
    if (mark != '-') ++hunk_.new_line, --hunk_.new_count;
    if (mark != '+') ++hunk_.old_line, --hunk_.old_count;
  }

  void Keep(bool added, int line, std::string code) {
    if (language_ == Language::kNone || Trim(code).empty()) return;
    lines_.push_back({.file = file_, .line = line, .added = added, .code = std::move(code)});
  }

  std::vector<DiffLine> lines_;
  std::string_view file_, old_file_;
  Language language_ = Language::kNone;
  Hunk hunk_{.old_count = 0, .new_count = 0};
  CommentFilter old_filter_{Language::kNone}, new_filter_{Language::kNone};
};

}  // namespace

std::vector<DiffLine> ChangedCode(std::string_view unified_diff) {
  return DiffReader().Read(unified_diff);
}

}  // namespace pawl::judge
