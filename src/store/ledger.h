// The append-only, hash-chained event log in one SQLite file. An event that Append has acknowledged
// survives kill -9 and power loss; a changed, removed or reordered event is found by VerifyChain.
//
// hash(n) = SHA-256(hash(n-1) as hex, "\n", canonical JSON of {seq, time_us, kind, campaign,
// experiment, body}); the chain starts from 64 zeros. Beside the file, <file>-head holds the number
// and hash of the last acknowledged event, so that a lost tail (a damaged write-ahead log, an older
// copy put back) is noticed too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "store/sqlite.h"

namespace pawl::store {

struct NewEvent {
  std::string kind;             // "experiment-admitted", ...: lower-case letters, digits, '-'
  std::int64_t campaign = 0;    // 0: none
  std::int64_t experiment = 0;  // 0: none
  Json body;                    // an object
  std::int64_t time_us = 0;     // when it happened; 0: when it is appended
};

struct Event {
  std::int64_t seq = 0;  // from 1, no gaps
  std::int64_t time_us = 0;
  std::string kind;
  std::int64_t campaign = 0;
  std::int64_t experiment = 0;
  Json body;
  std::string hash;  // 64 hex digits
};

struct EventFilter {
  std::optional<std::int64_t> campaign = {};
  std::optional<std::int64_t> experiment = {};
  std::optional<std::string> kind = {};
  std::int64_t after_seq = 0;
};

struct ChainReport {
  std::int64_t events = 0;
  std::vector<std::string> problems;  // empty: sound
};

// Keeps tables that are derived from events in step: called inside the transaction that appends.
// Rebuild = drop the tables, create them and apply every event again. An error of Apply undoes the
// append.
class Projection {
 public:
  virtual ~Projection() = default;
  // In a database that has none of them.
  virtual Status CreateTables(Database& database) = 0;
  virtual Status Apply(Database& database, const Event& event) = 0;
  // A writer that finds tables of another version rebuilds them.
  virtual std::int64_t Version() const { return 1; }
};

class Ledger {
 public:
  // kCreate is the single writer's mode: the caller holds the state lock. kReadOnly never writes.
  // `projection` may be null; it must outlive the ledger. kCorrupt when the file is damaged, its
  // last events do not chain, or acknowledged events are gone; kUnsupported for a newer format.
  static Result<Ledger> Open(const os::Path& file, OpenMode mode, Projection* projection);

  // All events of one call are committed together or not at all. An event's body is returned as a
  // reader will get it (non-finite numbers are null, malformed UTF-8 is U+FFFD).
  Result<std::vector<Event>> Append(std::span<const NewEvent> events);
  Result<Event> Append(const NewEvent& event);
  // Whether Append would take these events: does all of it but the commit.
  Status Rehearse(std::span<const NewEvent> events);

  Result<std::vector<Event>> Read(const EventFilter& filter) const;
  // Streams in order without holding everything in memory; the callback's error stops and returns.
  // Every event is re-hashed against its predecessor's hash before it is handed out (kCorrupt).
  Status ForEach(const EventFilter& filter, const std::function<Status(const Event&)>& visit) const;
  // The event with that number, re-hashed; kNotFound when there is none.
  Result<Event> At(std::int64_t seq) const;
  // Number and hash of the last event; {0, 64 zeros} when empty.
  struct Head {
    std::int64_t seq = 0;
    std::string hash;
  };
  Result<Head> Last() const;

  // Reads everything once, in constant memory: SQLite's own check, numbers, hashes, lost tail.
  Result<ChainReport> VerifyChain() const;
  // Applies all events to an empty copy of the projection's tables and compares with the present
  // ones; names the tables that differ.
  Result<std::vector<std::string>> VerifyProjection() const;
  Status RebuildProjection();

  Database& database() { return *database_; }
  const os::Path& file() const { return database_->path(); }

 private:
  Ledger() = default;
  Status Create();
  Status CheckVersion(OpenMode mode);
  Status CheckTail() const;
  Status PrepareProjection(OpenMode mode);
  Result<Event> Insert(const NewEvent& event, const Head& previous);
  Result<std::vector<Event>> InsertAll(std::span<const NewEvent> events);
  void NoteHead(const Head& head) const;

  std::unique_ptr<Database> database_;
  Projection* projection_ = nullptr;
  os::Fd head_file_;
};

}  // namespace pawl::store
