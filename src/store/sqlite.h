// A thin Result-based layer over SQLite. One connection per object, one thread per connection.
//
// Writing: WAL on local disks, a rollback journal on shared folders (FUSE, 9p, virtiofs), where
// WAL's shared memory is not coherent; network file systems are refused for durable data. The WAL
// file stays in place after a clean close, so that readers never need to create anything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/files.h"

struct sqlite3_stmt;

namespace pawl::store {

struct Connection;

// Belongs to the cache of its database, where it goes back to on destruction; it may outlive the
// Database object.
class Statement {
 public:
  ~Statement();
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // 1-based parameters. Text is copied. A bad index is reported by the next Step.
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);
  Statement& Bind(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& BindNull(int index);

  // True while there is a row. After false or an error the statement is reset and can be bound
  // anew.
  Result<bool> Step();
  // For statements without rows.
  Status Run();

  // 0-based columns of the present row.
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;  // also blobs
  bool IsNull(int column) const;
  int column_count() const;

 private:
  friend class Database;
  Statement(std::shared_ptr<Connection> connection, sqlite3_stmt* statement);
  void GiveBack();
  void Note(int bind_result);

  std::shared_ptr<Connection> connection_;
  sqlite3_stmt* statement_ = nullptr;
  int bind_result_ = 0;
};

enum class OpenMode : std::uint8_t { kReadOnly, kCreate };
enum class Durability : std::uint8_t { kFull, kRebuildable };  // synchronous = FULL or NORMAL

// How far the shared memory and locks that SQLite needs can be trusted on a file system.
enum class FileSystem : std::uint8_t { kLocal, kShared, kNetwork };
FileSystem ClassifyFileSystem(std::uint32_t statfs_magic);

class Database {
 public:
  // Foreign keys on, busy timeout 5 s, schema not trusted. kReadOnly works beside a writer and on
  // what a killed writer left, and never makes a database (kNotFound). kCorrupt when the file is no
  // database or damaged at the first page; links are refused. A newer `user_version` than the
  // caller knows is the caller's to refuse. Durable databases are made with mode 0600.
  static Result<Database> Open(const os::Path& path, OpenMode mode,
                               Durability durability = Durability::kFull);
  // A private empty database in memory, for comparisons.
  static Result<Database> OpenInMemory();
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // From the statement cache when the same text was prepared before and is not in use.
  Result<Statement> Prepare(std::string_view sql);
  Status Execute(std::string_view sql);  // any number of statements, no parameters
  Result<std::int64_t> UserVersion();
  Status SetUserVersion(std::int64_t version);
  std::int64_t LastRowId() const;
  int Changes() const;
  // PRAGMA integrity_check; the lines of complaint, empty when sound.
  Result<std::string> IntegrityCheck();
  const os::Path& path() const;

 private:
  explicit Database(std::shared_ptr<Connection> connection);
  std::shared_ptr<Connection> connection_;
};

// BEGIN IMMEDIATE ... Commit(); rolled back on destruction when not committed. After a failed
// Commit nothing of the transaction is visible in this process.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  // A deferred BEGIN: several reads that see one state.
  static Result<Transaction> BeginRead(Database& database);
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
