// The parts of the ledger that only read: hashing one event, walking events, checking the chain and
// comparing derived tables. Internal to store/.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/ledger.h"
#include "store/sqlite.h"

namespace pawl::store {

inline constexpr std::string_view kChainStart =
    "0000000000000000000000000000000000000000000000000000000000000000";

// What a body may be. A verdict's holds up to five metric files of 4 MiB that a candidate wrote,
// and escapes make six bytes of one; a record that could not be read again would be no record.
inline constexpr JsonLimits kBodyLimits{.max_bytes = std::size_t{512} << 20, .max_depth = 128};

// `body` is the event's body as canonical JSON, exactly as stored.
std::string ChainHash(std::string_view previous_hash, const Event& event, std::string_view body);

// Events in order, each re-hashed against the hash stored with its predecessor.
Status VisitEvents(Database& database, const EventFilter& filter,
                   const std::function<Status(const Event&)>& visit);
Status VisitEvent(Database& database, std::int64_t seq,
                  const std::function<Status(const Event&)>& visit);

// What <file>-head holds: one line of fixed length that carries its own check, so that a torn one
// is known as such.
std::string HeadLine(const Ledger::Head& head);
// Absent when there is no such file or it is torn: then it says nothing. Read it before the
// snapshot that it is compared with, for a writer goes on meanwhile.
Result<std::optional<Ledger::Head>> ReadHead(const os::Path& head_file);
// A sentence when the acknowledged event is not in the ledger; empty otherwise.
Result<std::string> LostTail(Database& database, const std::optional<Ledger::Head>& acknowledged);

Result<ChainReport> CheckWholeChain(Database& database, const os::Path& head_file);

// Every table but the ledger's own.
Result<std::vector<std::string>> DerivedTables(Database& database);
Status DropDerivedTables(Database& database);
// Names of the tables whose rows are not the same in both.
Result<std::vector<std::string>> DifferingTables(Database& expected, Database& present);

}  // namespace pawl::store
