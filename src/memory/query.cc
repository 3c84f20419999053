#include "memory/query.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"

namespace pawl::memory {

namespace {

constexpr std::size_t kMaxTerms = 64;

bool IsEveryday(std::string_view word) {
  constexpr std::array<std::string_view, 36> kEveryday = {
      "a",    "an",   "and", "are",  "as", "at",  "be",   "by",   "can",   "do",  "does", "for",
      "from", "how",  "i",   "if",   "in", "is",  "it",   "my",   "of",    "on",  "or",   "should",
      "so",   "that", "the", "this", "to", "was", "what", "when", "which", "why", "with", "you"};
  return std::ranges::find(kEveryday, word) != kEveryday.end();
}

std::string Quoted(std::string_view folded) {
  return '"' + std::string(folded) + '"';
}

// Several words written as one, without blanks: "flash-attention", "sm_86", 注意力.
void AddPhrase(const std::vector<Word>& words, std::vector<std::string>& phrases) {
  std::string phrase;
  std::size_t count = 0;
  for (const Word& word : words) {
    if (word.single && count > 0) continue;
    if (count++ > 0) phrase += ' ';
    phrase += word.folded;
  }
  if (count > 1) phrases.push_back(std::move(phrase));
}

}  // namespace

Query::Query(std::string_view text) {
  std::vector<Word> all;
  for (std::size_t at = 0; at < text.size() && all.size() < kMaxTerms;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    const std::vector<Word> words = WordsOf(text.substr(at, end - at));
    AddPhrase(words, phrases_);
    for (std::size_t i = 0; i < words.size(); ++i) {
      // The closing single character of a longer run adds nothing to its pairs.
      const bool closes = words[i].single && i > 0 && words[i - 1].paired && !words[i - 1].single;
      if (!closes) all.push_back(words[i]);
    }
    at = end + 1;
  }
  const bool meaningful =
      std::ranges::any_of(all, [](const Word& word) { return !IsEveryday(word.folded); });
  std::set<std::string> seen;
  for (const Word& word : all) {
    if ((meaningful && IsEveryday(word.folded)) || !seen.insert(word.folded).second) continue;
    if (terms_.size() == kMaxTerms) break;
    terms_.push_back(word.folded);
    single_.push_back(word.single);
  }
}

std::string Query::Expression() const {
  std::vector<std::string> parts;
  parts.reserve(terms_.size() + phrases_.size());
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    parts.push_back(Quoted(terms_[i]) + (single_[i] ? "*" : ""));
  }
  for (const std::string& phrase : phrases_) parts.push_back(Quoted(phrase));
  return Join(parts, " OR ");
}

double Query::Density(std::string_view text) const {
  std::set<int> different;
  int count = 0;
  for (const Word& word : WordsOf(text)) {
    const int term = Match(word);
    if (term < 0) continue;
    different.insert(term);
    ++count;
  }
  return static_cast<double>(different.size()) + std::min(count, 99) / 100.0;
}

int Query::Match(const Word& word) const {
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const std::string& term = terms_[i];
    const int found = static_cast<int>(i);
    if (word.folded == term) return found;
    if (single_[i] && word.folded.starts_with(term)) return found;
    if (word.paired) continue;
    // The index compares stems: "caching" hits "cached". Here the same beginning but for the
    // ending is near enough.
    const std::size_t shorter = std::min(term.size(), word.folded.size());
    if (shorter < 4) continue;
    const std::size_t stem = std::max<std::size_t>(4, shorter - std::min<std::size_t>(3, shorter));
    const bool near = std::max(term.size(), word.folded.size()) <= shorter + 4;
    const bool digits = word.folded.find_first_of("0123456789") != std::string::npos;
    if (near && !digits && term.compare(0, stem, word.folded, 0, stem) == 0) return found;
  }
  return -1;
}

namespace {

struct Mark {
  std::size_t begin = 0, end = 0;
  std::string folded;
};

std::vector<Mark> FindMarks(std::string_view body, const Query& query) {
  std::vector<Mark> marks;
  for (Word& word : WordsOf(body)) {
    if (query.Match(word) >= 0) marks.push_back({word.begin, word.end, std::move(word.folded)});
  }
  return marks;
}

// Begin of the window that shows most different words.
std::size_t BestStart(const std::vector<Mark>& marks, std::size_t window) {
  std::size_t best = 0;
  std::size_t best_score = 0;
  constexpr std::size_t kMostMarks = 2000;
  for (std::size_t i = 0; i < std::min(marks.size(), kMostMarks); ++i) {
    std::set<std::string_view> different;
    std::size_t count = 0;
    for (std::size_t j = i; j < marks.size() && marks[j].end <= marks[i].begin + window; ++j) {
      different.insert(marks[j].folded);
      ++count;
    }
    const std::size_t score = different.size() * 100 + std::min<std::size_t>(count, 99);
    if (score > best_score) {
      best_score = score;
      best = marks[i].begin;
    }
  }
  return best;
}

bool StartsCharacter(std::string_view text, std::size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

// Foreign text on one line, runs of blanks as one.
void AppendPlain(std::string& out, std::string_view text) {
  for (const char byte : PrintableLine(text, 4 * text.size() + 16)) {
    if (byte == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += byte;
  }
}

}  // namespace

std::string Snippet(std::string_view body, const Query& query, std::size_t max_bytes) {
  const std::vector<Mark> marks = FindMarks(body, query);
  const std::size_t lead = max_bytes / 5;
  const std::size_t first_hit = BestStart(marks, max_bytes - lead);
  std::size_t begin = first_hit > lead ? first_hit - lead : 0;
  // Start at a word where one begins near, at a whole character in any case.
  if (begin > 0) {
    const std::size_t blank = body.find_first_of(" \n", begin);
    if (blank < first_hit) begin = blank + 1;
  }
  while (!StartsCharacter(body, begin)) ++begin;
  std::size_t end = std::min(body.size(), begin + max_bytes);
  while (!StartsCharacter(body, end)) --end;

  std::string out;
  std::size_t at = begin;
  for (std::size_t i = 0; i < marks.size();) {
    std::size_t last = marks[i].end;
    const std::size_t start = marks[i].begin;
    for (++i; i < marks.size() && marks[i].begin < last; ++i) last = std::max(last, marks[i].end);
    if (start < at || last > end) continue;
    AppendPlain(out, body.substr(at, start - at));
    out += "[[";
    AppendPlain(out, body.substr(start, last - start));
    out += "]]";
    at = last;
  }
  AppendPlain(out, body.substr(at, end - at));
  std::string line(Trim(out));
  if (begin > 0) line.insert(0, "… ");
  if (end < body.size()) line += " …";
  return line;
}

}  // namespace pawl::memory
