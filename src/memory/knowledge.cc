#include "memory/knowledge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "memory/markdown.h"
#include "memory/query.h"
#include "memory/words.h"
#include "store/sqlite.h"

namespace pawl::memory {

using os::Path;
using store::Database;
using store::Statement;

namespace {

constexpr std::int64_t kIndexVersion = 1;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 20;
// Words that a part of a word may stand for.
constexpr int kMaxExpansions = 64;

// Folded words stand in the full-text table, a row a document; what people see stands in
// `sections`. `vocabulary` answers questions about parts of words without reading any text; words
// that are gone from all documents stay in it until the next rebuild and do no harm.
constexpr std::string_view kSchema = R"sql(
CREATE TABLE documents(
  id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL,
  stamp TEXT NOT NULL, sha256 TEXT NOT NULL, skipped TEXT NOT NULL, UNIQUE(root, path)) STRICT;
CREATE TABLE sections(
  id INTEGER PRIMARY KEY, document INTEGER NOT NULL, heading TEXT NOT NULL, line INTEGER NOT NULL,
  body TEXT NOT NULL) STRICT;
CREATE INDEX sections_by_document ON sections(document);
CREATE TABLE vocabulary(word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
  title, headings, body, tokenize = 'porter unicode61 remove_diacritics 0');
)sql";

// A Markdown file as it lies on the disk.
struct Found {
  Path full;
  std::string stamp;
  std::string skipped;  // reason; empty: to be read
};
// (root, path below it)
using Key = std::pair<std::string, std::string>;

struct Known {
  std::int64_t id = 0;
  std::string stamp, sha256, skipped;
};

struct Survey {
  std::map<Key, Found> files;
  std::set<std::string> unreadable_roots;  // what the index knows of them stays as it is
  std::vector<std::string> notes;
};

bool IsMarkdown(std::string_view name) {
  return name.size() > 3 && ToLowerAscii(name.substr(name.size() - 3)) == ".md";
}

std::string StampText(const os::FileStamp& stamp) {
  return Format("{}:{}:{}:{}:{}", stamp.device, stamp.inode, stamp.size_bytes, stamp.mtime_ns,
                stamp.ctime_ns);
}

Found Inspect(Path full, const os::TreeEntry& entry) {
  Found found{.full = std::move(full), .stamp = {}, .skipped = {}};
  if (entry.kind != os::FileKind::kRegular) {
    found.stamp = "no file";
    found.skipped = entry.kind == os::FileKind::kLink ? "is a link; links are not followed"
                                                      : "is no regular file";
    return found;
  }
  const Result<os::FileStamp> stamp = os::StampFile(found.full);
  if (!stamp.ok()) {
    found.stamp = "unknown";
    found.skipped = stamp.error().message;
    return found;
  }
  found.stamp = StampText(*stamp);
  if (stamp->size_bytes > kMaxFileBytes) {
    found.skipped = Format("has {}; at most {} are read", FormatBytes(stamp->size_bytes),
                           FormatBytes(kMaxFileBytes));
  }
  return found;
}

void SurveyRoot(const Path& root, std::unordered_set<std::string>& seen, Survey& survey) {
  const Result<std::vector<os::TreeEntry>> entries = os::ListTree(root);
  if (!entries.ok()) {
    // A root that is not there holds no documents, as in dit-ar.
    if (entries.error().code == Code::kNotFound) return;
    survey.unreadable_roots.insert(root.string());
    survey.notes.push_back(entries.error().message);
    return;
  }
  const std::string root_text = root.string();
  for (const os::TreeEntry& entry : *entries) {
    if (entry.kind == os::FileKind::kFolder || !IsMarkdown(entry.relative)) continue;
    std::string full = root_text + '/' + entry.relative;
    // Roots may lie inside each other.
    if (!seen.insert(full).second) continue;
    survey.files.emplace_hint(survey.files.end(), Key{root_text, entry.relative},
                              Inspect(std::move(full), entry));
  }
}

Survey SurveyRoots(const std::vector<Path>& roots) {
  Survey survey;
  std::unordered_set<std::string> seen;
  for (const Path& root : roots) SurveyRoot(root, seen, survey);
  return survey;
}

Result<std::map<Key, Known>> ReadKnown(Database& database) {
  std::map<Key, Known> known;
  PAWL_ASSIGN(Statement rows,
              database.Prepare("SELECT root, path, id, stamp, sha256, skipped FROM documents"));
  while (true) {
    PAWL_ASSIGN(const bool more, rows.Step());
    if (!more) return known;
    known.emplace(Key{rows.Text(0), rows.Text(1)},
                  Known{rows.Int(2), rows.Text(3), rows.Text(4), rows.Text(5)});
  }
}

Result<std::int64_t> Count(Database& database, std::string_view sql) {
  PAWL_ASSIGN(Statement rows, database.Prepare(sql));
  PAWL_ASSIGN(const bool more, rows.Step());
  return more ? rows.Int(0) : 0;
}

// One call of Update inside one transaction.
class Updater {
 public:
  Updater(Database& database, bool rebuild) : database_(database), rebuild_(rebuild) {}

  Result<IndexReport> Run(const Survey& survey) {
    PAWL_ASSIGN(store::Transaction transaction, store::Transaction::Begin(database_));
    PAWL_ASSIGN(const auto known, ReadKnown(database_));
    for (const auto& [key, document] : known) {
      if (survey.files.contains(key) || survey.unreadable_roots.contains(key.first)) continue;
      PAWL_TRY(Remove(document.id));
      ++report_.removed;
    }
    for (const auto& [key, found] : survey.files) {
      const auto before = known.find(key);
      PAWL_TRY(Take(key, found, before == known.end() ? nullptr : &before->second));
    }
    report_.skipped.insert(report_.skipped.end(), survey.notes.begin(), survey.notes.end());
    PAWL_ASSIGN(report_.documents,
                Count(database_, "SELECT count(*) FROM documents WHERE skipped = ''"));
    PAWL_ASSIGN(report_.sections, Count(database_, "SELECT count(*) FROM sections"));
    PAWL_TRY(transaction.Commit());
    return std::move(report_);
  }

 private:
  Status Take(const Key& key, const Found& found, const Known* before) {
    if (before != nullptr && !rebuild_ && before->stamp == found.stamp) {
      if (!before->skipped.empty()) Skip(key, before->skipped);
      return OkStatus();
    }
    std::string reason = found.skipped;
    std::string text;
    if (reason.empty()) {
      Result<std::string> read =
          os::ReadFile(found.full, {.max_bytes = kMaxFileBytes, .follow_links = false});
      if (read.ok()) {
        text = *std::move(read);
      } else {
        reason = read.error().message;
      }
    }
    const std::string hash = reason.empty() ? HashBytes(text).hex() : "";
    if (before != nullptr && !rebuild_ && reason.empty() && before->sha256 == hash) {
      return Restamp(before->id, found.stamp);
    }
    if (before != nullptr) PAWL_TRY(Remove(before->id));
    if (!reason.empty()) Skip(key, reason);
    if (reason.empty()) ++report_.updated;
    return Insert(key, found.stamp, hash, reason, text);
  }

  void Skip(const Key& key, std::string_view reason) {
    report_.skipped.push_back(
        Format("{}: {}", PrintableLine(key.second, 400), PrintableLine(reason, 400)));
  }

  Status Restamp(std::int64_t id, std::string_view stamp) {
    PAWL_ASSIGN(Statement update, database_.Prepare("UPDATE documents SET stamp = ? WHERE id = ?"));
    return update.Bind(1, stamp).Bind(2, id).Run();
  }

  Status Remove(std::int64_t id) {
    for (const std::string_view sql :
         {"DELETE FROM words WHERE rowid = ?", "DELETE FROM sections WHERE document = ?",
          "DELETE FROM documents WHERE id = ?"}) {
      PAWL_ASSIGN(Statement remove, database_.Prepare(sql));
      PAWL_TRY(remove.Bind(1, id).Run());
    }
    return OkStatus();
  }

  Status Insert(const Key& key, const std::string& stamp, const std::string& hash,
                const std::string& skipped, const std::string& text) {
    const MarkdownDocument document = SplitMarkdown(text, Path(key.second).stem().string());
    PAWL_ASSIGN(
        Statement insert,
        database_.Prepare("INSERT INTO documents(root, path, title, stamp, sha256, skipped) "
                          "VALUES(?, ?, ?, ?, ?, ?)"));
    PAWL_TRY(insert.Bind(1, key.first)
                 .Bind(2, key.second)
                 .Bind(3, document.title)
                 .Bind(4, stamp)
                 .Bind(5, hash)
                 .Bind(6, skipped)
                 .Run());
    const std::int64_t id = database_.LastRowId();
    std::string headings;
    std::string body;
    for (const Section& section : document.sections) {
      PAWL_TRY(InsertSection(id, section));
      headings += FoldedText(section.heading) + '\n';
      body += FoldedText(section.body) + '\n';
    }
    PAWL_ASSIGN(Statement words,
                database_.Prepare("INSERT INTO words(rowid, title, headings, body) "
                                  "VALUES(?, ?, ?, ?)"));
    const std::string title = FoldedText(document.title);
    for (const std::string_view text_part :
         {std::string_view(title), std::string_view(headings), std::string_view(body)}) {
      PAWL_TRY(AddVocabulary(text_part));
    }
    return words.Bind(1, id).Bind(2, title).Bind(3, headings).Bind(4, body).Run();
  }

  Status InsertSection(std::int64_t document, const Section& section) {
    PAWL_ASSIGN(Statement insert,
                database_.Prepare("INSERT INTO sections(document, heading, line, body) "
                                  "VALUES(?, ?, ?, ?)"));
    return insert.Bind(1, document)
        .Bind(2, section.heading)
        .Bind(3, std::int64_t{section.line})
        .Bind(4, section.body)
        .Run();
  }

  Status AddVocabulary(std::string_view folded) {
    for (std::string_view line : Split(folded, '\n')) {
      for (const std::string_view word : Split(line, ' ')) {
        if (word.empty() || !vocabulary_.insert(std::string(word)).second) continue;
        PAWL_ASSIGN(Statement insert,
                    database_.Prepare("INSERT OR IGNORE INTO vocabulary(word) VALUES(?)"));
        PAWL_TRY(insert.Bind(1, word).Run());
      }
    }
    return OkStatus();
  }

  Database& database_;
  bool rebuild_;
  IndexReport report_;
  std::unordered_set<std::string> vocabulary_;  // of this call
};

// The section that a reader is sent to: most different words of the query, headings above text.
Result<std::optional<Hit>> BestSection(Database& database, const Query& query,
                                       std::int64_t document, double score) {
  PAWL_ASSIGN(Statement rows,
              database.Prepare("SELECT d.title, s.heading, d.path, d.root, s.line, s.body "
                               "FROM documents d LEFT JOIN sections s ON s.document = d.id "
                               "WHERE d.id = ? ORDER BY s.id"));
  rows.Bind(1, document);
  std::optional<Hit> best;
  std::string body;
  double most = -1;
  while (true) {
    PAWL_ASSIGN(const bool more, rows.Step());
    if (!more) break;
    const double value = 3 * query.Density(rows.Text(1)) + query.Density(rows.Text(5));
    if (value <= most) continue;
    most = value;
    body = rows.Text(5);
    best = Hit{.title = rows.Text(0),
               .heading = rows.Text(1),
               .path = rows.Text(2),
               .root = rows.Text(3),
               .line = std::max(1, static_cast<int>(rows.Int(4))),
               .snippet = {},
               .score = score};
  }
  if (best) best->snippet = Snippet(body, query);
  return best;
}

// Documents by BM25, title above headings above text.
Result<std::vector<Hit>> SearchWords(Database& database, const Query& query,
                                     const std::string& expression, std::int64_t limit) {
  std::vector<std::pair<std::int64_t, double>> documents;
  PAWL_ASSIGN(Statement rows,
              database.Prepare("SELECT rowid, rank FROM words WHERE words MATCH ? AND "
                               "rank MATCH 'bm25(8.0, 4.0, 1.0)' ORDER BY rank LIMIT ?"));
  rows.Bind(1, std::string_view(expression)).Bind(2, limit);
  while (true) {
    PAWL_ASSIGN(const bool more, rows.Step());
    if (!more) break;
    documents.emplace_back(rows.Int(0), -rows.Real(1));
  }
  std::vector<Hit> hits;
  for (const auto& [document, score] : documents) {
    PAWL_ASSIGN(std::optional<Hit> hit, BestSection(database, query, document, score));
    if (hit) hits.push_back(*std::move(hit));
  }
  return hits;
}

// The words of the index that hold one of the query's words, as a query of their own.
Result<std::string> WordsAround(Database& database, const Query& query) {
  std::string text;
  for (const std::string& term : query.terms()) {
    PAWL_ASSIGN(Statement rows,
                database.Prepare("SELECT word FROM vocabulary WHERE instr(word, ?) > 0 LIMIT ?"));
    rows.Bind(1, std::string_view(term)).Bind(2, std::int64_t{kMaxExpansions});
    while (true) {
      PAWL_ASSIGN(const bool more, rows.Step());
      if (!more) break;
      text += rows.Text(0) + ' ';
    }
  }
  return text;
}

// Whole words; when they hit nothing, words that hold them.
Result<std::vector<Hit>> SearchIndex(Database& database, const Query& query, std::int64_t limit) {
  PAWL_ASSIGN(std::vector<Hit> hits, SearchWords(database, query, query.Expression(), limit));
  if (!hits.empty()) return hits;
  PAWL_ASSIGN(const std::string around, WordsAround(database, query));
  const Query wider(around);
  if (wider.empty()) return hits;
  return SearchWords(database, wider, wider.Expression(), limit);
}

Path Beside(const Path& file, std::string_view ending) {
  Path out = file;
  out += ending;
  return out;
}

// The damaged or foreign file stays beside the new one; its side files must not meet the new one.
Status PutAside(const Path& file) {
  std::error_code error;
  std::filesystem::rename(file, Beside(file, ".aside"), error);
  if (error) return SystemError("put aside " + file.string(), error.value());
  for (const std::string_view ending : {"-wal", "-shm"}) {
    std::filesystem::remove(Beside(file, ending), error);
  }
  return OkStatus();
}

// kCorrupt for files that are not an index of this version.
Result<Database> OpenIndex(const Path& file) {
  PAWL_ASSIGN(Database database,
              Database::Open(file, store::OpenMode::kCreate, store::Durability::kRebuildable));
  PAWL_ASSIGN(const std::int64_t version, database.UserVersion());
  if (version == kIndexVersion) return database;
  PAWL_ASSIGN(const std::int64_t tables, Count(database, "SELECT count(*) FROM sqlite_master"));
  if (version != 0 || tables != 0) {
    return MakeError(Code::kCorrupt, Format("{} is no index of this version", file.string()));
  }
  PAWL_ASSIGN(store::Transaction transaction, store::Transaction::Begin(database));
  PAWL_TRY(database.Execute(kSchema));
  PAWL_TRY(database.SetUserVersion(kIndexVersion));
  PAWL_TRY(transaction.Commit());
  return database;
}

Result<Database> OpenOrRebuild(const Path& file) {
  Result<Database> database = OpenIndex(file);
  if (database.ok() || database.error().code != Code::kCorrupt) return database;
  PAWL_TRY(PutAside(file));
  return OpenIndex(file);
}

}  // namespace

struct Knowledge::Impl {
  Path file;
  std::vector<Path> roots;
  std::optional<Database> database;

  // Damage that shows later than at opening: a new file, filled from the roots.
  Status Recover() {
    database.reset();
    PAWL_TRY(PutAside(file));
    PAWL_ASSIGN(database, OpenIndex(file));
    return Updater(*database, true).Run(SurveyRoots(roots)).ok()
               ? OkStatus()
               : Status(MakeError(Code::kCorrupt,
                                  Format("{} is damaged and could not be rebuilt", file.string()),
                                  "remove the file and run `pawl index`"));
  }
};

Knowledge::Knowledge(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Knowledge::~Knowledge() = default;
Knowledge::Knowledge(Knowledge&&) noexcept = default;
Knowledge& Knowledge::operator=(Knowledge&&) noexcept = default;

Result<Knowledge> Knowledge::Open(const Path& file, std::vector<Path> roots) {
  auto impl = std::make_unique<Impl>();
  impl->file = file;
  for (const Path& root : roots) {
    // A root that is itself a link is what the user named; below it no link is followed.
    std::error_code error;
    Path real = std::filesystem::canonical(root, error);
    if (error) real = std::filesystem::absolute(root, error).lexically_normal();
    if (std::ranges::find(impl->roots, real) == impl->roots.end()) impl->roots.push_back(real);
  }
  if (!file.parent_path().empty()) PAWL_TRY(os::MakeFolders(file.parent_path()));
  PAWL_ASSIGN(impl->database, OpenOrRebuild(file));
  return Knowledge(std::move(impl));
}

Result<IndexReport> Knowledge::Update(bool rebuild) {
  const Survey survey = SurveyRoots(impl_->roots);
  Result<IndexReport> report = Updater(*impl_->database, rebuild).Run(survey);
  if (report.ok() || report.error().code != Code::kCorrupt) return report;
  PAWL_TRY(impl_->Recover());
  return Updater(*impl_->database, false).Run(survey);
}

Result<bool> Knowledge::IsStale() const {
  const Survey survey = SurveyRoots(impl_->roots);
  const auto known = ReadKnown(*impl_->database);
  // A damaged index is stale: the next Update mends it.
  if (!known.ok() && known.error().code == Code::kCorrupt) return true;
  if (!known.ok()) return known.error();
  std::size_t kept = 0;
  for (const auto& [key, document] : *known) {
    if (survey.unreadable_roots.contains(key.first)) continue;
    const auto found = survey.files.find(key);
    if (found == survey.files.end() || found->second.stamp != document.stamp) return true;
    ++kept;
  }
  return kept != survey.files.size();
}

Result<std::vector<Hit>> Knowledge::Search(std::string_view text, int limit) const {
  const Query query(text);
  if (query.empty()) return std::vector<Hit>{};
  const std::int64_t most = limit > 0 ? limit : -1;
  Result<std::vector<Hit>> hits = SearchIndex(*impl_->database, query, most);
  if (hits.ok() || hits.error().code != Code::kCorrupt) return hits;
  PAWL_TRY(impl_->Recover());
  return SearchIndex(*impl_->database, query, most);
}

std::int64_t Knowledge::documents() const {
  return Count(*impl_->database, "SELECT count(*) FROM documents WHERE skipped = ''").ValueOr(0);
}

}  // namespace pawl::memory
