// The configs that may make sense for a kernel on a target.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// The same numbers for the same seed on every machine; drawn from by SearchSpace alone through
/// its own arithmetic, as the standard's distributions differ between libraries.
using Rng = std::mt19937_64;

/// One choice, for reports: a tile axis ("rows") or a field of Config ("stages").
struct SpaceAxis {
  std::string name;
  std::vector<std::string> values;  ///< as they stand in JSON
};

/// Derived from the kernel: tile sizes from the size and the use of each axis, units and copies
/// from what the target has, and choices that change nothing for the kernel left out. Borrows the
/// function.
class SearchSpace {
 public:
  static SearchSpace of(const ir::Function& fn, const Target& target);

  /// How many configs pass check_config; counted the first time it is asked for.
  int64_t size() const;
  /// How many combinations of values there are, before any check.
  double combinations() const;
  const std::vector<SpaceAxis>& axes() const;

  /// Whether every field has one of its values and check_config passes.
  bool contains(const Config& config) const;
  /// A config of the space. Where none passes the checks, default_config's.
  Config sample(Rng& rng) const;
  /// Configs of the space with one field at a neighbouring value, or two tile sizes changed in
  /// opposite ways, in a fixed order. The config need not be of the space itself.
  std::vector<Config> neighbours(const Config& config) const;
  /// The fastest by the model, best first, no two of which differ only in what the model hardly
  /// sees; default_config's is among them when it is of the space.
  std::vector<Config> ranked(const Calibration& calibration, size_t count) const;

  const ir::Function& function() const;
  const Target& target() const;

 private:
  struct State;
  explicit SearchSpace(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace tilewright::tune
