// The append-only, hash-chained event log in one SQLite file. An event that Append has acknowledged
// survives kill -9 and power loss; a changed, removed or reordered event is found by VerifyChain.
//
// hash(n) = SHA-256(hash(n-1) as hex, "\n", canonical JSON of {seq, time_us, kind, campaign,
// experiment, body}); the chain starts from 64 zeros.
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
  std::string kind;              // "experiment-admitted", ...
  std::int64_t campaign = 0;     // 0: none
  std::int64_t experiment = 0;   // 0: none
  Json body;                     // an object
};

struct Event {
  std::int64_t seq = 0;          // from 1, no gaps
  std::int64_t time_us = 0;
  std::string kind;
  std::int64_t campaign = 0;
  std::int64_t experiment = 0;
  Json body;
  std::string hash;              // 64 hex digits
};

struct EventFilter {
  std::optional<std::int64_t> campaign;
  std::optional<std::int64_t> experiment;
  std::optional<std::string> kind;
  std::int64_t after_seq = 0;
};

struct ChainReport {
  std::int64_t events = 0;
  std::vector<std::string> problems;  // empty: sound
};

// Keeps tables that are derived from events in step: called inside the transaction that appends.
// Rebuild = clear the tables and apply every event again.
class Projection {
 public:
  virtual ~Projection() = default;
  virtual Status CreateTables(Database& database) = 0;
  virtual Status Clear(Database& database) = 0;
  virtual Status Apply(Database& database, const Event& event) = 0;
};

class Ledger {
 public:
  // kCreate is the single writer's mode: the caller holds the state lock. kReadOnly never writes.
  // `projection` may be null; it must outlive the ledger.
  static Result<Ledger> Open(const os::Path& file, OpenMode mode, Projection* projection);

  // All events of one call are committed together or not at all.
  Result<std::vector<Event>> Append(std::span<const NewEvent> events);
  Result<Event> Append(const NewEvent& event);

  Result<std::vector<Event>> Read(const EventFilter& filter) const;
  // Streams in order without holding everything in memory; the callback's error stops and returns.
  Status ForEach(const EventFilter& filter, const std::function<Status(const Event&)>& visit) const;

  Result<ChainReport> VerifyChain() const;
  // Applies all events to an empty copy of the projection's tables and compares with the present
  // ones; names the tables that differ.
  Result<std::vector<std::string>> VerifyProjection() const;
  Status RebuildProjection();

  Database& database() { return *database_; }

 private:
  Ledger() = default;
  std::unique_ptr<Database> database_;
  Projection* projection_ = nullptr;
};

}  // namespace pawl::store
