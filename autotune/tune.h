// Tuning one kernel for one set of arguments on one device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/search.h"
#include "tilewright/runtime/arguments.h"

namespace tilewright::tune {

/// Contents of one parameter while candidates run.
struct TuneData {
  /// Copied once when tuning begins, never written: a tensor on the host or a GPU with the
  /// parameter's dtype and sizes. Null: random contents.
  const TensorView* view = nullptr;
  uint64_t bits = 0;  ///< a scalar's memory
};

/// What is tuned, and how.
struct TuneRequest {
  /// The traced kernel, its results' specs included. Borrowed.
  const ir::Function* fn = nullptr;
  Target target = {};
  /// A GPU, or an emulated one (then times are those of the emulation).
  Device device = Device::cuda(0);
  /// One for each parameter, in the order of the function's; empty: all random (integers small) and
  /// scalars 1. Results' contents do not matter.
  std::vector<TuneData> data = {};
  std::vector<std::vector<int>> alias_groups = {};  ///< parameters that are one memory
  Calibration calibration = {};                     ///< Calibration::typical where not known
  SearchOptions search = {};
  int compile_threads = 0;  ///< 0: as the machine has
  /// Use the simulated device of this seed in place of `device`.
  std::optional<uint64_t> simulated = {};
};

/// Searches for the best config. Needs no CUDA context in this process: a worker process compiles
/// nothing and runs everything. Raises worker_missing, or what tracing and compiling raise for
/// every config alike; a result without a best config says why in its trials.
SearchResult tune_kernel(const TuneRequest& request);

/// The best config alone. Raises tune_failed when none ran.
Config tuned_config(const TuneRequest& request);

/// A shell command that shows a wrong result again.
std::string reproducer(const ir::Function& fn, const Target& target, const Trial& trial);

}  // namespace tilewright::tune
