// Block sizes for axes that have none.
#include <algorithm>
#include <bit>
#include <optional>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter.h"
#include "tilewright/runtime/interpreter_program.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright {
namespace {

using ir::OpKind;

/// The value of an i64 scalar that depends on arguments only; none when it takes more to know it.
std::optional<int64_t> known(const ir::Function& fn, const InterpreterArgs& args,
                             const ir::Value* value) {
  if (const ir::Param* param = fn.param_of(value)) {
    const auto* scalar = std::get_if<int64_t>(&args.at(param - fn.params.data()));
    return scalar ? std::optional(*scalar) : std::nullopt;
  }
  if (value->def == nullptr || value->type != ir::Type::scalar(DType::i64)) return std::nullopt;
  const ir::Op& op = *value->def;
  if (op.kind == OpKind::constant) return op.integer(ir::AttrKey::value);
  if (op.kind == OpKind::dim) {
    const ir::Param* param = fn.param_of(op.operand(0));
    const auto& tensor = std::get<HostTensor>(args.at(param - fn.params.data()));
    return tensor.spec.sizes.at(op.integer(ir::AttrKey::axis));
  }
  if (op.kind != OpKind::binary) return std::nullopt;
  const auto x = known(fn, args, op.operand(0)), y = known(fn, args, op.operand(1));
  if (!x || !y) return std::nullopt;
  return std::get<int64_t>(numeric::evaluate(op.fn(), DType::i64, *x, *y));
}

/// What is known of an axis's uses.
struct Use {
  int64_t extent = 0;    ///< the longest range known
  bool unknown = false;  ///< another range is not known
  int64_t most = 0;      ///< the largest block that suits its loops; 0: no loop walks it, so that
                         ///< one block must span the range
};

/// Sizes at which a tile's elements fit the caches and outweigh the cost of an operation.
int64_t suitable(bool parallel, size_t axes) {
  if (axes == 1) return parallel ? 256 : 32;
  if (axes == 2) return parallel ? 64 : 32;
  return 16;
}

std::vector<Use> find_uses(const ir::Function& fn, const InterpreterArgs& args) {
  std::vector<Use> uses(fn.axes.size());
  const auto range = [&](int64_t axis, const ir::Value* begin, const ir::Value* limit) -> Use& {
    const auto from = known(fn, args, begin), to = known(fn, args, limit);
    Use& use = uses.at(axis);
    use.unknown |= !from || !to;
    if (from && to) use.extent = std::max(use.extent, *to - *from);
    return use;
  };
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.kind == OpKind::slice && op.shape(ir::AttrKey::dim).at(0).is_block())
      range(op.shape(ir::AttrKey::dim)[0].axis, op.operand(0), op.operand(1));
    if (op.kind != OpKind::tile_loop) return;
    const ir::LoopView loop(op);
    const auto& axes = op.integers(ir::AttrKey::axes);
    const int64_t size = suitable(op.integer_or(ir::AttrKey::parallel, 0) != 0, axes.size());
    for (size_t d = 0; d < axes.size(); ++d) {
      Use& use = range(axes[d], loop.begins[d], loop.limits[d]);
      use.most = std::max(use.most, size);
    }
  });
  return uses;
}

int64_t default_block(const Use& use) {
  const int64_t whole = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(use.extent, 1)));
  if (use.most > 0) return use.unknown ? use.most : std::min(whole, use.most);
  internal_check(!use.unknown, "no block size can be chosen for an axis of unknown length");
  return whole;
}

}  // namespace

std::vector<int64_t> choose_blocks(const ir::Function& fn, const InterpreterArgs& args,
                                   const InterpreterOptions& options) {
  const auto is_free = [](const ir::Axis& axis) { return axis.block == 0; };
  const auto free = std::count_if(fn.axes.begin(), fn.axes.end(), is_free);
  const auto& given = options.block;
  if (!given.empty()) {
    const bool positive = std::all_of(given.begin(), given.end(), [](int64_t b) { return b > 0; });
    if (std::ssize(given) != free || !positive)
      raise(ErrorId::interpreter_blocks, fn.loc, free, interpreter::list_of(given));
  }
  const std::vector<Use> uses = given.empty() ? find_uses(fn, args) : std::vector<Use>{};
  std::vector<int64_t> blocks;
  size_t next = 0;
  for (size_t axis = 0; axis < fn.axes.size(); ++axis) {
    internal_check(!is_free(fn.axes[axis]) || !fn.axes[axis].pinned, "a pinned axis has no block");
    if (!is_free(fn.axes[axis]))
      blocks.push_back(fn.axes[axis].block);
    else
      blocks.push_back(given.empty() ? default_block(uses[axis]) : given[next++]);
  }
  return blocks;
}

}  // namespace tilewright
