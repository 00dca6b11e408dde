// What `tilewright tune` is asked to do, read from text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "tilewright/autotune/tune.h"

namespace tilewright::cli {

/// "20s", "1.5m", "500ms", "20": seconds. Raises argument_syntax.
double parse_duration(std::string_view text);
/// "0,2" or "all" (of `count`): GPUs, each once. Raises argument_syntax or no_such_device.
std::vector<int> parse_gpus(std::string_view text, int count);

/// Part `index` (from 1) of `count` of a list.
struct Shard {
  int index = 1, count = 1;
  /// Elements that belong to it: every count-th, so that neighbours, which take about as long, are
  /// spread evenly.
  bool holds(size_t element) const {
    return element % static_cast<size_t>(count) == static_cast<size_t>(index - 1);
  }
};
/// "2/8". Raises argument_syntax.
Shard parse_shard(std::string_view text);

/// Arguments of one search, and the text they were given as.
struct TuneShape {
  std::vector<Argument> arguments;
  std::string text;
};
/// One shape a line, as on the command line but without quotes; empty lines and what follows a #
/// are left out. Raises argument_syntax, naming file and line.
std::vector<TuneShape> read_shapes(const std::string& file);

/// What runs the candidates.
struct TuneDevice {
  Device device = {};
  Target target = {};
  bool simulated = false;
};
/// "simulated", "simulated:sm_80", "cuda:1", "emulate:sm_80"; empty: the default GPU. Raises
/// unknown_device, unknown_target, or what is missing to use a GPU.
TuneDevice parse_tune_device(std::string_view text);

}  // namespace tilewright::cli
