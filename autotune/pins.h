// Configs that are checked in beside a program: a file of JSON that `tilewright cache export`
// writes and KernelHandle::pin reads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/autotune/store.h"
#include "tilewright/autotune/tune_key.h"

namespace tilewright::tune {

/// A config for one kernel, one shape and one kind of GPU.
struct Pin {
  TuneKey key;  ///< the driver and NVRTC only tell where it comes from
  Config config;
  double microseconds = 0, error = 0;  ///< as measured; 0 when that is not known
  std::string effort = {};
  std::string file = {};  ///< that it was read from
};

/// The text of such a file: one pin a line, sorted, so that differences are easy to read.
std::string to_json(std::span<const Pin> pins);
/// Reads it. Raises pin_file, naming `file`.
std::vector<Pin> parse_pins(std::string_view json, const std::string& file);
/// Reads a file. Raises pin_file.
std::vector<Pin> read_pins(const std::string& file);

/// The best of every entry, as pins.
std::vector<Pin> pins_of(std::span<const Entry> entries);

/// The pin for a key: that of the same kernel name, device and specs; of several, the one whose
/// code is the same, else the last. Null when there is none.
const Pin* find_pin(std::span<const Pin> pins, const TuneKey& key);

}  // namespace tilewright::tune
