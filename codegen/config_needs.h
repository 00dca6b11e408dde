// What a config asks of the hardware, estimated from tile IR before anything is generated.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// The block size of every axis of `fn`: pinned, or the config's. The config has one size for each
/// axis that is not pinned.
std::vector<int64_t> bind_axes(const Config& config, const ir::Function& fn);

/// Elements of a tile when axes have these block sizes; huge ones saturate.
int64_t tile_elements(const ir::Shape& shape, const std::vector<int64_t>& blocks);

struct ConfigNeeds {
  int64_t registers = 0;     ///< per thread: tiles kept over iterations, fragments, some others
  int64_t shared_bytes = 0;  ///< of rings, without padding
  /// Of stores whose elements change hands on the way: those of a matrix unit's half results, which
  /// a thread holds in runs too short for whole sectors.
  int64_t exchange_bytes = 0;
};

ConfigNeeds estimate_needs(const Config& config, const ir::Function& fn, const Target& target);

/// Registers a thread may have when the config's blocks are to be resident.
int64_t registers_available(const Config& config);

}  // namespace tilewright::codegen
