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
  std::string Expression() const;
  const std::vector<std::string>& terms() const { return terms_; }

  // How much of the query a text holds: different words first, their number second.
  double Density(std::string_view text) const;
  // The term that a word stands for, by the rules of the index (endings do not count); -1: none.
  int Match(const Word& word) const;

 private:
  std::vector<std::string> terms_;
  std::vector<std::string> phrases_;
  std::vector<bool> single_;  // a lone character of a script without blanks: always open
};

// One printable line of about `max_bytes` around the densest place of hits, hits as [[...]].
std::string Snippet(std::string_view body, const Query& query, std::size_t max_bytes = 220);

}  // namespace pawl::memory
