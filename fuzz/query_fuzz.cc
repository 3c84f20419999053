// Words and queries of the knowledge index: any text is a query that FTS5 takes, a document is
// found by what it says, and a passage is one printable line.
#include "input.h"
#include "memory/query.h"
#include "memory/words.h"
#include "store/sqlite.h"

namespace {

namespace memory = pawl::memory;
namespace store = pawl::store;

constexpr std::size_t kSnippetBytes = 120;

store::Database MakeIndex() {
  auto database = store::Database::OpenInMemory();
  PAWL_CHECK(database.ok());
  PAWL_CHECK(database
                 ->Execute("CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter "
                           "unicode61 remove_diacritics 0')")
                 .ok());
  return std::move(database).value();
}

// Whether the index has a row for the expression; the expression must be one.
bool IsFound(store::Database& database, const std::string& expression) {
  auto query = database.Prepare("SELECT count(*) FROM words WHERE words MATCH ?");
  PAWL_CHECK(query.ok());
  query->Bind(1, expression);
  const auto row = query->Step();
  PAWL_CHECK(row.ok() && *row);
  return query->Int(0) > 0;
}

void CheckWords(std::string_view text) {
  std::size_t last = 0;
  for (const memory::Word& word : memory::WordsOf(text)) {
    PAWL_CHECK(word.begin < word.end && word.end <= text.size() && word.begin >= last);
    last = word.begin;
    PAWL_CHECK(!word.folded.empty() && pawl::IsValidUtf8(word.folded));
    PAWL_CHECK(word.folded.find_first_of("\" \n*") == std::string::npos);
    PAWL_CHECK(word.folded.find('\0') == std::string::npos);
  }
}

void CheckSnippet(std::string_view body, const memory::Query& query) {
  const std::string line = memory::Snippet(body, query, kSnippetBytes);
  PAWL_CHECK(pawl::fuzz::IsPrintableLine(line));
  // Escapes and marks make a passage longer than the text that it shows, within bounds.
  PAWL_CHECK(line.size() <= 8 * kSnippetBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static store::Database index = MakeIndex();
  const std::string_view text = pawl::fuzz::TextOf(data, size);
  const auto [asked, body] = pawl::fuzz::CutLine(text);
  CheckWords(text);
  const memory::Query query(asked);
  CheckSnippet(body, query);
  CheckSnippet(text, query);

  PAWL_CHECK(index.Execute("BEGIN").ok());
  {
    auto insert = index.Prepare("INSERT INTO words(body) VALUES(?)");
    PAWL_CHECK(insert.ok());
    insert->Bind(1, memory::FoldedText(text));
    PAWL_CHECK(insert->Run().ok());
  }
  // The document begins with the query's own words.
  if (!query.empty()) PAWL_CHECK(IsFound(index, query.Expression()));
  PAWL_CHECK(index.Execute("ROLLBACK").ok());
  return 0;
}
