#include "store/sqlite.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace pawl::store {
namespace {

class SqliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-sqlite-");
    ASSERT_TRUE(made.ok());
    scratch_.emplace(std::move(made).value());
    file_ = scratch_->path() / "a b?#%.sqlite3";
  }
  Database Open(OpenMode mode = OpenMode::kCreate) {
    Result<Database> database = Database::Open(file_, mode);
    EXPECT_TRUE(database.ok()) << database.error().Text();
    return std::move(database).value();
  }
  static std::int64_t Count(Database& database) {
    Result<Statement> query = database.Prepare("SELECT count(*) FROM t");
    EXPECT_TRUE(query.ok()) << query.error().Text();
    const Result<bool> row = query->Step();
    EXPECT_TRUE(row.ok());
    return query->Int(0);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto entries = os::ListTree(scratch_->path());
    EXPECT_TRUE(entries.ok());
    for (const os::TreeEntry& entry : *entries) names.push_back(entry.relative);
    return names;
  }
  std::optional<os::ScratchFolder> scratch_;
  os::Path file_;
};

TEST_F(SqliteTest, ValuesGoInAndComeOutUnchanged) {
  Database database = Open();
  ASSERT_TRUE(
      database.Execute("CREATE TABLE t(i INTEGER, r REAL, s TEXT, b BLOB, n TEXT) STRICT").ok());
  const std::string odd("a\0b", 3);
  {
    Result<Statement> insert = database.Prepare("INSERT INTO t VALUES(?, ?, ?, ?, ?)");
    ASSERT_TRUE(insert.ok());
    insert->Bind(1, std::int64_t{1} << 62).Bind(2, 0.1).Bind(3, std::string_view());
    ASSERT_TRUE(insert->BindBlob(4, odd).BindNull(5).Run().ok());
  }
  Result<Statement> query = database.Prepare("SELECT * FROM t");
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE(*query->Step());
  EXPECT_EQ(query->Int(0), std::int64_t{1} << 62);
  EXPECT_EQ(query->Real(1), 0.1);
  EXPECT_FALSE(query->IsNull(2));
  EXPECT_EQ(query->Text(2), "");
  EXPECT_EQ(query->Text(3), odd);
  EXPECT_TRUE(query->IsNull(4));
  EXPECT_FALSE(*query->Step());
}

TEST_F(SqliteTest, StatementsAreReusedAndForgetTheirParameters) {
  Database database = Open();
  ASSERT_TRUE(database.Execute("CREATE TABLE t(x TEXT)").ok());
  const char* sql = "INSERT INTO t VALUES(?)";
  {
    ASSERT_TRUE(database.Prepare(sql)->Bind(1, "first").Run().ok());
  }
  {
    ASSERT_TRUE(database.Prepare(sql)->Run().ok());
  }
  Result<Statement> query = database.Prepare("SELECT count(*) FROM t WHERE x IS NULL");
  ASSERT_TRUE(*query->Step());
  EXPECT_EQ(query->Int(0), 1);
  // The same text twice at a time is two statements.
  Result<Statement> one = database.Prepare("SELECT x FROM t");
  Result<Statement> two = database.Prepare("SELECT x FROM t");
  EXPECT_TRUE(*one->Step());
  EXPECT_TRUE(*one->Step());
  EXPECT_TRUE(*two->Step());
  EXPECT_EQ(two->Text(0), "first");
}

TEST_F(SqliteTest, ErrorsSayWhatKindTheyAre) {
  Database database = Open();
  ASSERT_TRUE(database.Execute("CREATE TABLE t(x INTEGER PRIMARY KEY) STRICT").ok());
  EXPECT_EQ(database.Execute("SELEC 1").error().code, Code::kInternal);
  EXPECT_EQ(database.Execute("INSERT INTO t VALUES(1),(1)").error().code, Code::kConflict);
  Result<Statement> insert = database.Prepare("INSERT INTO t VALUES(?)");
  EXPECT_EQ(insert->Bind(2, "no such parameter").Run().error().code, Code::kInternal);
  EXPECT_TRUE(insert->Bind(1, std::int64_t{7}).Run().ok()) << "usable again after a bad bind";
  Database other = Open();
  ASSERT_TRUE(other.Execute("PRAGMA busy_timeout=0").ok());
  const Result<Transaction> held = Transaction::Begin(database);
  ASSERT_TRUE(held.ok());
  const Result<Transaction> refused = Transaction::Begin(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kBusy);
  EXPECT_NE(refused.error().message.find(file_.string()), std::string::npos);
}

TEST_F(SqliteTest, AnUncommittedTransactionIsRolledBack) {
  Database database = Open();
  ASSERT_TRUE(database.Execute("CREATE TABLE t(x)").ok());
  {
    Result<Transaction> transaction = Transaction::Begin(database);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(database.Execute("INSERT INTO t VALUES(1)").ok());
  }
  EXPECT_EQ(Count(database), 0);
  Result<Transaction> transaction = Transaction::Begin(database);
  ASSERT_TRUE(database.Execute("INSERT INTO t VALUES(1)").ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(Count(database), 1);
}

TEST_F(SqliteTest, OnlyCreateModeMakesAFileAndOnlyForItsOwner) {
  const Result<Database> none = Database::Open(file_, OpenMode::kReadOnly);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_TRUE(Names().empty());
  {
    Open();
  }
  struct stat info{};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(SqliteTest, AReaderLeavesTheFolderAsItIs) {
  {
    Database writer = Open();
    ASSERT_TRUE(writer.Execute("CREATE TABLE t(x); INSERT INTO t VALUES(1)").ok());
  }
  const std::vector<std::string> before = Names();
  {
    Database reader = Open(OpenMode::kReadOnly);
    EXPECT_EQ(Count(reader), 1);
    EXPECT_FALSE(reader.Execute("INSERT INTO t VALUES(2)").ok());
  }
  EXPECT_EQ(Names(), before);
}

TEST_F(SqliteTest, AReaderWorksBesideAWriterInTheMiddleOfATransaction) {
  Database writer = Open();
  ASSERT_TRUE(writer.Execute("CREATE TABLE t(x); INSERT INTO t VALUES(1)").ok());
  Result<Transaction> transaction = Transaction::Begin(writer);
  ASSERT_TRUE(writer.Execute("INSERT INTO t VALUES(2)").ok());
  Database reader = Open(OpenMode::kReadOnly);
  EXPECT_EQ(Count(reader), 1);
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(Count(reader), 2);
}

TEST_F(SqliteTest, AReaderReadsWhatAKilledWriterLeft) {
  const pid_t child = ::fork();
  if (child == 0) {
    Database writer = Open();
    const Status status = writer.Execute("CREATE TABLE t(x); INSERT INTO t VALUES(1),(2),(3)");
    if (!status.ok()) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_GT(std::filesystem::file_size(file_.string() + "-wal"), 0U);
  Database reader = Open(OpenMode::kReadOnly);
  EXPECT_EQ(Count(reader), 3);
}

TEST_F(SqliteTest, LinksAndOtherFilesAreRefused) {
  {
    Open();
  }
  const os::Path link = scratch_->path() / "link";
  std::filesystem::create_symlink(file_, link);
  EXPECT_EQ(Database::Open(link, OpenMode::kCreate).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Database::Open(scratch_->path(), OpenMode::kReadOnly).error().code,
            Code::kInvalidArgument);
  const os::Path text = scratch_->path() / "text";
  ASSERT_TRUE(os::WriteFileAtomic(text, std::string(5000, 'x')).ok());
  EXPECT_EQ(Database::Open(text, OpenMode::kReadOnly).error().code, Code::kCorrupt);
  EXPECT_EQ(Database::Open(text, OpenMode::kCreate).error().code, Code::kCorrupt);
}

TEST_F(SqliteTest, AStatementMayOutliveItsDatabase) {
  std::optional<Statement> query;
  {
    Database database = Open();
    query = std::move(database.Prepare("SELECT 5")).value();
  }
  ASSERT_TRUE(*query->Step());
  EXPECT_EQ(query->Int(0), 5);
}

TEST(FileSystem, SharedMemoryIsOnlyTrustedOnLocalDisks) {
  EXPECT_EQ(ClassifyFileSystem(0xef53), FileSystem::kLocal);      // ext4
  EXPECT_EQ(ClassifyFileSystem(0x58465342), FileSystem::kLocal);  // xfs
  EXPECT_EQ(ClassifyFileSystem(0x794c7630), FileSystem::kLocal);  // overlayfs
  EXPECT_EQ(ClassifyFileSystem(0x65735546), FileSystem::kShared);
  EXPECT_EQ(ClassifyFileSystem(0x01021997), FileSystem::kShared);
  EXPECT_EQ(ClassifyFileSystem(0x6969), FileSystem::kNetwork);
  EXPECT_EQ(ClassifyFileSystem(0xff534d42), FileSystem::kNetwork);
}

}  // namespace
}  // namespace pawl::store
