// What `tilewright cache` finds and prints: tables for people and JSON for programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/store.h"

namespace tilewright::cli {

/// The entries that a filter matches. Raises cache_entry where it names some and there are none.
std::vector<tune::Entry> chosen_entries(tune::Store& store, const tune::EntryFilter& filter);

/// A table with a line for each entry.
std::string entries_text(std::span<const tune::Entry> entries);
/// A list of objects.
std::string entries_json(std::span<const tune::Entry> entries);

/// An entry with all its trials.
struct EntryTrials {
  tune::Entry entry;
  std::vector<tune::Trial> trials;
};

/// For each entry what it is about, and a table of its trials, the fastest first, then those that
/// failed with their reasons.
std::string trials_text(std::span<const EntryTrials> all);
std::string trials_json(std::span<const EntryTrials> all);

/// Compiled kernels on disk.
struct KeptKernels {
  int64_t files = 0, bytes = 0;
};
KeptKernels kept(const std::string& folder);

/// Where things are.
struct CachePaths {
  std::string folder;
  std::vector<std::string> stores;  ///< the user's first
  KeptKernels compiled;
  int64_t capacity = 0;
};
std::string paths_text(const CachePaths& paths);
std::string paths_json(const CachePaths& paths);

/// "1.5 GiB"
std::string size_text(int64_t bytes);

}  // namespace tilewright::cli
