// The knowledge index: Markdown below one or several roots, split by heading, searched by BM25 with
// title and heading weighted above text. A rebuildable SQLite file; incremental by stat and hash.
// Links below a root are never followed, so that nothing outside of it gets into the index.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace pawl::memory {

struct IndexReport {
  std::int64_t documents = 0;  // Markdown files in the index now
  std::int64_t sections = 0;
  std::int64_t updated = 0;  // read again in this call
  std::int64_t removed = 0;
  std::vector<std::string> skipped;  // unreadable or too large, with the reason
};

struct Hit {
  std::string title;    // of the document
  std::string heading;  // of the section, "" for text before the first heading
  std::string path;     // relative to its root, '/'-separated
  std::string root;     // absolute
  int line = 1;         // of the heading
  std::string snippet;  // one printable line, matches as [[...]]
  double score = 0;     // higher is better
};

class Knowledge {
 public:
  // `file` is made when absent; a damaged or foreign file is put aside and rebuilt.
  static Result<Knowledge> Open(const os::Path& file, std::vector<os::Path> roots);

  // Brings the index up to date; `rebuild` reads everything again.
  Result<IndexReport> Update(bool rebuild);
  // True when a file was added, removed or changed since the last Update (by stat).
  Result<bool> IsStale() const;

  // Words in any script; no operators, nothing in a query is an error. One hit a document, its best
  // section. `limit` <= 0: no limit. An index found damaged is rebuilt on the way.
  Result<std::vector<Hit>> Search(std::string_view query, int limit) const;
  std::int64_t documents() const;

  ~Knowledge();
  Knowledge(Knowledge&&) noexcept;
  Knowledge& operator=(Knowledge&&) noexcept;
  Knowledge(const Knowledge&) = delete;
  Knowledge& operator=(const Knowledge&) = delete;

 private:
  struct Impl;
  explicit Knowledge(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::memory
