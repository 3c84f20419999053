// A person's words as a full-text query, and the passage that shows where they were met.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "memory/words.h"

namespace pawl::memory {

class Query {
 public:
  // Everyday words ("how", "the") are dropped as long as others remain.
  explicit Query(std::string_view text);

  bool empty() const { return terms_.empty(); }
  // FTS5 expression: words joined by OR, compounds ("flash-attention", 注意力) also as a phrase.
  std::string Exact() const;
  // The same with every word open at its end, for queries that hit nothing.
  std::string Prefix() const;
  // The words themselves, for a plain substring search as the last resort.
  const std::vector<std::string>& terms() const { return terms_; }

  bool Matches(const Word& word) const;

 private:
  std::vector<std::string> terms_;
  std::vector<std::string> phrases_;
  std::vector<bool> single_;  // a lone character of a script without blanks: always open
};

// One printable line of about `max_bytes` around the densest place of hits, hits as [[...]].
std::string Snippet(std::string_view body, const Query& query, std::size_t max_bytes = 220);

}  // namespace pawl::memory
