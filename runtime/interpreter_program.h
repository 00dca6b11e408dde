// Tile IR made ready to run: slots instead of values, handlers instead of operation kinds, sizes
// instead of block symbols. Internal to the interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewright/ir/node.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::interpreter {

class Frame;
struct Step;

using Handler = void (*)(const Step& step, Frame& frame);
using Extents = std::vector<int64_t>;

/// A region, ready to run.
struct Block {
  std::vector<Step> steps;
  std::vector<int> args;    ///< slots
  std::vector<int> yields;  ///< slots of the closing yield's operands
};

/// An operation, ready to run.
struct Step {
  const ir::Op* op = nullptr;
  Handler run = nullptr;
  std::vector<int> in, out;  ///< slots of operands and results
  std::vector<Block> regions;
  Extents in_extents;   ///< of the first operand that is a tile or scalar
  Extents out_extents;  ///< of the first result
  /// For each dimension of the first operand, the slot of the slice whose limit bounds it, or -1.
  std::vector<int> limits;
  /// Of an access by index tiles: for each dimension of the accessed tile that the index tiles
  /// have, the slot of the slice whose end bounds its lanes; -1 for the others.
  std::vector<int> lanes;
  numeric::UnaryKernel unary = nullptr;      ///< of unary and cast
  numeric::BinaryKernel binary = nullptr;    ///< of binary, compare, reduce and atomic
  numeric::TernaryKernel ternary = nullptr;  ///< of fma

  DType in_dtype() const { return op->operand(0)->type.dtype; }
  DType out_dtype() const { return op->result(0)->type.dtype; }
};

int64_t count(const Extents& extents);
std::string list_of(const std::vector<int64_t>& values);  ///< "1,2,3"

/// A whole function, ready to run with the given block sizes. Borrows the function.
struct Program {
  Program(const ir::Function& function, std::vector<int64_t> blocks);

  int slot(const ir::Value* value) const;
  int64_t extent(const ir::Dim& dim) const;
  Extents extents(const ir::Shape& shape) const;

  const ir::Function& fn;
  std::vector<int64_t> blocks;  ///< of every axis
  std::unordered_map<const ir::Value*, int> slots;
  Block body;
};

/// The function that runs operations of this kind.
Handler handler_of(ir::OpKind kind);

/// Throws InternalError naming the operation, its position in the user's source, and `what`.
[[noreturn]] void fail(const Step& step, const std::string& what);

// One handler per operation.
#define TW_OP(name, operands, attributes, regions, effect) \
  void run_##name(const Step& step, Frame& frame);
#include "tilewright/ir/ops.def"
#undef TW_OP

}  // namespace tilewright::interpreter
