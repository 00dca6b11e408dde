// Every choice that does not change a kernel's meaning, as one value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright {

/// How operands travel from global to shared memory.
enum class CopyKind { sync, cp_async, tma };
/// What multiplies.
enum class MatrixUnit { fma, mma, wgmma };

/// A schedule. As JSON one line, e.g.
/// {"block":[128,128,16],"warps":8,"stages":3,"copy":"cp_async","matrix":"fma","group":8}
struct Config {
  /// Tile sizes of the kernel's unpinned axes, in the order written.
  std::vector<int64_t> block = {};
  std::vector<int> order = {};  ///< grid axes, slowest first; empty: as written
  int group = 1;                ///< tiles of the first grid axis walked together, for L2 reuse
  int warps = 4;                ///< warps per block
  int stages = 2;               ///< slots of each ring of staged operands
  CopyKind copy = CopyKind::cp_async;
  MatrixUnit matrix = MatrixUnit::fma;
  int vector = 16;        ///< widest global access, bytes: 4, 8 or 16
  int blocks_per_sm = 1;  ///< resident blocks the register allocation must leave room for
  bool persistent = false;
  /// Groups of `warps` warps that share a persistent block's tiles, one after the other: one
  /// multiplies while another stores.
  int turns = 1;
  int cluster = 1;
  int split_k = 1;
  /// Operands of products whose rows are no whole 16 bytes are copied to workspace first, with rows
  /// that are.
  bool repitch = false;
  /// Rows taken whole (tw::all) that are longer than this are walked in loops over chunks of this
  /// many elements, and read once for each reduction that needs the one before; 0: never.
  int reduction_loop = 0;

  /// Values of the kernel's own tunables (tw::tunable), by name; the others have their default.
  std::map<std::string, int64_t> tunables = {};

  friend bool operator==(const Config&, const Config&) = default;
};

std::string_view to_string(CopyKind kind);
std::string_view to_string(MatrixUnit unit);

/// One line of JSON with every field that differs from the default, block always.
std::string to_json(const Config& config);
/// Reads that line; absent fields keep their defaults. Raises config_json, config_field (naming the
/// field, what was expected and what was found) or config_unknown_field.
Config parse_config(std::string_view json);

/// Checks a config against a traced kernel and a target before anything is generated. Raises
/// config_field (a value no kernel could use), config_block_count, config_unsupported,
/// config_threads, config_tunable_unknown, config_tunable_value, config_registers or config_shared;
/// the latter two by estimates that are on the
/// low side. Each names the field or the config, the need and the limit.
void check_config(const Config& config, const ir::Function& fn, const Target& target);

/// A config that passes check_config and is decent for any kernel and shape, from its axes,
/// operands and sizes. Where the kernel itself pins more than fits, so that no config can pass, the
/// one that asks for the least.
Config default_config(const ir::Function& fn, const Target& target);

}  // namespace tilewright
