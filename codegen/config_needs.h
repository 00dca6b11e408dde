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

/// Registers for indices, pointers and addresses.
inline constexpr int64_t kAddressing = 24;

struct ConfigNeeds {
  int64_t registers = 0;    ///< per thread: tiles kept over iterations, fragments, some others
  int64_t instruction = 0;  ///< of these, what a single instruction takes
  /// Per thread: tiles that outlive an operation for which threads wait for each other, such as a
  /// reduction, and so are there whole. Those of long rows may have to be spilled.
  int64_t lasting = 0;
  int64_t shared_bytes = 0;  ///< of rings, without padding
  /// Of stores whose elements change hands on the way: those of a matrix unit's half results, which
  /// a thread holds in runs too short for whole sectors.
  int64_t exchange_bytes = 0;
};

ConfigNeeds estimate_needs(const Config& config, const ir::Function& fn, const Target& target);

/// Registers of a thread of each role where one warpgroup copies for the others. A block is
/// launched with as many for all of its threads; the copying warpgroup gives its own to those that
/// compute (PTX ISA, setmaxnreg: multiples of 8, 24 to 256).
struct RegisterSplit {
  int producer = 0, consumer = 0;  ///< 0: as launched
};

/// Warps that compute.
inline int consumer_warps(const Config& config) { return config.warps * config.turns; }

/// Nothing moves where threads have enough of them from the start.
RegisterSplit split_registers(const Config& config);

/// Registers a thread is launched with when the config's blocks are to be resident.
int64_t registers_launched(const Config& config);

/// Registers a thread that computes may have then.
int64_t registers_available(const Config& config);

/// Whether threads have as many as they need. What a single instruction takes they must be launched
/// with: that is what the assembler counts on.
bool has_registers(const ConfigNeeds& needs, const Config& config);

/// Shared memory of a block, in bytes, when the config's blocks are to be resident.
int64_t shared_available(const Config& config, const Target& target);

}  // namespace tilewright::codegen
