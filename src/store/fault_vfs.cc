#include "store/fault_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pawl::store {
namespace {

FaultVfs* g_shim = nullptr;
sqlite3_vfs* g_real = nullptr;

// The real file's object follows in the same allocation.
struct ShimFile {
  sqlite3_file base;
  const char* path;  // kept alive by SQLite as long as the file is open; null for temporary files
};

constexpr std::size_t kShimSize = (sizeof(ShimFile) + 15) / 16 * 16;

sqlite3_file* RealOf(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + kShimSize);
}

const char* PathOf(sqlite3_file* file) {
  return reinterpret_cast<ShimFile*>(file)->path;
}

int Forward(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  sqlite3_file* real = RealOf(file);
  const int result = real->pMethods->xWrite(real, data, size, offset);
  if (result == SQLITE_OK && PathOf(file) != nullptr && size > 0) {
    const std::string bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
    g_shim->NoteWrite(PathOf(file), bytes, offset);
  }
  return result;
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const Fault fault = g_shim->Next();
  if (fault == Fault::kNone) return Forward(file, data, size, offset);
  if (fault != Fault::kIoError) Forward(file, data, size / 2, offset);
  if (fault == Fault::kKill) ::kill(::getpid(), SIGKILL);
  return fault == Fault::kNoSpace ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int Sync(sqlite3_file* file, int flags) {
  const Fault fault = g_shim->Next();
  if (fault == Fault::kKill) ::kill(::getpid(), SIGKILL);
  if (fault != Fault::kNone) return fault == Fault::kNoSpace ? SQLITE_FULL : SQLITE_IOERR_FSYNC;
  sqlite3_file* real = RealOf(file);
  const int result = real->pMethods->xSync(real, flags);
  if (result == SQLITE_OK && PathOf(file) != nullptr) g_shim->NoteSync(PathOf(file));
  return result;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  const Fault fault = g_shim->Next();
  if (fault == Fault::kKill) ::kill(::getpid(), SIGKILL);
  if (fault != Fault::kNone) return SQLITE_IOERR_TRUNCATE;
  sqlite3_file* real = RealOf(file);
  const int result = real->pMethods->xTruncate(real, size);
  if (result == SQLITE_OK && PathOf(file) != nullptr) g_shim->NoteTruncate(PathOf(file), size);
  return result;
}

// The rest only passes on.
int Close(sqlite3_file* f) {
  return RealOf(f)->pMethods->xClose(RealOf(f));
}
int Read(sqlite3_file* f, void* data, int size, sqlite3_int64 offset) {
  return RealOf(f)->pMethods->xRead(RealOf(f), data, size, offset);
}
int FileSize(sqlite3_file* f, sqlite3_int64* size) {
  return RealOf(f)->pMethods->xFileSize(RealOf(f), size);
}
int Lock(sqlite3_file* f, int level) {
  return RealOf(f)->pMethods->xLock(RealOf(f), level);
}
int Unlock(sqlite3_file* f, int level) {
  return RealOf(f)->pMethods->xUnlock(RealOf(f), level);
}
int CheckReserved(sqlite3_file* f, int* out) {
  return RealOf(f)->pMethods->xCheckReservedLock(RealOf(f), out);
}
int Control(sqlite3_file* f, int op, void* arg) {
  return RealOf(f)->pMethods->xFileControl(RealOf(f), op, arg);
}
int SectorSize(sqlite3_file* f) {
  return RealOf(f)->pMethods->xSectorSize(RealOf(f));
}
// No promises about atomic or ordered writes.
int Characteristics(sqlite3_file*) {
  return 0;
}
int ShmMap(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return RealOf(f)->pMethods->xShmMap(RealOf(f), page, size, extend, out);
}
int ShmLock(sqlite3_file* f, int offset, int n, int flags) {
  return RealOf(f)->pMethods->xShmLock(RealOf(f), offset, n, flags);
}
void ShmBarrier(sqlite3_file* f) {
  RealOf(f)->pMethods->xShmBarrier(RealOf(f));
}
int ShmUnmap(sqlite3_file* f, int remove) {
  return RealOf(f)->pMethods->xShmUnmap(RealOf(f), remove);
}

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = Close,
    .xRead = Read,
    .xWrite = Write,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Unlock,
    .xCheckReservedLock = CheckReserved,
    .xFileControl = Control,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = Characteristics,
    .xShmMap = ShmMap,
    .xShmLock = ShmLock,
    .xShmBarrier = ShmBarrier,
    .xShmUnmap = ShmUnmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int Open(sqlite3_vfs*, sqlite3_filename path, sqlite3_file* file, int flags, int* out_flags) {
  auto* shim = reinterpret_cast<ShimFile*>(file);
  shim->path = path;
  shim->base.pMethods = nullptr;
  const int result = g_real->xOpen(g_real, path, RealOf(file), flags, out_flags);
  if (result != SQLITE_OK) return result;
  shim->base.pMethods = &kMethods;
  if (path != nullptr) g_shim->NoteOpen(path);
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char* path, int sync_folder) {
  const int result = g_real->xDelete(g_real, path, sync_folder);
  if (result == SQLITE_OK) g_shim->NoteDelete(path);
  return result;
}

sqlite3_vfs g_vfs;

}  // namespace

FaultVfs::FaultVfs() {
  g_shim = this;
  g_real = sqlite3_vfs_find(nullptr);
  g_vfs = *g_real;
  g_vfs.zName = "pawl-fault";
  g_vfs.szOsFile = static_cast<int>(kShimSize) + g_real->szOsFile;
  g_vfs.xOpen = Open;
  g_vfs.xDelete = Delete;
  sqlite3_vfs_register(&g_vfs, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&g_vfs);
  sqlite3_vfs_register(g_real, 1);
  g_shim = nullptr;
}

void FaultVfs::Arm(Fault fault, std::int64_t at, bool sticky) {
  fault_ = fault;
  at_ = at;
  sticky_ = sticky;
  operations_ = 0;
  fired_ = 0;
}

void FaultVfs::Disarm() {
  fault_ = Fault::kNone;
}

Fault FaultVfs::Next() {
  const std::int64_t number = operations_++;
  if (fault_ == Fault::kNone) return Fault::kNone;
  if (sticky_ ? number < at_ : number != at_) return Fault::kNone;
  ++fired_;
  return fault_;
}

void FaultVfs::Apply(std::string& content, const Change& change) {
  const auto offset = static_cast<std::size_t>(change.offset);
  if (change.truncate) {
    content.resize(std::min(content.size(), offset));
    return;
  }
  content.resize(std::max(content.size(), offset + change.bytes.size()), '\0');
  content.replace(offset, change.bytes.size(), change.bytes);
}

void FaultVfs::NoteOpen(const std::string& path) {
  if (files_.contains(path)) return;
  files_[path].synced = os::ReadFile(path).ValueOr(std::string());
}

void FaultVfs::NoteWrite(const std::string& path, std::string bytes, std::int64_t offset) {
  files_[path].unsynced.push_back({offset, std::move(bytes), false});
}

void FaultVfs::NoteTruncate(const std::string& path, std::int64_t size) {
  files_[path].unsynced.push_back({size, {}, true});
}

void FaultVfs::NoteSync(const std::string& path) {
  Tracked& file = files_[path];
  for (const Change& change : file.unsynced) Apply(file.synced, change);
  file.unsynced.clear();
}

void FaultVfs::NoteDelete(const std::string& path) {
  files_.erase(path);
}

void FaultVfs::CopyAfterPowerLoss(const os::Path& from, const os::Path& to,
                                  std::mt19937_64& rng) const {
  os::MakeFolders(to).Ignore("the copy below would fail");
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("-shm")) continue;  // shared memory is made anew after a restart
    const auto known = files_.find(entry.path().string());
    std::string content = os::ReadFile(entry.path()).ValueOr(std::string());
    if (known != files_.end()) {
      content = known->second.synced;
      for (Change change : known->second.unsynced) {
        if (rng() % 2 == 0) continue;
        // A write can be torn between sectors.
        const std::size_t sectors = change.bytes.size() / 512;
        if (sectors > 1 && rng() % 4 == 0) change.bytes.resize(512 * (rng() % sectors));
        Apply(content, change);
      }
    }
    os::WriteFileAtomic(to / name, content, {.mode = 0600, .durable = false})
        .Ignore("the test that opens the copy fails");
  }
}

}  // namespace pawl::store
