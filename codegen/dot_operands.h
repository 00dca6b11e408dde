// Where a dot's operands come from, and where the unit that multiplies them takes them from.
#pragma once

#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/layout.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// What a dot reads an operand from.
enum class OperandHome {
  copied,     ///< shared memory, where a load put it as it is stored
  staged,     ///< shared memory, to where it is written once it is computed
  registers,  ///< the registers in which it is computed
};

/// Where operand 0 (a) or 1 (b) of a dot lies before it is placed. A matrix unit takes what is
/// loaded and then computed (scaled, cast) from registers where it can: mma both operands, wgmma
/// the first. What is loaded but stored in an order that the unit does not read goes through
/// registers too. Casts on the way to CUDA cores are made where the operand is read.
OperandHome operand_home(const ir::Function& fn, const ir::Op& dot, int operand,
                         const Config& config, const Target& target);

/// Whether elements of an operand that are neighbours along k are neighbours in memory; true of
/// what the kernel computes, which is staged so.
bool is_stored_by_k(const ir::Function& fn, const ir::Op& dot, int operand);

/// Whether wgmma can read the operand from shared memory as it is stored: 16-bit elements along
/// either dimension, others along k only.
bool wgmma_reads_as_stored(const ir::Function& fn, const ir::Op& dot, int operand);

/// The load that `value` is a transposition of (and, `through_casts`, a cast); null when it is
/// computed.
const ir::Op* load_behind(const ir::Value* value, bool through_casts);

/// The loads whose elements an operand is computed from, one of each load for one of the operand.
/// Tiles that are broadcast to it are not among them.
std::vector<const ir::Op*> loads_behind(const ir::Value* operand);

/// Who holds which elements of an operand that a dot takes from registers. `accumulator` is the
/// layout of the dot's result.
Layout operand_layout(const ir::Function& fn, const ir::Op& dot, int operand,
                      const Layout& accumulator, const Config& config, const Target& target);

/// Whether a value is a tile in shared memory.
bool is_shared(const ir::Value* value);

}  // namespace tilewright::codegen
