#include "tilewright/autotune/store_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "tilewright/ir/log.h"
#include "tilewright/runtime/file.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kApplication = 0x54577475;  // "TWtu", in the file's header
constexpr int64_t kSchema = 1;

// Version 1. `best` is a trial, kept up to date with each addition; `mark` is the identity of a
// trial when stores are merged; `time` in seconds.
constexpr const char* kTables = R"sql(
CREATE TABLE entry(
  id INTEGER PRIMARY KEY,
  kernel TEXT NOT NULL, code INTEGER NOT NULL, family TEXT NOT NULL,
  device TEXT NOT NULL, driver TEXT NOT NULL, nvrtc TEXT NOT NULL, specs TEXT NOT NULL,
  effort TEXT NOT NULL DEFAULT '', best INTEGER,
  UNIQUE(code, device, driver, nvrtc, specs, kernel));
CREATE INDEX entry_family ON entry(family, device);
CREATE TABLE trial(
  id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
  config TEXT NOT NULL, status TEXT NOT NULL,
  microseconds REAL NOT NULL, error REAL NOT NULL, predicted REAL NOT NULL,
  samples INTEGER NOT NULL, message TEXT NOT NULL, time INTEGER NOT NULL,
  mark INTEGER NOT NULL UNIQUE);
CREATE INDEX trial_entry ON trial(entry, config, time);
CREATE TABLE calibration(
  device TEXT NOT NULL, driver TEXT NOT NULL, text TEXT NOT NULL, time INTEGER NOT NULL,
  PRIMARY KEY(device, driver));
CREATE TABLE pick(key TEXT PRIMARY KEY, config TEXT NOT NULL, time INTEGER NOT NULL);
)sql";

// f_type of file systems that one machine alone writes, so that its processes share memory.
constexpr std::array<int64_t, 11> kLocal = {
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683E,  // btrfs
    0x01021994,  // tmpfs
    0x858458F6,  // ramfs
    0x794C7630,  // overlayfs
    0x2FC12FC1,  // zfs
    0xF2F52010,  // f2fs
    0xCA451A4E,  // bcachefs
    0x3153464A,  // jfs
    0x52654973,  // reiserfs
};

// Held by the process that replaces a damaged file.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

bool is_damaged(const std::string& path) {
  try {
    const Database db(path, Database::Mode::existing);
    return db.text("PRAGMA quick_check(1)") != "ok";
  } catch (const SqliteError& error) {
    return error.damaged();
  }
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Moves what was logged ahead into the file itself, so that a copy of that file alone has it all.
// Where others read just now, some later addition does.
void checkpoint(const Database& db) {
  try {
    db.text("PRAGMA wal_checkpoint(PASSIVE)");
  } catch (const SqliteError& error) {
    log(LogLevel::info, "results of tuning stay in the log ahead of their file: {}", error.what());
  }
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

std::string_view journal_mode(int64_t type) {
  return std::ranges::find(kLocal, type) != kLocal.end() ? "WAL" : "DELETE";
}

bool StoreFile::read(const std::function<void(const Database&)>& use) {
  level_ = LogLevel::warning;
  return attempt(Purpose::read, use);
}

bool StoreFile::write(const std::function<void(const Database&)>& use, LogLevel level) {
  level_ = level;
  if (read_only_) return give_up("it is for reading only");
  return attempt(Purpose::write, [&](const Database& db) {
    Transaction transaction(db);
    use(db);
    transaction.commit();
    checkpoint(db);
  });
}

// One more try after a damaged file was set aside.
bool StoreFile::attempt(Purpose purpose, const std::function<void(const Database&)>& use) {
  if (path_.empty()) return give_up("there is no home folder for it; set TILEWRIGHT_CACHE_DIR");
  for (int tries = 0; tries < 2; ++tries) {
    try {
      if (!connect(purpose)) return false;
      use(db_);
      return true;
    } catch (const SqliteError& error) {
      db_ = {};
      if (!error.damaged() || read_only_) return give_up(error.what());
      set_aside(error.what());
    }
  }
  return give_up("it is damaged and cannot be set aside");
}

bool StoreFile::give_up(const std::string& problem) {
  problem_ = problem;
  if (!warned_)
    log(level_, "results of tuning in {} are not used or not kept: {}",
        path_.empty() ? "the cache folder" : path_, problem);
  warned_ |= level_ == LogLevel::warning;
  return false;
}

bool StoreFile::same_file() const {
  struct stat info {};
  return db_ && stat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

// Another process may have removed or replaced the file since the last time.
bool StoreFile::connect(Purpose purpose) {
  if (process_ != getpid()) db_.abandon();
  process_ = getpid();
  if (!same_file()) {
    db_ = {};
    if (!exists(path_)) {
      problem_ = "there is no such file";
      if (purpose == Purpose::read) return false;
      runtime::make_private_folder(folder_of(path_));
    }
    open(purpose);
    if (!check_schema(purpose)) {
      db_ = {};
      return false;
    }
    if (db_.writable()) set_journal();
  }
  if (purpose == Purpose::write && !db_.writable()) return give_up("it cannot be written");
  return true;
}

void StoreFile::open(Purpose purpose) {
  using Mode = Database::Mode;
  Mode mode = read_only_ ? Mode::read_only : Mode::existing;
  if (purpose == Purpose::write) mode = Mode::create;
  Database fresh(path_, mode);
  try {
    read_header(fresh);
  } catch (const SqliteError& error) {
    // A file with a write-ahead log in a folder that only others write: nobody does now.
    if (!error.no_access() || purpose == Purpose::write || exists(path_ + "-wal")) throw;
    fresh = Database(path_, Mode::immutable);
    read_header(fresh);
  }
  fresh.execute("PRAGMA foreign_keys=ON");
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0)
    throw SqliteError(0, "it went away while it was being opened");
  device_ = info.st_dev;
  inode_ = info.st_ino;
  db_ = std::move(fresh);
}

// The first access: where a file shows that it cannot be used.
void StoreFile::read_header(const Database& fresh) { fresh.number("PRAGMA schema_version"); }

bool StoreFile::check_schema(Purpose purpose) {
  db_.execute("BEGIN");  // all three of one moment: another process may be making the tables
  const int64_t version = db_.number("PRAGMA user_version");
  const int64_t application = db_.number("PRAGMA application_id");
  const bool empty = db_.number("SELECT count(*) FROM sqlite_master") == 0;
  db_.execute("COMMIT");
  if (version == kSchema && application == kApplication) return true;
  if (application == kApplication && version > kSchema)
    return give_up(
        fmt::format("it was written by a newer Tilewright (version {} of its tables; "
                    "this one knows {})",
                    version, kSchema));
  if (!empty) return give_up("it is a database, but none of results of tuning");
  problem_ = "it is empty";
  if (purpose == Purpose::read || !db_.writable()) return false;
  set_journal();
  make_schema();
  return true;
}

void StoreFile::make_schema() const {
  Transaction transaction(db_);
  if (db_.number("PRAGMA user_version") == kSchema) return;  // another process was faster
  db_.execute(kTables);
  db_.execute(fmt::format("PRAGMA application_id={}", kApplication).c_str());
  db_.execute(fmt::format("PRAGMA user_version={}", kSchema).c_str());
  transaction.commit();
}

// Also for files that were made elsewhere and copied here. Changing the mode needs the file alone;
// while others use it, it stays as it is, and is changed when it is opened next.
void StoreFile::set_journal() const {
  struct statfs info {};
  const bool known = statfs(folder_of(path_).c_str(), &info) == 0;
  std::string_view mode = journal_mode(known ? static_cast<int64_t>(info.f_type) : 0);
  if (!journal_.empty()) mode = journal_;
  const auto is_set = [&] {
    return std::ranges::equal(db_.text("PRAGMA journal_mode"), mode, {}, toupper, toupper);
  };
  constexpr int tries = 5;
  for (int i = 0; i < tries && !is_set(); ++i) {
    try {
      db_.set_patience(std::chrono::milliseconds(20));
      db_.text(fmt::format("PRAGMA journal_mode={}", mode));
    } catch (const SqliteError& error) {
      if (error.damaged() || error.no_access()) throw;
    }
    db_.set_patience(kPatience);
  }
  // With a log that is enough for all crashes but those of the machine, which may lose the last
  // transactions and no more.
  if (mode == "WAL" && is_set()) db_.execute("PRAGMA synchronous=NORMAL");
}

void StoreFile::set_aside(const std::string& why) {
  const FileLock lock(path_ + ".lock");
  if (!exists(path_) || !is_damaged(path_)) return;  // another process has done it
  const std::string aside = fmt::format("{}.damaged-{}-{}", path_, time(nullptr), getpid());
  for (const char* part : {"-wal", "-shm", "-journal", ""})
    std::rename((path_ + part).c_str(), (aside + part).c_str());
  log(LogLevel::warning,
      "the results of tuning in {} are damaged ({}); the file is now {}, and a new one is begun",
      path_, why, aside);
}

}  // namespace tilewright::tune
