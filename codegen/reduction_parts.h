// What reductions by an operator and by a function of the kernel have in common: how the elements
// of reduced axes are spread over registers, lanes and warps. Internal to codegen.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tilewright/codegen/lowering.h"

namespace tilewright::codegen {

/// The axes of a reduction of a tile of layout `from`; the result's layout is `to`.
struct ReducedAxes {
  const Layout& from;
  Layout to;
  std::vector<int64_t> axes;

  bool reduced(int axis) const;
};

/// Splits the loop nest over registers: kept axes outside, where `start` is emitted, reduced ones
/// inside, where `element` is. `kept` is a register position of the result, `index` one of the
/// operand.
void for_each_kept(Lowering& lowering, const ReducedAxes& reduction,
                   const std::function<void(const RegIndex& kept)>& start,
                   const std::function<void(const RegIndex& index, const RegIndex& kept)>& element);

/// Lane distances whose holders have different elements of a reduced axis, merged into ranges
/// [first, limit) of powers of two.
std::vector<std::pair<int64_t, int64_t>> lane_ranges(const ReducedAxes& reduction);

/// Warps that hold different elements of the reduced axes: their count, a thread's number among
/// them, and the condition that one thread writes for each group.
struct WarpPart {
  int64_t count = 1;
  ExprRef number;
  ExprRef writer;
};
WarpPart warp_part_of(Lowering& lowering, const ReducedAxes& reduction);

/// A buffer for one element of `result` from each warp, and the index of an element in it.
std::string declare_warp_buffer(Lowering& lowering, const std::string& name,
                                const ReducedAxes& reduction, const ir::Value* result,
                                int64_t warps);
std::vector<ExprRef> warp_buffer_index(Lowering& lowering, const ReducedAxes& reduction,
                                       const ir::Value* result, const ExprRef& warp,
                                       const RegIndex& kept);

/// The function of a combine or scan, emitted where it is applied. Internal to codegen.
class CombineFunction {
 public:
  CombineFunction(Lowering& lowering, const ir::Op& op);

  size_t count() const { return tiles_.size(); }
  DType dtype(size_t i) const { return tiles_[i]->type.dtype; }
  const ir::Value* tile(size_t i) const { return tiles_[i]; }
  ExprRef identity(size_t i) const;
  /// targets = f(left, right), all at once. Operands are variables, elements or constants.
  void apply(const std::vector<ExprRef>& left, const std::vector<ExprRef>& right,
             const std::vector<ExprRef>& targets) const;
  /// New variables, one for each value; `named` after the tile.
  std::vector<ExprRef> declare_each(const std::vector<ExprRef>& values, std::string_view suffix,
                                    bool is_const = true) const;
  /// The value of each in another lane: `helper` is tw::shuffle or tw::shuffle_xor.
  std::vector<ExprRef> from_lane(const char* helper, const std::vector<ExprRef>& values,
                                 const ExprRef& lane) const;

 private:
  Lowering& lowering_;
  const ir::Op& op_;
  std::vector<const ir::Value*> tiles_, identities_, lefts_, rights_;
};

}  // namespace tilewright::codegen
