#include "store/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace pawl::store {

struct Connection {
  sqlite3* db = nullptr;
  os::Path path;
  // Statements that nobody uses now, by their text.
  std::unordered_multimap<std::string, sqlite3_stmt*> idle;

  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    for (const auto& [text, statement] : idle) sqlite3_finalize(statement);
    sqlite3_close_v2(db);
  }
};

namespace {

constexpr std::size_t kMaxIdleStatements = 128;
constexpr int kBusyTimeoutMs = 5000;

Code CodeOf(sqlite3* db, int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kCorrupt;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return Code::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::kBusy;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Code::kPermissionDenied;
    case SQLITE_CONSTRAINT:
      return Code::kConflict;
    case SQLITE_INTERRUPT:
      return Code::kCancelled;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: {
      if (result == SQLITE_IOERR_NOMEM) return Code::kResourceExhausted;
      const int system = db == nullptr ? 0 : sqlite3_system_errno(db);
      if (system == ENOSPC || system == EDQUOT || system == EMFILE || system == ENFILE) {
        return Code::kResourceExhausted;
      }
      if (system == EACCES || system == EPERM || system == EROFS) return Code::kPermissionDenied;
      return Code::kIo;
    }
    default:
      return Code::kInternal;
  }
}

std::string HintOf(Code code) {
  switch (code) {
    case Code::kResourceExhausted:
      return "free space (or a quota) on that disk and try again";
    case Code::kBusy:
      return "another process is using it; try again when it is done";
    case Code::kPermissionDenied:
      return "check owner and mode of the file and its folder";
    default:
      return {};
  }
}

// The database's own last message says more than the code's, when it belongs to this result.
Error SqlError(const Connection& connection, int result, std::string_view verb) {
  const Code code = CodeOf(connection.db, result);
  const bool own = connection.db != nullptr && sqlite3_extended_errcode(connection.db) == result;
  const char* detail = own ? sqlite3_errmsg(connection.db) : sqlite3_errstr(result);
  const int system = (result & 0xff) == SQLITE_IOERR && connection.db != nullptr
                         ? sqlite3_system_errno(connection.db)
                         : 0;
  return MakeError(
      code,
      Format("cannot {} {}: {}{}{}", verb, connection.path.string(), detail,
             system == 0 ? "" : ": ", system == 0 ? "" : std::generic_category().message(system)),
      HintOf(code));
}

Status RunText(Connection& connection, const char* sql, std::string_view verb) {
  const int result = sqlite3_exec(connection.db, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return SqlError(connection, result, verb);
  return OkStatus();
}

// Makes the file itself, so that its mode is ours; a file of no bytes is an empty database.
Status MakeFile(const os::Path& path, Durability durability) {
  const mode_t mode = durability == Durability::kFull ? 0600 : 0644;
  const os::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd.valid()) return SystemError(Format("cannot make {}", path.string()), errno);
  return OkStatus();
}

Status CheckPlace(const os::Path& path, OpenMode mode, Durability durability) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return SystemError(Format("cannot inspect {}", path.string()), errno);
    if (mode == OpenMode::kCreate) return MakeFile(path, durability);
    return MakeError(Code::kNotFound, Format("there is no database {}", path.string()));
  }
  if (S_ISREG(info.st_mode)) return OkStatus();
  return MakeError(Code::kInvalidArgument,
                   Format("{} is not a regular file; a database was expected", path.string()),
                   "remove it or choose another state folder");
}

Result<FileSystem> FileSystemOf(const os::Path& path) {
  struct statfs info{};
  if (::statfs(path.c_str(), &info) != 0) {
    return SystemError(Format("cannot inspect the file system of {}", path.string()), errno);
  }
  return ClassifyFileSystem(static_cast<std::uint32_t>(info.f_type));
}

// A path as an SQLite URI: everything but plain characters is escaped.
std::string UriOf(const os::Path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      AppendFormat(uri, "%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return uri;
}

Result<std::shared_ptr<Connection>> Connect(const os::Path& path, const std::string& name,
                                            int flags) {
  auto connection = std::make_shared<Connection>();
  connection->path = path;
  const int result = sqlite3_open_v2(name.c_str(), &connection->db,
                                     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (result != SQLITE_OK) return SqlError(*connection, result, "open");
  sqlite3_busy_timeout(connection->db, kBusyTimeoutMs);
  sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  PAWL_TRY(RunText(*connection, "PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON", "set up"));
  return connection;
}

// The first real read: finds out whether this is a database and recovers what a killed writer left.
Status ReadFirstPage(Connection& connection) {
  return RunText(connection, "SELECT count(*) FROM sqlite_schema", "read");
}

bool HasWal(const os::Path& path) {
  struct stat info{};
  return ::lstat((path.string() + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

Result<std::shared_ptr<Connection>> OpenReader(const os::Path& path) {
  PAWL_ASSIGN(std::shared_ptr<Connection> connection,
              Connect(path, path.string(), SQLITE_OPEN_READONLY));
  Status first = ReadFirstPage(*connection);
  if (first.ok()) return connection;
  // A read-only folder without side files: nobody can be writing there, so the file is all there
  // is.
  const bool sealed = ::access(path.parent_path().c_str(), W_OK) != 0 && !HasWal(path);
  const Code code = first.error().code;
  if (!sealed || code == Code::kCorrupt || code == Code::kBusy) return std::move(first).error();
  PAWL_ASSIGN(connection,
              Connect(path, UriOf(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  PAWL_TRY(ReadFirstPage(*connection));
  return connection;
}

Status SetJournal(Connection& connection, FileSystem place, Durability durability) {
  const bool wal = place == FileSystem::kLocal;
  sqlite3_stmt* statement = nullptr;
  int result = sqlite3_prepare_v2(connection.db,
                                  wal ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE",
                                  -1, &statement, nullptr);
  if (result == SQLITE_OK) result = sqlite3_step(statement);
  std::string mode;
  if (result == SQLITE_ROW) {
    const unsigned char* text = sqlite3_column_text(statement, 0);
    if (text != nullptr) mode = reinterpret_cast<const char*>(text);
  }
  sqlite3_finalize(statement);
  if (result != SQLITE_ROW) return SqlError(connection, result, "set the journal of");
  if (mode != (wal ? "wal" : "delete")) {
    return MakeError(Code::kUnsupported,
                     Format("cannot set the journal of {}: SQLite stays in mode `{}`",
                            connection.path.string(), mode),
                     "move the state folder to a local disk (config key `state_dir`)");
  }
  int keep = 1;
  sqlite3_file_control(connection.db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
  return RunText(connection,
                 durability == Durability::kFull
                     ? "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=4194304"
                     : "PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304",
                 "set up");
}

Result<std::shared_ptr<Connection>> OpenWriter(const os::Path& path, Durability durability) {
  PAWL_ASSIGN(const FileSystem place, FileSystemOf(path));
  if (place == FileSystem::kNetwork && durability == Durability::kFull) {
    return MakeError(Code::kUnsupported,
                     Format("{} lies on a network file system, whose locks and syncs cannot carry "
                            "a ledger",
                            path.string()),
                     "move the state folder to a local disk (config key `state_dir`)");
  }
  PAWL_ASSIGN(std::shared_ptr<Connection> connection,
              Connect(path, path.string(), SQLITE_OPEN_READWRITE));
  PAWL_TRY(ReadFirstPage(*connection));
  PAWL_TRY(SetJournal(*connection, place, durability));
  return connection;
}

}  // namespace

FileSystem ClassifyFileSystem(std::uint32_t statfs_magic) {
  switch (statfs_magic) {
    case 0x00006969:  // NFS
    case 0x0000517b:  // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x5346414f:  // AFS
    case 0x73757245:  // Coda
      return FileSystem::kNetwork;
    case 0x65735546:  // FUSE, virtiofs
    case 0x01021997:  // 9p
    case 0x00c36400:  // Ceph
    case 0x0bd00bd0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x786f4256:  // VirtualBox shared folder
      return FileSystem::kShared;
    default:
      return FileSystem::kLocal;
  }
}

Statement::Statement(std::shared_ptr<Connection> connection, sqlite3_stmt* statement)
    : connection_(std::move(connection)), statement_(statement) {}

Statement::~Statement() {
  GiveBack();
}

Statement::Statement(Statement&& other) noexcept
    : connection_(std::move(other.connection_)),
      statement_(std::exchange(other.statement_, nullptr)),
      bind_result_(other.bind_result_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    GiveBack();
    connection_ = std::move(other.connection_);
    statement_ = std::exchange(other.statement_, nullptr);
    bind_result_ = other.bind_result_;
  }
  return *this;
}

void Statement::GiveBack() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  if (connection_->idle.size() < kMaxIdleStatements) {
    connection_->idle.emplace(sqlite3_sql(statement_), statement_);
  } else {
    sqlite3_finalize(statement_);
  }
  statement_ = nullptr;
  connection_.reset();
}

void Statement::Note(int bind_result) {
  if (bind_result_ == SQLITE_OK) bind_result_ = bind_result;
}

Statement& Statement::Bind(int index, std::int64_t value) {
  Note(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  Note(sqlite3_bind_double(statement_, index, value));
  return *this;
}

Statement& Statement::Bind(int index, std::string_view text) {
  // A null pointer would bind NULL; an empty view is an empty text.
  const char* data = text.empty() ? "" : text.data();
  Note(sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  Note(sqlite3_bind_blob64(statement_, index, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::BindNull(int index) {
  Note(sqlite3_bind_null(statement_, index));
  return *this;
}

Result<bool> Statement::Step() {
  int result = std::exchange(bind_result_, SQLITE_OK);
  if (result != SQLITE_OK) {
    sqlite3_reset(statement_);
    return MakeError(Code::kInternal, Format("cannot bind a parameter of `{}`: {}",
                                             sqlite3_sql(statement_), sqlite3_errstr(result)));
  }
  result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  Error error =
      SqlError(*connection_, result, sqlite3_stmt_readonly(statement_) != 0 ? "read" : "write");
  sqlite3_reset(statement_);
  return error;
}

Status Statement::Run() {
  while (true) {
    PAWL_ASSIGN(const bool row, Step());
    if (!row) return OkStatus();
  }
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::Real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string Statement::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int Statement::column_count() const {
  return sqlite3_column_count(statement_);
}

Database::Database(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::Open(const os::Path& path, OpenMode mode, Durability durability) {
  PAWL_TRY(CheckPlace(path, mode, durability));
  PAWL_ASSIGN(std::shared_ptr<Connection> connection,
              mode == OpenMode::kReadOnly ? OpenReader(path) : OpenWriter(path, durability));
  return Database(std::move(connection));
}

Result<Database> Database::OpenInMemory() {
  PAWL_ASSIGN(std::shared_ptr<Connection> connection,
              Connect(":memory:", ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY));
  return Database(std::move(connection));
}

Result<Statement> Database::Prepare(std::string_view sql) {
  const auto found = connection_->idle.find(std::string(sql));
  if (found != connection_->idle.end()) {
    sqlite3_stmt* statement = found->second;
    connection_->idle.erase(found);
    return Statement(connection_, statement);
  }
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(connection_->db, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return SqlError(*connection_, result, "prepare a statement for");
  PAWL_CHECK(statement != nullptr);
  return Statement(connection_, statement);
}

Status Database::Execute(std::string_view sql) {
  return RunText(*connection_, std::string(sql).c_str(), "write");
}

Result<std::int64_t> Database::UserVersion() {
  PAWL_ASSIGN(Statement statement, Prepare("PRAGMA user_version"));
  PAWL_ASSIGN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Status Database::SetUserVersion(std::int64_t version) {
  return Execute(Format("PRAGMA user_version={}", version));
}

std::int64_t Database::LastRowId() const {
  return sqlite3_last_insert_rowid(connection_->db);
}

int Database::Changes() const {
  return sqlite3_changes(connection_->db);
}

Result<std::string> Database::IntegrityCheck() {
  PAWL_ASSIGN(Statement statement, Prepare("PRAGMA integrity_check"));
  std::string complaints;
  while (true) {
    PAWL_ASSIGN(const bool row, statement.Step());
    if (!row) break;
    const std::string line = statement.Text(0);
    if (line != "ok") complaints += (complaints.empty() ? "" : "\n") + line;
  }
  return complaints;
}

const os::Path& Database::path() const {
  return connection_->path;
}

Result<Transaction> Transaction::Begin(Database& database) {
  PAWL_TRY(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Result<Transaction> Transaction::BeginRead(Database& database) {
  PAWL_TRY(database.Execute("BEGIN"));
  return Transaction(&database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // SQLite rolls some failed transactions back by itself; then there is nothing left to do here.
  if (database_ != nullptr) database_->Execute("ROLLBACK").Ignore("rolled back already");
}

Status Transaction::Commit() {
  PAWL_CHECK(database_ != nullptr);
  PAWL_TRY(database_->Execute("COMMIT"));
  database_ = nullptr;
  return OkStatus();
}

}  // namespace pawl::store
