#include "tilewright/autotune/store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

#include "tilewright/autotune/store_file.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/cubin_cache.h"

namespace tilewright::tune {
namespace {

constexpr std::array<std::string_view, 6> kStatus = {"ok",      "failed_compile", "wrong",
                                                     "crashed", "timed_out",      "refused"};

constexpr std::string_view kFileName = "tuning.sqlite";

// How thorough a search was.
int rank_of(std::string_view effort) { return effort == "full" ? 2 : effort == "quick" ? 1 : 0; }

int64_t now() { return static_cast<int64_t>(time(nullptr)); }

// What tells a trial from all others, on this machine and elsewhere. Nothing is kept between calls,
// which the children of a fork would share.
int64_t fresh_mark() {
  std::random_device device;
  return static_cast<int64_t>(uint64_t{device()} << 32 | device());
}

Trial::Status status_of(const std::string& text) {
  const auto* found = std::ranges::find(kStatus, text);
  return found != kStatus.end() ? static_cast<Trial::Status>(found - kStatus.begin())
                                : Trial::Status::refused;
}

// The config of a row; nothing when it is none that this version knows.
std::optional<Config> config_of(const std::string& json) {
  try {
    return parse_config(json);
  } catch (const Error& error) {
    log(LogLevel::info, "a stored config is not used: {}", error.what());
    return std::nullopt;
  }
}

constexpr std::string_view kKeyColumns = "kernel, code, family, device, driver, nvrtc, specs";

TuneKey key_of(const Statement& row, int first) {
  TuneKey key;
  key.kernel = row.text(first);
  key.code = std::bit_cast<uint64_t>(row.integer(first + 1));
  key.family = row.text(first + 2);
  key.machine = {row.text(first + 3), row.text(first + 4), row.text(first + 5)};
  key.specs = parse_specs(row.text(first + 6), "the store of tuning results");
  return key;
}

int64_t code_bits(const TuneKey& key) { return std::bit_cast<int64_t>(key.code); }

// The id of a key's entry, or 0.
int64_t find_entry(const Database& db, const TuneKey& key) {
  Statement query = db.prepare(
      "SELECT id FROM entry WHERE code=? AND device=? AND driver=? AND nvrtc=? AND specs=? "
      "AND kernel=?");
  query.bind(code_bits(key)).bind(key.machine.device).bind(key.machine.driver);
  query.bind(key.machine.nvrtc).bind(to_string(key.specs)).bind(key.kernel);
  return query.step() ? query.integer(0) : 0;
}

// The id of a key's entry, made if it is missing, with at least this effort.
int64_t make_entry(const Database& db, const TuneKey& key, std::string_view effort) {
  int64_t id = find_entry(db, key);
  if (id == 0) {
    Statement insert = db.prepare(
        "INSERT INTO entry(kernel, code, family, device, driver, nvrtc, specs) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)");
    insert.bind(key.kernel).bind(code_bits(key)).bind(key.family).bind(key.machine.device);
    insert.bind(key.machine.driver).bind(key.machine.nvrtc).bind(to_string(key.specs)).step();
    id = db.last_insert();
  }
  Statement known = db.prepare("SELECT effort FROM entry WHERE id=?");
  known.bind(id).step();
  if (rank_of(effort) > rank_of(known.text(0)))
    db.prepare("UPDATE entry SET effort=? WHERE id=?").bind(effort).bind(id).step();
  return id;
}

// Whether the trial was new.
bool insert_trial(const Database& db, int64_t entry, const Trial& trial, std::string_view config,
                  int64_t mark) {
  Statement insert = db.prepare(
      "INSERT OR IGNORE INTO trial(entry, config, status, microseconds, error, predicted, samples, "
      "message, time, mark) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(entry).bind(config).bind(to_string(trial.status));
  insert.bind(trial.microseconds).bind(trial.error).bind(trial.predicted);
  insert.bind(int64_t{trial.samples}).bind(trial.message).bind(trial.unix_time).bind(mark).step();
  return db.changes() > 0;
}

// See Store::best: the trials of entry ?1 that may be it, the best first.
constexpr std::string_view kBestTrials =
    "FROM trial t WHERE t.entry=?1 AND t.status='ok' AND NOT EXISTS("
    "  SELECT 1 FROM trial o WHERE o.entry=t.entry AND o.config=t.config "
    "  AND (o.status='wrong' OR (o.time, o.id) > (t.time, t.id))) "
    "ORDER BY t.microseconds + t.error, t.id";

// After trials were added.
void update_best(const Database& db, int64_t entry) {
  db.prepare(fmt::format("UPDATE entry SET best=(SELECT t.id {} LIMIT 1) WHERE id=?1", kBestTrials))
      .bind(entry)
      .step();
}

// From a row of config, microseconds, error; nothing when the config is none.
std::optional<Best> best_in(const Statement& row, int first) {
  std::optional<Config> config = config_of(row.text(first));
  if (!config) return std::nullopt;
  Best best;
  best.config = std::move(*config);
  best.microseconds = row.real(first + 1);
  best.error = row.real(first + 2);
  return best;
}

// The best of an entry whose `best` has a config that this version does not know.
std::optional<Best> other_best(const Database& db, int64_t entry) {
  Statement query =
      db.prepare(fmt::format("SELECT t.config, t.microseconds, t.error {}", kBestTrials));
  query.bind(entry);
  while (query.step())
    if (auto best = best_in(query, 0)) return best;
  return std::nullopt;
}

// The best of a row that begins with kBestColumns, of kBestTables.
constexpr std::string_view kBestColumns =
    "entry.id, entry.effort, best.id, best.config, best.microseconds, best.error";
constexpr std::string_view kBestTables = "entry LEFT JOIN trial best ON best.id=entry.best";
constexpr int kAfterBest = 6;

std::optional<Best> best_of(const Database& db, const Statement& row) {
  if (row.integer(2) == 0) return std::nullopt;
  std::optional<Best> best = best_in(row, 3);
  if (!best) best = other_best(db, row.integer(0));
  if (best) best->effort = row.text(1);
  return best;
}

constexpr std::string_view kTrialColumns =
    "config, status, microseconds, error, predicted, samples, message, time";

Trial trial_of(const Statement& row) {
  Trial trial;
  if (auto config = config_of(row.text(0))) trial.config = std::move(*config);
  trial.status = status_of(row.text(1));
  trial.microseconds = row.real(2);
  trial.error = row.real(3);
  trial.predicted = row.real(4);
  trial.samples = static_cast<int>(row.integer(5));
  trial.message = row.text(6);
  trial.unix_time = row.integer(7);
  return trial;
}

// From a row of kBestColumns, the counts of trials and failures, the last time, and kKeyColumns.
Entry entry_of(const Database& db, const Statement& row) {
  Entry entry;
  entry.id = row.integer(0);
  entry.effort = row.text(1);
  entry.trials = row.integer(kAfterBest);
  entry.failed = row.integer(kAfterBest + 1);
  entry.unix_time = row.integer(kAfterBest + 2);
  entry.key = key_of(row, kAfterBest + 3);
  entry.best = best_of(db, row);
  if (entry.best) entry.best->key = entry.key;
  return entry;
}

// A row of another store, to be taken over.
struct Row {
  Trial trial;
  std::string config;  // as it was written: that of a newer version stays as it is
  int64_t mark = 0;
};

std::vector<Row> rows_of(const Database& db, int64_t entry) {
  Statement query = db.prepare(
      fmt::format("SELECT {}, mark FROM trial WHERE entry=? ORDER BY id", kTrialColumns));
  query.bind(entry);
  std::vector<Row> rows;
  while (query.step()) rows.push_back({trial_of(query), query.text(0), query.integer(8)});
  return rows;
}

// A file, or the store of a folder.
std::string store_in(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored)
             ? (std::filesystem::path(path) / kFileName).string()
             : path;
}

// The stores that this process has opened; never closed, since threads may end late.
Store& shared_store(const std::string& path, Store::Mode mode) {
  struct Stores {
    std::mutex mutex;
    std::map<std::pair<std::string, Store::Mode>, std::unique_ptr<Store>> known;
  };
  static auto* const stores = new Stores;
  std::lock_guard lock(stores->mutex);
  std::unique_ptr<Store>& store = stores->known[{path, mode}];
  if (!store) store = std::make_unique<Store>(path, mode);
  return *store;
}

}  // namespace

std::string_view to_string(Trial::Status status) { return kStatus.at(static_cast<size_t>(status)); }

bool EntryFilter::matches(const Entry& entry) const {
  return (!id || *id == entry.id) && (kernel.empty() || kernel == entry.key.kernel) &&
         (device.empty() || device == entry.key.machine.device);
}

struct Store::State {
  State(std::string path, bool read_only) : file(std::move(path), read_only) {}
  std::mutex mutex;
  StoreFile file;

  bool read(const std::function<void(const Database&)>& use) {
    std::lock_guard lock(mutex);
    return file.read(use);
  }
  bool write(const std::function<void(const Database&)>& use, LogLevel level = LogLevel::warning) {
    std::lock_guard lock(mutex);
    return file.write(use, level);
  }
};

Store::Store(std::string path, Mode mode)
    : state_(std::make_unique<State>(std::move(path), mode == Mode::read_only)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

std::string Store::user_path() {
  const std::string folder = runtime::cache_folder();
  return folder.empty() ? folder : (std::filesystem::path(folder) / kFileName).string();
}

Store& Store::user() { return shared_store(user_path(), Mode::read_write); }

std::vector<Store*> Store::all() {
  std::vector<Store*> stores = {&user()};
  const char* sites = std::getenv("TILEWRIGHT_CONFIG_PATH");
  std::string_view rest = sites != nullptr ? sites : "";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0)
      stores.push_back(
          &shared_store(store_in(std::string(rest.substr(0, colon))), Mode::read_only));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return stores;
}

const std::string& Store::path() const { return state_->file.path(); }

bool Store::add(const TuneKey& key, std::span<const Trial> trials, std::string_view effort) {
  return state_->write([&](const Database& db) {
    const int64_t entry = make_entry(db, key, effort);
    for (Trial trial : trials) {
      if (trial.unix_time == 0) trial.unix_time = now();
      const std::string config = to_json(trial.config);
      while (!insert_trial(db, entry, trial, config, fresh_mark())) continue;
    }
    update_best(db, entry);
  });
}

std::optional<Best> Store::best(const TuneKey& key) {
  std::optional<Best> best;
  state_->read([&](const Database& db) {
    best = std::nullopt;
    const int64_t entry = find_entry(db, key);
    Statement query =
        db.prepare(fmt::format("SELECT {} FROM {} WHERE entry.id=?", kBestColumns, kBestTables));
    if (query.bind(entry).step()) best = best_of(db, query);
  });
  if (best) {
    best->key = key;
    best->origin = path();
  }
  return best;
}

std::vector<Best> Store::nearest(const TuneKey& key, size_t count) {
  std::vector<Best> found;
  state_->read([&](const Database& db) {
    found.clear();
    Statement query = db.prepare(fmt::format("SELECT {}, {} FROM {} WHERE family=? AND device=?",
                                             kBestColumns, kKeyColumns, kBestTables));
    query.bind(key.family).bind(key.machine.device);
    while (query.step()) {
      TuneKey other = key_of(query, kAfterBest);
      const double apart = distance(key.specs, other.specs);
      std::optional<Best> best = std::isfinite(apart) ? best_of(db, query) : std::nullopt;
      if (!best) continue;
      best->key = std::move(other);
      best->distance = apart;
      best->origin = path();
      found.push_back(std::move(*best));
    }
  });
  std::ranges::stable_sort(found, [&](const Best& a, const Best& b) {
    const bool same_a = a.key.machine == key.machine, same_b = b.key.machine == key.machine;
    return a.distance != b.distance ? a.distance < b.distance : same_a > same_b;
  });
  if (found.size() > count) found.resize(count);
  return found;
}

std::vector<Entry> Store::entries(const EntryFilter& filter) {
  std::vector<Entry> found;
  state_->read([&](const Database& db) {
    found.clear();
    Statement query = db.prepare(
        fmt::format("SELECT {}, (SELECT count(*) FROM trial WHERE entry=entry.id), "
                    "(SELECT count(*) FROM trial WHERE entry=entry.id AND status<>'ok'), "
                    "(SELECT max(time) FROM trial WHERE entry=entry.id), {} FROM {} "
                    "ORDER BY kernel, device, specs, entry.id",
                    kBestColumns, kKeyColumns, kBestTables));
    while (query.step()) {
      Entry entry = entry_of(db, query);
      if (!filter.matches(entry)) continue;
      if (entry.best) entry.best->origin = path();
      found.push_back(std::move(entry));
    }
  });
  return found;
}

std::vector<Trial> Store::trials(int64_t entry) {
  std::vector<Trial> found;
  state_->read([&](const Database& db) {
    found.clear();
    Statement query = db.prepare(
        fmt::format("SELECT {} FROM trial WHERE entry=? ORDER BY time, id", kTrialColumns));
    query.bind(entry);
    while (query.step()) found.push_back(trial_of(query));
  });
  return found;
}

int64_t Store::remove(const EntryFilter& filter) {
  std::vector<int64_t> ids;
  for (const Entry& entry : entries(filter)) ids.push_back(entry.id);
  if (ids.empty()) return 0;
  int64_t removed = 0;
  const bool done = state_->write([&](const Database& db) {
    removed = 0;
    for (const int64_t id : ids) {
      db.prepare("DELETE FROM entry WHERE id=?").bind(id).step();
      removed += db.changes();
    }
  });
  if (!done) raise(ErrorId::store_file, {}, path(), state_->file.problem());
  return removed;
}

int64_t Store::merge(Store& other) {
  std::vector<std::pair<Entry, std::vector<Row>>> all;
  const bool readable = other.state_->read([&](const Database& db) {
    all.clear();
    Statement query = db.prepare(fmt::format("SELECT id, effort, {} FROM entry", kKeyColumns));
    while (query.step()) {
      Entry entry;
      entry.id = query.integer(0);
      entry.effort = query.text(1);
      entry.key = key_of(query, 2);
      auto rows = rows_of(db, entry.id);
      all.emplace_back(std::move(entry), std::move(rows));
    }
  });
  if (!readable) raise(ErrorId::store_file, {}, other.path(), other.state_->file.problem());
  int64_t taken = 0;
  const bool written = state_->write([&](const Database& db) {
    taken = 0;
    for (const auto& [entry, rows] : all) {
      const int64_t id = make_entry(db, entry.key, entry.effort);
      for (const Row& row : rows) taken += insert_trial(db, id, row.trial, row.config, row.mark);
      update_best(db, id);
    }
  });
  if (!written) raise(ErrorId::store_file, {}, path(), state_->file.problem());
  return taken;
}

std::optional<std::string> Store::calibration(std::string_view device, std::string_view driver) {
  std::optional<std::string> text;
  state_->read([&](const Database& db) {
    Statement query = db.prepare("SELECT text FROM calibration WHERE device=? AND driver=?");
    query.bind(device).bind(driver);
    if (query.step()) text = query.text(0);
  });
  return text;
}

bool Store::set_calibration(std::string_view device, std::string_view driver,
                            std::string_view text) {
  return state_->write([&](const Database& db) {
    db.prepare("INSERT OR REPLACE INTO calibration(device, driver, text, time) VALUES(?, ?, ?, ?)")
        .bind(device)
        .bind(driver)
        .bind(text)
        .bind(now())
        .step();
  });
}

std::optional<Config> Store::pick(std::string_view key) {
  std::optional<Config> config;
  state_->read([&](const Database& db) {
    Statement query = db.prepare("SELECT config FROM pick WHERE key=?");
    if (query.bind(key).step()) config = config_of(query.text(0));
  });
  return config;
}

void Store::set_pick(std::string_view key, const Config& config) {
  constexpr int64_t kept = 90 * 86400;  // seconds
  state_->write(
      [&](const Database& db) {
        db.prepare("DELETE FROM pick WHERE time<?").bind(now() - kept).step();
        db.prepare("INSERT OR REPLACE INTO pick(key, config, time) VALUES(?, ?, ?)")
            .bind(key)
            .bind(to_json(config))
            .bind(now())
            .step();
      },
      LogLevel::info);
}

std::string Store::check() {
  std::string report;
  const bool readable = state_->read([&](const Database& db) {
    report = db.text("PRAGMA integrity_check");
    if (report == "ok") report.clear();
  });
  return readable ? report : state_->file.problem();
}

}  // namespace tilewright::tune
