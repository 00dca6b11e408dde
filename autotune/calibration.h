// How fast a GPU is: what the time model multiplies counts with.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"

namespace tilewright::tune {

/// Rates of a whole device.
struct Calibration {
  std::string device;            ///< "NVIDIA H200", or the architecture's name
  bool measured = false;         ///< on that device; else typical figures
  double copy_bytes_per_us = 0;  ///< of a copy, reads and writes together
  double l2_bytes_per_us = 0;    ///< read from L2 by all multiprocessors
  double l2_bytes = 0;           ///< size of the L2 cache
  double clocks_per_us = 0;      ///< of a multiprocessor, while it is not held back by power
  double launch_us = 0;          ///< from one kernel of a graph to the next
  /// Operations a microsecond by unit and operand dtype: "wgmma bf16", "mma tf32", "fma f32".
  std::map<std::string, double> operations_per_us;

  /// Typical figures of the architecture, scaled to the target's number of multiprocessors.
  static Calibration typical(const Target& target);

  /// The rate at which `unit` multiplies operands named by `type` ("bf16", "tf32", ..); where the
  /// unit is not listed, that of f32 by fma.
  double rate(MatrixUnit unit, std::string_view type) const;

  friend bool operator==(const Calibration&, const Calibration&) = default;
};

/// A JSON object with every field.
std::string to_json(const Calibration& calibration);
/// Reads it. Raises calibration_json.
Calibration parse_calibration(std::string_view json);

/// Measures a GPU with four kernels of a fraction of a second in all: copy, reads that hit L2, the
/// target's fastest unit, and empty launches. What is not measured is typical, other matrix units
/// scaled by what the measured one reached. Raises the errors of compiling and launching.
Calibration measure_calibration(int device);

/// The CUDA text of those kernels for a target, by symbol; for tests.
std::map<std::string, std::string> calibration_kernels(const Target& target);

}  // namespace tilewright::tune
