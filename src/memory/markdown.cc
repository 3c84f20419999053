#include "memory/markdown.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace pawl::memory {

namespace {

// Up to three blanks may stand before block marks.
std::optional<std::string_view> Unindented(std::string_view line) {
  const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  if (blanks > 3) return std::nullopt;
  return line.substr(blanks);
}

std::size_t RunLength(std::string_view text, char mark) {
  return std::min(text.find_first_not_of(mark), text.size());
}

struct Heading {
  std::size_t level = 0;
  std::string text;
};

std::optional<Heading> ReadHeading(std::string_view line) {
  const auto text = Unindented(line);
  if (!text) return std::nullopt;
  const std::size_t level = RunLength(*text, '#');
  if (level < 1 || level > 6) return std::nullopt;
  std::string_view rest = text->substr(level);
  if (!rest.empty() && rest[0] != ' ' && rest[0] != '\t') return std::nullopt;
  rest = Trim(rest);
  // "# Heading ##": closing marks stand alone after a blank.
  const std::size_t last = rest.find_last_not_of('#');
  if (last == std::string_view::npos) {
    rest = {};
  } else if (last + 1 < rest.size() && rest[last] == ' ') {
    rest = Trim(rest.substr(0, last));
  }
  return Heading{level, std::string(rest)};
}

class FenceTracker {
 public:
  // True when the line belongs to fenced code, its opening and closing lines included.
  bool InFence(std::string_view line) {
    const auto text = Unindented(line);
    if (!text) return length_ > 0;
    if (length_ == 0) {
      for (const char mark : {'`', '~'}) {
        const std::size_t run = RunLength(*text, mark);
        const bool opens =
            run >= 3 && (mark == '~' || text->find('`', run) == std::string_view::npos);
        if (!opens) continue;
        mark_ = mark;
        length_ = run;
        return true;
      }
      return false;
    }
    const std::size_t run = RunLength(*text, mark_);
    if (run >= length_ && Trim(text->substr(run)).empty()) length_ = 0;
    return true;
  }

 private:
  char mark_ = '`';
  std::size_t length_ = 0;
};

class MarkdownReader {
 public:
  explicit MarkdownReader(std::string_view fallback_title) { document_.title = fallback_title; }

  MarkdownDocument Read(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      Take(line, ++number);
    }
    Close();
    return std::move(document_);
  }

 private:
  void Take(std::string_view line, int number) {
    if (fence_.InFence(line)) {
      paragraph_line_ = {};
      Append(line);
      return;
    }
    if (auto heading = ReadHeading(line)) {
      Open(*std::move(heading), number);
      return;
    }
    const auto text = Unindented(line);
    const bool underline =
        text && RunLength(*text, '=') >= 2 && Trim(text->substr(RunLength(*text, '='))).empty();
    if (underline && !paragraph_line_.empty()) {
      // The line before was the heading: take it back out of the body.
      const std::string title(Trim(paragraph_line_));
      section_.body.resize(section_.body.size() - paragraph_line_.size() - 1);
      Open({1, title}, number - 1);
      return;
    }
    Append(line);
    paragraph_line_ = Trim(line).empty() ? std::string() : std::string(line);
  }

  void Append(std::string_view line) {
    section_.body += line;
    section_.body += '\n';
  }

  void Open(Heading heading, int number) {
    Close();
    if (heading.level == 1 && !titled_ && !heading.text.empty()) {
      document_.title = heading.text;
      titled_ = true;
    }
    section_ = {.heading = std::move(heading.text), .line = number, .body = {}};
    paragraph_line_.clear();
  }

  void Close() {
    if (section_.heading.empty() && Trim(section_.body).empty()) return;
    document_.sections.push_back(std::move(section_));
    section_ = {};
  }

  MarkdownDocument document_;
  Section section_;
  FenceTracker fence_;
  std::string paragraph_line_;
  bool titled_ = false;
};

}  // namespace

MarkdownDocument SplitMarkdown(std::string_view text, std::string_view fallback_title) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return MarkdownReader(fallback_title).Read(text);
}

}  // namespace pawl::memory
