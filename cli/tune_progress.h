// How far searches are, on the terminal.
#pragma once

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "tilewright/autotune/search.h"

namespace tilewright::cli {

/// One line that changes on a terminal; elsewhere, and for several searches at a time, a line
/// whenever something better was found. Thread-safe.
class TuneProgress {
 public:
  /// `live`: the line may be rewritten.
  TuneProgress(std::FILE* to, bool live) : to_(to), live_(live) {}

  void update(const std::string& name, const tune::Progress& progress);
  /// Clears the line, so that others can be printed.
  void finish();

 private:
  std::FILE* to_;
  bool live_;
  std::mutex mutex_;
  size_t shown_ = 0;                    // characters on the line
  std::map<std::string, double> best_;  // last printed
};

/// "tried 43, failed 2, best 12.34 +- 0.05 us, 5 s left".
std::string progress_text(const tune::Progress& progress);

}  // namespace tilewright::cli
