// Which layout each class of tiles gets. Internal to the layouts pass.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/layout.h"
#include "tilewright/codegen/layout_classes.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/facts.h"

namespace tilewright::codegen {

/// Axes of a tile, fastest first, with `first` in front and the others from the last to the first.
std::vector<int> order_from(int rank, int first);
/// Which dimensions of a broadcast's operand, of size 1, stretch.
std::vector<bool> stretched_dims(const ir::Op& broadcast);
/// The permutation that undoes `dims`.
std::vector<int64_t> inverse(const std::vector<int64_t>& dims);
/// Dimensions of an accessed tile that index `i` does not have.
std::vector<int64_t> other_axes(const ir::AccessView& access, size_t i, int rank);

/// Chooses one layout per class.
class LayoutChooser {
 public:
  LayoutChooser(const ir::Function& fn, const ir::Facts& facts, const Config& config,
                const Target& target);

  /// The layout of a tile's class.
  const Layout& of(const ir::Value* value) const;
  /// `layout` with a dimension of `shape` more, held by each thread.
  Layout with_axis(const Layout& layout, const ir::Shape& shape, int64_t axis) const;

 private:
  /// The wish to meet memory in runs along an axis.
  struct Anchor {
    int axis = -1;      // -1: none is contiguous
    int vector = 1;     // elements of one access
    int64_t bytes = 0;  // of an element
  };
  using Anchors = std::unordered_map<int, std::vector<Anchor>>;  // by class

  void visit(const ir::Op& op);
  void anchor(const ir::Op& op, const ir::Value* value);
  AccessFacts facts_of(const ir::Op& op) const;
  /// The axis of what is fetched along which it lies in memory; -1 when none is known.
  int fetched_axis(const ir::Op& fetch) const;
  void anchor_fetch(const ir::Op& op);
  void choose_dots();
  /// Operands that dots take from registers.
  void choose_operands();
  /// What a network sorts: chosen by its axis rather than by memory, as elements move often.
  void choose_sorted();
  /// Whether something that `value` is computed from is fetched from where it lies along `axis`.
  bool fetched_along(const ir::Value* value, int64_t axis) const;
  /// Whether a thread's rows of the product had better be neighbours: its first operand is in
  /// registers, and comes from memory where rows are neighbours.
  bool neighbouring_rows(const ir::Op& dot) const;
  Layout layout_of_dot(const ir::Op& dot) const;
  int64_t elements(int cls) const;
  void choose_rest();
  /// Whether one of the results is of the class.
  bool makes(const ir::Op& op, int cls) const;
  /// The class's layout from the other side of a join or pick; nothing when that has none.
  std::optional<Layout> derived_by_axis(const ir::Op& op, int cls) const;
  /// From a related class that has a layout; from memory when there is none.
  Layout derived(int cls) const;
  /// Whether a dot makes what is of the class of `value`.
  bool is_product(const ir::Value* value) const;
  /// Whether a warp's accesses to global memory of tiles of the class fill sectors in `layout`.
  bool fills_sectors(int cls, const Layout& layout) const;
  bool known(const ir::Value* value) const;
  Layout anchored(int cls) const;

  const ir::Function& fn_;
  const ir::Facts& facts_;
  const Config& config_;
  const Target& target_;
  LayoutClasses classes_;
  std::vector<std::optional<Layout>> chosen_;
  Anchors anchors_;  // of global memory
  Anchors fetches_;  // of rings
  std::vector<const ir::Op*> dots_, relations_, gathers_;
};

}  // namespace tilewright::codegen
