// The file behind a store: opened when it is needed, made, checked, and set aside when damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tilewright/autotune/sqlite.h"
#include "tilewright/ir/log.h"

namespace tilewright::tune {

/// How SQLite makes transactions atomic on a file system: "WAL" where its index can be shared
/// memory of the processes (file systems that are known to be local), else "DELETE". `type` is
/// f_type of statfs.
std::string_view journal_mode(int64_t type);

/// Not thread-safe; Store locks.
class StoreFile {
 public:
  /// `journal` overrides what journal_mode says of the file system.
  StoreFile(std::string path, bool read_only, std::string journal = {})
      : path_(std::move(path)), read_only_(read_only), journal_(std::move(journal)) {}

  const std::string& path() const { return path_; }

  /// Runs `use` on the open file. False when there is no file, or when it cannot be used: then
  /// `problem` says why, and a warning was given once. A damaged file is set aside; `use` may run
  /// twice then.
  bool read(const std::function<void(const Database&)>& use);
  /// The same in one transaction on a file that is made if it is missing. `level`: of the warning,
  /// where what cannot be kept is no loss.
  bool write(const std::function<void(const Database&)>& use, LogLevel level = LogLevel::warning);

  /// Why the last read or write returned false.
  const std::string& problem() const { return problem_; }

 private:
  enum class Purpose { read, write };
  bool attempt(Purpose purpose, const std::function<void(const Database&)>& use);
  bool connect(Purpose purpose);
  bool same_file() const;
  void open(Purpose purpose);
  void read_header(const Database& fresh);
  bool check_schema(Purpose purpose);
  void make_schema() const;
  void set_journal() const;
  void set_aside(const std::string& why);
  bool give_up(const std::string& problem);

  std::string path_;
  bool read_only_ = false;
  std::string journal_;
  Database db_;
  uint64_t device_ = 0, inode_ = 0;  // of the file that is open
  int64_t process_ = 0;              // that opened it
  std::string problem_;
  bool warned_ = false;
  LogLevel level_ = LogLevel::warning;  // of problems, just now
};

}  // namespace tilewright::tune
