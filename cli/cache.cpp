// `tilewright cache`: what is known from tuning, and the files it is kept in.
#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/cache_text.h"
#include "cli/commands.h"
#include "tilewright/autotune/pins.h"
#include "tilewright/autotune/store.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/cache_size.h"
#include "tilewright/runtime/cubin_cache.h"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;
using tune::Store;

// What the subcommands take.
struct CacheOptions {
  std::string store;  // empty: the user's
  std::string entry;  // a number of `ls`, or the name of a kernel
  tune::EntryFilter filter;
  bool json = false, all = false, compiled = false;
  std::string output;              // of export
  std::vector<std::string> files;  // of import and merge

  void add_store(CLI::App& command) {
    command.add_option("--store", store, "File or folder of another store than yours");
  }
  void add_filter(CLI::App& command, const char* what) {
    command.add_option("entry", entry, what);
    command.add_option("--kernel", filter.kernel, "Entries of this kernel only");
    command.add_option("--device", filter.device, "Entries of this GPU only, by its name");
  }
  void add_json(CLI::App& command) { command.add_flag("--json", json, "As JSON"); }

  Store open(Store::Mode mode) const {
    std::string path = store.empty() ? Store::user_path() : store;
    if (fs::is_directory(path)) path = (fs::path(path) / "tuning.sqlite").string();
    return Store(path, mode);
  }
  // The filter with the positional argument taken into it.
  tune::EntryFilter chosen() const {
    tune::EntryFilter chosen = filter;
    int64_t id = 0;
    const char* end = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data(), end, id);
    if (!entry.empty() && error == std::errc() && stop == end)
      chosen.id = id;
    else if (!entry.empty())
      chosen.kernel = entry;
    return chosen;
  }
  bool chooses() const {
    return !entry.empty() || !filter.kernel.empty() || !filter.device.empty();
  }
};

std::vector<tune::Entry> entries_of(Store& store, const CacheOptions& options) {
  return chosen_entries(store, options.chosen());
}

void list(const CacheOptions& options) {
  Store store = options.open(Store::Mode::read_only);
  const std::vector<tune::Entry> entries = entries_of(store, options);
  if (options.json)
    fmt::print("{}\n", entries_json(entries));
  else if (entries.empty())
    fmt::print("nothing was tuned yet, as far as {} knows\n", store.path());
  else
    fmt::print("{}", entries_text(entries));
}

void show(const CacheOptions& options) {
  Store store = options.open(Store::Mode::read_only);
  std::vector<EntryTrials> all;
  for (tune::Entry& entry : entries_of(store, options)) {
    std::vector<tune::Trial> trials = store.trials(entry.id);
    all.push_back({std::move(entry), std::move(trials)});
  }
  fmt::print("{}", options.json ? trials_json(all) + "\n" : trials_text(all));
}

void remove(const CacheOptions& options) {
  if (!options.chooses() && !options.all && !options.compiled)
    throw CLI::ValidationError("rm", "say which entries, or --all, or --compiled");
  if (options.chooses() || options.all) {
    Store store = options.open(Store::Mode::read_write);
    entries_of(store, options);
    const int64_t removed = store.remove(options.chosen());
    fmt::print("removed {} {}\n", removed, removed == 1 ? "entry" : "entries");
  }
  if (options.compiled) {
    const int64_t before = kept(runtime::cache_folder()).bytes;
    runtime::trim_cache(runtime::cache_folder(), 0);
    fmt::print("removed {} of compiled kernels\n", size_text(before));
  }
}

void export_pins(const CacheOptions& options) {
  Store store = options.open(Store::Mode::read_only);
  const std::string text = tune::to_json(tune::pins_of(entries_of(store, options)));
  if (options.output.empty()) {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(options.output, std::ios::binary);
  file << text;
  file.close();
  if (!file) raise(ErrorId::pin_file, {}, options.output, "the file cannot be written");
}

void import_pins(const CacheOptions& options) {
  Store store = options.open(Store::Mode::read_write);
  size_t count = 0;
  for (const std::string& file : options.files)
    for (const tune::Pin& pin : tune::read_pins(file)) {
      tune::Trial trial;
      trial.config = pin.config;
      trial.microseconds = pin.microseconds;
      trial.error = pin.error;
      trial.message = "imported from " + fs::path(file).filename().string();
      if (!store.add(pin.key, {&trial, 1}, pin.effort))
        raise(ErrorId::store_file, {}, store.path(), "it cannot be written");
      ++count;
    }
  fmt::print("took over {} config{} into {}\n", count, count == 1 ? "" : "s", store.path());
}

void merge(const CacheOptions& options) {
  Store store = options.open(Store::Mode::read_write);
  for (const std::string& file : options.files) {
    CacheOptions other;
    other.store = file;
    Store theirs = other.open(Store::Mode::read_only);
    const int64_t taken = store.merge(theirs);
    fmt::print("took over {} trials of {}\n", taken, theirs.path());
  }
}

void path(const CacheOptions& options) {
  CachePaths paths;
  paths.folder = runtime::cache_folder();
  for (const Store* store : Store::all()) paths.stores.push_back(store->path());
  paths.compiled = kept(paths.folder);
  paths.capacity = runtime::cache_capacity();
  fmt::print("{}", options.json ? paths_json(paths) + "\n" : paths_text(paths));
}

// Adds a subcommand with options of its own.
template <class Set>
void add(CLI::App& cache, const char* name, const char* what, void (*run)(const CacheOptions&),
         const Set& set) {
  CLI::App* command = cache.add_subcommand(name, what);
  const auto options = std::make_shared<CacheOptions>();
  set(*command, *options);
  command->callback([options, run] { run(*options); });
}

}  // namespace

void add_cache(CLI::App& app) {
  CLI::App* cache = app.add_subcommand("cache", "What is known from tuning, and where it is kept");
  cache->require_subcommand(1);
  add(*cache, "ls", "The entries: a kernel, its tensors, a GPU, and the best config", list,
      [](CLI::App& command, CacheOptions& options) {
        options.add_filter(command, "Number or kernel; all if left out");
        options.add_store(command);
        options.add_json(command);
      });
  add(*cache, "show", "Every trial of entries", show, [](CLI::App& command, CacheOptions& options) {
    options.add_filter(command, "Number or kernel; all if left out");
    options.add_store(command);
    options.add_json(command);
  });
  add(*cache, "rm", "Removes entries, or compiled kernels", remove,
      [](CLI::App& command, CacheOptions& options) {
        options.add_filter(command, "Number or kernel");
        options.add_store(command);
        command.add_flag("--all", options.all, "All entries");
        command.add_flag("--compiled", options.compiled, "All compiled kernels");
      });
  add(*cache, "export", "Writes the best configs as a file for kernel.pin", export_pins,
      [](CLI::App& command, CacheOptions& options) {
        options.add_filter(command, "Number or kernel; all if left out");
        options.add_store(command);
        command.add_option("-o,--output", options.output, "File; else standard output");
      });
  add(*cache, "import", "Takes over configs that export wrote", import_pins,
      [](CLI::App& command, CacheOptions& options) {
        command.add_option("files", options.files, "Files of export")->required();
        options.add_store(command);
      });
  add(*cache, "merge", "Takes over the trials of other stores", merge,
      [](CLI::App& command, CacheOptions& options) {
        command
            .add_option("files", options.files, "Stores: files, or folders with a tuning.sqlite")
            ->required();
        options.add_store(command);
      });
  add(*cache, "path", "Where all of it is", path,
      [](CLI::App& command, CacheOptions& options) { options.add_json(command); });
}

}  // namespace tilewright::cli
