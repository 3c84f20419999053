#include "memory/words.h"

#include <utf8proc.h>

#include <array>
#include <cctype>
#include <cstdint>

#include "base/text.h"

namespace pawl::memory {

namespace {

// Longer "words" are data (base64, hashes); their head is enough to find them.
constexpr std::size_t kMaxWordBytes = 64;

bool IsUnspaced(std::uint32_t point) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr std::array kRanges = {
      Range{0x0e00, 0x0eff},    // Thai, Lao
      Range{0x1000, 0x109f},    // Burmese
      Range{0x1780, 0x17ff},    // Khmer
      Range{0x3005, 0x3007},    // Han iteration marks
      Range{0x3040, 0x30ff},    // Hiragana, Katakana
      Range{0x31f0, 0x31ff},    // Katakana extensions
      Range{0x3400, 0x4dbf},    // Han A
      Range{0x4e00, 0x9fff},    // Han
      Range{0xac00, 0xd7a3},    // Hangul: blanks separate phrases, endings stick to words
      Range{0xf900, 0xfaff},    // Han compatibility
      Range{0xff66, 0xff9f},    // half-width Katakana
      Range{0x20000, 0x3ffff},  // Han B and later
  };
  for (const Range& range : kRanges) {
    if (point >= range.first && point <= range.last) return true;
  }
  return false;
}

bool IsHangul(std::uint32_t point) {
  return point >= 0xac00 && point <= 0xd7a3;
}

enum class Role : std::uint8_t { kSeparator, kLetter, kMark };

Role RoleOf(std::uint32_t point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Role::kLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:  // joiners, direction marks
      return Role::kMark;
    default:
      return Role::kSeparator;
  }
}

void AppendUtf8(std::string& out, std::uint32_t point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes.data());
  for (utf8proc_ssize_t i = 0; i < length; ++i)
    out += static_cast<char>(bytes[static_cast<std::size_t>(i)]);
}

// Case, compatibility form and marks evened out; letters and digits only.
void AppendFolded(std::string& out, std::uint32_t point) {
  if (IsHangul(point)) return AppendUtf8(out, point);  // decomposition would take it to pieces
  std::array<utf8proc_int32_t, 32> parts{};
  int boundary = 0;
  constexpr auto kOptions =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                                     UTF8PROC_STRIPMARK | UTF8PROC_IGNORE);
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), kOptions, &boundary);
  if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) return;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const auto part = static_cast<std::uint32_t>(parts[static_cast<std::size_t>(i)]);
    if (RoleOf(part) == Role::kLetter) AppendUtf8(out, part);
  }
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<Word> Run() {
    for (std::size_t at = 0; at < text_.size();) {
      const auto byte = static_cast<unsigned char>(text_[at]);
      if (byte < 0x80) {
        if (std::isalnum(byte) != 0) {
          EndRun();
          Extend(at, at + 1);
          word_.folded += static_cast<char>(std::tolower(byte));
        } else {
          EndWord();
          EndRun();
        }
        ++at;
        continue;
      }
      const CodePoint point = DecodeUtf8(text_, at);
      Take(point, at);
      at += point.length;
    }
    EndWord();
    EndRun();
    return std::move(words_);
  }

 private:
  void Take(const CodePoint& point, std::size_t at) {
    const Role role = point.valid ? RoleOf(point.value) : Role::kSeparator;
    if (role == Role::kMark) return;  // belongs to the letter before and says nothing in search
    if (role == Role::kSeparator) {
      EndWord();
      EndRun();
      return;
    }
    if (IsUnspaced(point.value)) {
      EndWord();
      Character next{.folded = {}, .begin = at, .end = at + point.length};
      AppendFolded(next.folded, point.value);
      if (!next.folded.empty()) Pair(std::move(next));
      return;
    }
    EndRun();
    Extend(at, at + point.length);
    AppendFolded(word_.folded, point.value);
  }

  struct Character {
    std::string folded;
    std::size_t begin = 0, end = 0;
  };

  void Pair(Character next) {
    if (!last_.folded.empty()) {
      words_.push_back({.folded = last_.folded + next.folded,
                        .begin = last_.begin,
                        .end = next.end,
                        .paired = true});
    }
    last_ = std::move(next);
  }

  // The last character of a run stands alone, so that a one-character query finds every place by
  // its prefix.
  void EndRun() {
    if (last_.folded.empty()) return;
    words_.push_back({.folded = std::move(last_.folded),
                      .begin = last_.begin,
                      .end = last_.end,
                      .paired = true,
                      .single = true});
    last_ = {};
  }

  void Extend(std::size_t begin, std::size_t end) {
    if (word_.folded.empty()) word_.begin = begin;
    word_.end = end;
  }

  void EndWord() {
    if (word_.folded.size() > kMaxWordBytes) {
      std::size_t cut = kMaxWordBytes;
      while (cut > 0 && (static_cast<unsigned char>(word_.folded[cut]) & 0xc0) == 0x80) --cut;
      word_.folded.resize(cut);
    }
    if (!word_.folded.empty()) words_.push_back(std::move(word_));
    word_ = {};
  }

  std::string_view text_;
  std::vector<Word> words_;
  Word word_;
  Character last_;
};

}  // namespace

std::vector<Word> WordsOf(std::string_view text) {
  return Splitter(text).Run();
}

std::string FoldedText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const Word& word : WordsOf(text)) {
    if (!out.empty()) out += ' ';
    out += word.folded;
  }
  return out;
}

}  // namespace pawl::memory
