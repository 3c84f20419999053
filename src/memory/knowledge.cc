#include "memory/knowledge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
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

// Folded words stand in the full-text table, what people see in `sections`.
constexpr std::string_view kSchema = R"sql(
CREATE TABLE documents(
  id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL,
  stamp TEXT NOT NULL, sha256 TEXT NOT NULL, skipped TEXT NOT NULL, UNIQUE(root, path)) STRICT;
CREATE TABLE sections(
  id INTEGER PRIMARY KEY, document INTEGER NOT NULL, heading TEXT NOT NULL, line INTEGER NOT NULL,
  body TEXT NOT NULL) STRICT;
CREATE INDEX sections_by_document ON sections(document);
CREATE VIRTUAL TABLE words USING fts5(
  title, heading, body, tokenize = 'porter unicode61 remove_diacritics 0');
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

Found Inspect(const Path& full, const os::TreeEntry& entry) {
  Found found{.full = full, .stamp = {}, .skipped = {}};
  if (entry.kind != os::FileKind::kRegular) {
    found.stamp = "no file";
    found.skipped = entry.kind == os::FileKind::kLink ? "is a link; links are not followed"
                                                      : "is no regular file";
    return found;
  }
  const Result<os::FileStamp> stamp = os::StampFile(full);
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

void SurveyRoot(const Path& root, std::set<Path>& seen, Survey& survey) {
  const Result<std::vector<os::TreeEntry>> entries = os::ListTree(root);
  if (!entries.ok()) {
    // A root that is not there holds no documents, as in dit-ar.
    if (entries.error().code == Code::kNotFound) return;
    survey.unreadable_roots.insert(root.string());
    survey.notes.push_back(entries.error().message);
    return;
  }
  for (const os::TreeEntry& entry : *entries) {
    if (entry.kind == os::FileKind::kFolder || !IsMarkdown(entry.relative)) continue;
    const Path full = root / entry.relative;
    // Roots may lie inside each other.
    if (!seen.insert(full).second) continue;
    survey.files.emplace(Key{root.string(), entry.relative}, Inspect(full, entry));
  }
}

Survey SurveyRoots(const std::vector<Path>& roots) {
  Survey survey;
  std::set<Path> seen;
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
         {"DELETE FROM words WHERE rowid IN (SELECT id FROM sections WHERE document = ?)",
          "DELETE FROM sections WHERE document = ?", "DELETE FROM documents WHERE id = ?"}) {
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
    const std::string title = FoldedText(document.title);
    for (const Section& section : document.sections) {
      PAWL_TRY(InsertSection(id, title, section));
    }
    return OkStatus();
  }

  Status InsertSection(std::int64_t document, const std::string& title, const Section& section) {
    PAWL_ASSIGN(Statement insert,
                database_.Prepare("INSERT INTO sections(document, heading, line, body) "
                                  "VALUES(?, ?, ?, ?)"));
    PAWL_TRY(insert.Bind(1, document)
                 .Bind(2, section.heading)
                 .Bind(3, std::int64_t{section.line})
                 .Bind(4, section.body)
                 .Run());
    PAWL_ASSIGN(Statement words, database_.Prepare("INSERT INTO words(rowid, title, heading, body) "
                                                   "VALUES(?, ?, ?, ?)"));
    return words.Bind(1, database_.LastRowId())
        .Bind(2, title)
        .Bind(3, FoldedText(section.heading))
        .Bind(4, FoldedText(section.body))
        .Run();
  }

  Database& database_;
  bool rebuild_;
  IndexReport report_;
};

// Collects hits from section ids in falling order of score, one a document.
class HitList {
 public:
  HitList(Database& database, const Query& query, std::size_t limit)
      : database_(database), query_(query), limit_(limit) {}

  bool full() const { return hits_.size() >= limit_; }
  std::vector<Hit> Take() { return std::move(hits_); }

  Status Add(std::int64_t section, double score) {
    PAWL_ASSIGN(Statement row,
                database_.Prepare("SELECT d.id, d.title, s.heading, d.path, d.root, s.line, s.body "
                                  "FROM sections s JOIN documents d ON d.id = s.document "
                                  "WHERE s.id = ?"));
    PAWL_ASSIGN(const bool found, row.Bind(1, section).Step());
    if (!found || !documents_.insert(row.Int(0)).second) return OkStatus();
    hits_.push_back({.title = row.Text(1),
                     .heading = row.Text(2),
                     .path = row.Text(3),
                     .root = row.Text(4),
                     .line = static_cast<int>(row.Int(5)),
                     .snippet = Snippet(row.Text(6), query_),
                     .score = score});
    return OkStatus();
  }

 private:
  Database& database_;
  const Query& query_;
  std::size_t limit_;
  std::set<std::int64_t> documents_;
  std::vector<Hit> hits_;
};

// Title above heading above text. Asks for more rows than hits, because several sections of one
// document may match; all of them when that was not enough.
Status SearchWords(Database& database, const std::string& expression, std::size_t limit,
                   HitList& hits) {
  const auto first = static_cast<std::int64_t>(std::min<std::size_t>(limit, 1000)) * 4 + 16;
  std::int64_t taken = 0;
  for (const std::int64_t rows_wanted : {first, std::int64_t{-1}}) {
    PAWL_ASSIGN(
        Statement rows,
        database.Prepare("SELECT rowid, rank FROM words WHERE words MATCH ? AND "
                         "rank MATCH 'bm25(8.0, 4.0, 1.0)' ORDER BY rank LIMIT ? OFFSET ?"));
    rows.Bind(1, expression).Bind(2, rows_wanted).Bind(3, taken);
    while (!hits.full()) {
      PAWL_ASSIGN(const bool more, rows.Step());
      if (!more) break;
      ++taken;
      PAWL_TRY(hits.Add(rows.Int(0), -rows.Real(1)));
    }
    if (hits.full() || taken < first) return OkStatus();
  }
  return OkStatus();
}

// Words inside of words, for queries that no beginning of a word answers.
Status SearchSubstrings(Database& database, const Query& query, HitList& hits) {
  std::string score;
  for (std::size_t i = 0; i < query.terms().size(); ++i) {
    AppendFormat(score, "{}(instr(title || ' ' || heading, ?{}) > 0) * 5 + (instr(body, ?{}) > 0)",
                 i == 0 ? "" : " + ", i + 1, i + 1);
  }
  PAWL_ASSIGN(Statement rows, database.Prepare("SELECT rowid, " + score +
                                               " AS hits FROM words WHERE hits > 0 "
                                               "ORDER BY hits DESC, rowid"));
  int index = 0;
  for (const std::string& term : query.terms()) rows.Bind(++index, std::string_view(term));
  while (!hits.full()) {
    PAWL_ASSIGN(const bool more, rows.Step());
    if (!more) break;
    PAWL_TRY(hits.Add(rows.Int(0), rows.Real(1)));
  }
  return OkStatus();
}

Result<std::vector<Hit>> SearchIndex(Database& database, const Query& query, std::size_t limit) {
  HitList exact(database, query, limit);
  PAWL_TRY(SearchWords(database, query.Exact(), limit, exact));
  std::vector<Hit> hits = exact.Take();
  if (!hits.empty()) return hits;
  HitList open(database, query, limit);
  PAWL_TRY(SearchWords(database, query.Prefix(), limit, open));
  hits = open.Take();
  if (!hits.empty()) return hits;
  HitList inside(database, query, limit);
  PAWL_TRY(SearchSubstrings(database, query, inside));
  return inside.Take();
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
  const auto most = limit > 0 ? static_cast<std::size_t>(limit) : std::size_t{1'000'000'000};
  Result<std::vector<Hit>> hits = SearchIndex(*impl_->database, query, most);
  if (hits.ok() || hits.error().code != Code::kCorrupt) return hits;
  PAWL_TRY(impl_->Recover());
  return SearchIndex(*impl_->database, query, most);
}

std::int64_t Knowledge::documents() const {
  return Count(*impl_->database, "SELECT count(*) FROM documents WHERE skipped = ''").ValueOr(0);
}

}  // namespace pawl::memory
