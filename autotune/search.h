// The search for the best config: from the top of the model's ranking, by a surrogate that learns
// how the measurements differ from the model.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/evaluate.h"
#include "tilewright/autotune/space.h"
#include "tilewright/autotune/store.h"

namespace tilewright::tune {

/// How thorough a search is.
enum class Effort : uint8_t { quick, full };
std::string_view to_string(Effort effort);

/// How far a search is.
struct Progress {
  int tried = 0, failed = 0;
  double best_us = 0, best_error = 0;  ///< 0 while nothing was measured
  double seconds = 0, budget = 0;
  std::string_view phase;  ///< "compiling", "searching", "comparing the best"
};

struct SearchOptions {
  Effort effort = Effort::quick;
  double budget = 0;  ///< seconds of Evaluator::seconds; 0: the effort's own
  uint64_t seed = 1;
  std::vector<Config> first = {};  ///< tried before all others, e.g. what similar shapes use
  std::function<void(const Progress&)> progress = {};
  std::stop_token stop = {};  ///< ends the search; what was measured is kept
};

/// The time after which the search had found something better than before.
struct Improvement {
  double seconds = 0;
  int tried = 0;
  double microseconds = 0;
};

/// Why a search ended.
enum class Ending : uint8_t {
  separated,  ///< the best is ahead of all others by more than the noise
  tied,       ///< those ahead of all others do not differ by more than what counts
  exhausted,  ///< every config was tried
  budget,     ///< the time was up
  stopped,    ///< by the stop token
  nothing,    ///< no config ran
};
std::string_view to_string(Ending ending);

struct SearchResult {
  std::vector<Trial> trials;   ///< all, in the order they were tried
  int best = -1;               ///< position in trials; -1: none ran
  std::vector<int> finalists;  ///< positions of those that were compared last, the best first
  std::vector<Improvement> improvements;
  Ending ending = Ending::nothing;
  double seconds = 0;
  int64_t space = 0;   ///< configs that could have been tried
  std::string device;  ///< Evaluator::device
  Effort effort = Effort::quick;
  uint64_t seed = 1;

  const Trial& winner() const { return trials.at(static_cast<size_t>(best)); }
};

/// Times that differ by less than this part count as equal.
inline constexpr double kEqualTimes = 0.003;
/// Seconds of a search that is given no budget.
constexpr double default_budget(Effort effort) { return effort == Effort::quick ? 8 : 50; }

/// Searches. The same seed, space and answers of the evaluator give the same result. Never raises
/// for a config that fails.
SearchResult search(const SearchSpace& space, const Calibration& calibration, Evaluator& evaluator,
                    const SearchOptions& options);

}  // namespace tilewright::tune
