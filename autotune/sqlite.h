// Files of SQLite: connections and statements that close themselves, errors as exceptions.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace tilewright::tune {

/// A call of SQLite that failed. Never leaves Store.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// Whether the file is no database, or a broken one.
  bool damaged() const;
  /// Whether the file or its folder cannot be opened or written.
  bool no_access() const;

 private:
  int code_;
};

/// A statement with its parameters bound in order: Statement(db, "..").bind(a).bind(b).step().
class Statement {
 public:
  Statement(sqlite3* db, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::string_view text);
  Statement& bind(int64_t value);
  Statement& bind(double value);
  /// Whether there is a (next) row.
  bool step();
  /// Ready to be bound and run again.
  Statement& reset();

  // Columns of the row, from 0.
  std::string text(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;

 private:
  void check(int code) const;
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// How long a connection waits for others.
inline constexpr std::chrono::seconds kPatience{30};

/// A connection. Several processes may have one to the same file; who must wait does so for
/// kPatience before that is an error.
class Database {
 public:
  enum class Mode {
    create,    ///< to read and write, made if it is missing
    existing,  ///< to write where that is allowed
    read_only,
    immutable,  ///< read only, on the promise that nobody writes meanwhile; needs no locks
  };

  Database() = default;
  Database(const std::string& path, Mode mode);
  Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Database& operator=(Database&& other) noexcept;
  ~Database();

  /// Forgets the connection without closing it: in the child of a fork it is the parent's.
  void abandon() { db_ = nullptr; }

  explicit operator bool() const { return db_ != nullptr; }
  bool writable() const;
  /// How long to wait for others before that is an error.
  void set_patience(std::chrono::milliseconds time) const;
  void execute(const char* sql) const;
  Statement prepare(std::string_view sql) const { return {db_, sql}; }
  /// The one number that a query gives.
  int64_t number(std::string_view sql) const;
  /// The one text that a query gives.
  std::string text(std::string_view sql) const;
  int64_t changes() const;      ///< rows of the last statement
  int64_t last_insert() const;  ///< id of the last row inserted

 private:
  sqlite3* db_ = nullptr;
};

/// Everything until commit() happens, or nothing.
class Transaction {
 public:
  explicit Transaction(const Database& db) : db_(db) { db_.execute("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& db_;
  bool open_ = true;
};

}  // namespace tilewright::tune
