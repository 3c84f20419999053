// A thin Result-based layer over SQLite. One connection per object, one thread per connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/files.h"

struct sqlite3;
struct sqlite3_stmt;

namespace pawl::store {

class Statement {
 public:
  ~Statement();
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // 1-based parameters. Text is copied.
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);
  Statement& Bind(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& BindNull(int index);

  // True while there is a row. After false or an error the statement is reset and can be bound anew.
  Result<bool> Step();
  // For statements without rows.
  Status Run();

  // 0-based columns of the present row.
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;  // also blobs
  bool IsNull(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

enum class OpenMode { kReadOnly, kCreate };
enum class Durability { kFull, kRebuildable };  // synchronous = FULL or NORMAL

class Database {
 public:
  // WAL, foreign keys on, busy timeout 5 s. kCorrupt when the file is no database or damaged at the
  // first page; a newer `user_version` than the caller knows is the caller's to refuse.
  static Result<Database> Open(const os::Path& path, OpenMode mode,
                               Durability durability = Durability::kFull);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Result<Statement> Prepare(std::string_view sql);
  Status Execute(std::string_view sql);  // any number of statements, no parameters
  Result<std::int64_t> UserVersion();
  Status SetUserVersion(std::int64_t version);
  std::int64_t LastRowId() const;
  int Changes() const;
  // PRAGMA integrity_check; the lines of complaint, empty when sound.
  Result<std::string> IntegrityCheck();

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_ = nullptr;
};

// BEGIN IMMEDIATE ... Commit(); rolled back on destruction when not committed.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  ~Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_ = nullptr;
};

}  // namespace pawl::store
