// Tuning results on disk: every trial of every search, kept in a file of SQLite that many processes
// may use at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/autotune/tune_key.h"
#include "tilewright/codegen/config.h"

namespace tilewright::tune {

/// One config that was tried.
struct Trial {
  enum class Status : uint8_t { ok, failed_compile, wrong, crashed, timed_out, refused };
  Config config;
  Status status = Status::ok;
  double microseconds = 0;   ///< measured; 0 unless ok
  double error = 0;          ///< half the width of its 95% interval, microseconds
  double predicted = 0;      ///< by the model, microseconds
  int samples = 0;           ///< that were measured
  std::string message = {};  ///< why it failed
  int64_t unix_time = 0;     ///< seconds; 0: when it is added
};

std::string_view to_string(Trial::Status status);

/// The config to use for a key, and what is known of it.
struct Best {
  Config config;
  double microseconds = 0, error = 0;
  std::string effort;   ///< of the most thorough search made for that key: "quick", "full"
  TuneKey key;          ///< that it was measured for
  double distance = 0;  ///< from the key that was asked for; see tune::distance
  std::string origin;   ///< the file it comes from
};

/// An entry of the store: a key with what was found.
struct Entry {
  int64_t id = 0;  ///< in this file, for people
  TuneKey key;
  int64_t trials = 0, failed = 0;
  std::string effort;
  int64_t unix_time = 0;     ///< of the last trial
  std::optional<Best> best;  ///< none when every trial failed
};

/// Which entries are meant; empty fields mean all.
struct EntryFilter {
  std::optional<int64_t> id = {};
  std::string kernel = {}, device = {};
  bool matches(const Entry& entry) const;
};

/// A store. Opening never fails and makes no file: without a file there is nothing to find, and the
/// first addition makes it. A damaged file is set aside with a warning; a place that cannot be
/// written means that additions are lost, with one warning; a file of a newer Tilewright is left
/// alone. Thread-safe. Other processes may read and add at the same time; one that is killed while
/// adding loses what it had not finished, and nothing else.
class Store {
 public:
  enum class Mode { read_write, read_only };

  explicit Store(std::string path, Mode mode = Mode::read_write);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// The file of the user's store: tuning.sqlite in runtime::cache_folder(); empty without a home.
  static std::string user_path();
  /// The user's store; one for the process.
  static Store& user();
  /// The user's store, then those of TILEWRIGHT_CONFIG_PATH (files, or folders that hold a
  /// tuning.sqlite, separated by colons; read only) in its order.
  static std::vector<Store*> all();

  const std::string& path() const;  ///< empty where there is no home folder

  /// Adds trials in one transaction, after which they survive a crash of the process. `effort` is
  /// that of the search that is done with them: "quick", "full"; empty while it goes on, and for
  /// trials that were no search. False when they could not be kept.
  bool add(const TuneKey& key, std::span<const Trial> trials, std::string_view effort);

  /// The best config of this very key: of each config's last trial the least upper end of its
  /// interval. A config that was wrong once is never the best.
  std::optional<Best> best(const TuneKey& key);
  /// The best configs of keys of the same family and device, nearest shape first, at most `count`
  /// shapes. The key itself counts too, and also with another driver or NVRTC.
  std::vector<Best> nearest(const TuneKey& key, size_t count = 8);

  /// All entries, by kernel, device and shape.
  std::vector<Entry> entries(const EntryFilter& filter = {});
  /// The trials of an entry, oldest first.
  std::vector<Trial> trials(int64_t entry);
  /// Removes entries with their trials; how many. Raises store_file when it cannot.
  int64_t remove(const EntryFilter& filter);

  /// Takes over the trials of another store that this one does not have; how many. Raises
  /// store_file when that is no store, or this one cannot be written.
  int64_t merge(Store& other);

  /// What a calibration of the machine found, as kept by set_calibration.
  std::optional<std::string> calibration(std::string_view device, std::string_view driver);
  bool set_calibration(std::string_view device, std::string_view driver, std::string_view text);

  /// A config that the model chose, as kept by set_pick for a key of its maker's: it takes longer
  /// to compute than to read.
  std::optional<Config> pick(std::string_view key);
  /// Also forgets picks that are months old. A place that cannot be written is no warning.
  void set_pick(std::string_view key, const Config& config);

  /// Empty when the file is sound, else what SQLite's integrity_check says, or why it cannot be
  /// asked.
  std::string check();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::tune
