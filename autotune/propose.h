// Which configs a search tries next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/space.h"
#include "tilewright/autotune/store.h"
#include "tilewright/autotune/surrogate.h"
#include "tilewright/autotune/time_model.h"

namespace tilewright::tune {

/// Local search around the fastest configs, crosses between them and a few random ones, ranked by
/// the model corrected by what was measured. Gives no config twice. Deterministic.
class Proposer {
 public:
  Proposer(const SearchSpace& space, const Calibration& calibration, uint64_t seed);

  /// The top of the model's ranking.
  std::vector<Config> ranked(size_t count) const;
  /// Microseconds by the model.
  double predicted(const Config& config) const;
  /// Marks a config as given; false when it was, or when no kernel of the space could use it.
  bool claim(const Config& config);
  /// Takes in all trials so far.
  void learn(std::span<const Trial> trials);
  /// At most `count` configs, and none when nothing is left to propose.
  std::vector<Config> propose(size_t count);

 private:
  struct Candidate;
  std::vector<Config> pool();
  void add(const Config& config, std::vector<Config>& pool, std::set<std::string>& seen) const;
  void take(const std::vector<Config>& configs, size_t count, std::vector<Config>& proposed);
  std::vector<Config> deeper(const std::vector<Config>& configs) const;
  std::vector<Config> uncovered() const;
  std::optional<Config> space_config(const ConfigFields& fields) const;
  std::optional<Config> cross(const Config& a, const Config& b);
  double score(const Config& config) const;
  double failure_rate(const ConfigFields& fields) const;

  const SearchSpace& space_;
  const Calibration& calibration_;
  TimeModel model_;
  Rng rng_;
  std::set<std::string> given_;
  std::vector<Config> elite_;  // the fastest, best first
  Surrogate surrogate_{{}};
  std::map<std::pair<std::string, std::string>, std::pair<int, int>> outcomes_;  // tried, failed
};

}  // namespace tilewright::tune
