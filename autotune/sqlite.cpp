#include "tilewright/autotune/sqlite.h"

#include <sqlite3.h>

#include <cstdio>

namespace tilewright::tune {
namespace {

[[noreturn]] void fail(sqlite3* db, int code) {
  throw SqliteError(code, db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
}

// The path as a URI, where its characters may have a meaning.
std::string uri_of(const std::string& path, const char* query) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    const bool special = c == '?' || c == '#' || c == '%';
    char code[4] = {};
    if (special) std::snprintf(code, sizeof code, "%%%02x", static_cast<unsigned char>(c));
    uri += special ? std::string(code) : std::string(1, c);
  }
  return uri + query;
}

int flags_of(Database::Mode mode) {
  constexpr int common = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (mode == Database::Mode::create) return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  return common | (mode == Database::Mode::existing ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
}

}  // namespace

bool SqliteError::damaged() const {
  const int primary = code_ & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

bool SqliteError::no_access() const {
  const int primary = code_ & 0xff;
  return primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY || primary == SQLITE_PERM;
}

Statement::Statement(sqlite3* db, std::string_view sql) : db_(db) {
  check(sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(db_, sqlite3_extended_errcode(db_));
}

Statement& Statement::bind(std::string_view text) {
  // An empty view may have no address, which would mean null.
  const char* begin = text.data() != nullptr ? text.data() : "";
  check(sqlite3_bind_text(statement_, ++bound_, begin, static_cast<int>(text.size()),
                          SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind(int64_t value) {
  check(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_, ++bound_, value));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(db_, sqlite3_extended_errcode(db_));
  return code == SQLITE_ROW;
}

Statement& Statement::reset() {
  check(sqlite3_reset(statement_));
  bound_ = 0;
  return *this;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

Database::Database(const std::string& path, Mode mode) {
  const std::string uri = uri_of(path, mode == Mode::immutable ? "?immutable=1" : "");
  const int code = sqlite3_open_v2(uri.c_str(), &db_, flags_of(mode), nullptr);
  if (code == SQLITE_OK) {
    sqlite3_extended_result_codes(db_, 1);
    set_patience(kPatience);
    return;
  }
  const std::string message = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  sqlite3_close_v2(std::exchange(db_, nullptr));
  throw SqliteError(code, message);
}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}

Database::~Database() { sqlite3_close_v2(db_); }

bool Database::writable() const { return sqlite3_db_readonly(db_, "main") == 0; }

void Database::execute(const char* sql) const {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(db_, sqlite3_extended_errcode(db_));
}

void Database::set_patience(std::chrono::milliseconds time) const {
  sqlite3_busy_timeout(db_, static_cast<int>(time.count()));
}

int64_t Database::number(std::string_view sql) const {
  Statement query(db_, sql);
  return query.step() ? query.integer(0) : 0;
}

std::string Database::text(std::string_view sql) const {
  Statement query(db_, sql);
  return query.step() ? query.text(0) : std::string();
}

int64_t Database::changes() const { return sqlite3_changes(db_); }
int64_t Database::last_insert() const { return sqlite3_last_insert_rowid(db_); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    db_.execute("ROLLBACK");
  } catch (const SqliteError&) {  // NOLINT: some errors have rolled back already
  }
}

void Transaction::commit() {
  db_.execute("COMMIT");
  open_ = false;
}

}  // namespace tilewright::tune
