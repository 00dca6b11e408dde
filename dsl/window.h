// What a Tensor handle shows of a parameter of the kernel: all of it, or a view.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilewright/dsl/loops.h"
#include "tilewright/ir/node.h"

namespace tilewright::dsl {

/// A position, known when tracing or an i64 scalar of the kernel.
struct Position {
  int64_t known = 0;
  const ir::Value* value = nullptr;  ///< null: `known` is the position

  static Position of(const Bound& bound, Loc loc);
  bool is(int64_t position) const { return value == nullptr && known == position; }
  friend bool operator==(const Position&, const Position&) = default;
};

/// Where dimension `dim` of a parameter ends.
Position end_of(const ir::Function& fn, const ir::Param& param, int dim);

/// One dimension of a view: positions begin .. end of a dimension of the parameter.
struct WindowDim {
  int dim = 0;
  Position begin, end;
  std::optional<int64_t> size;  ///< how many there are, when known
  bool clipped = false;         ///< `end` may come before begin + size
  /// Where the begin may lie before a view this one was made of: its begin.
  std::optional<Position> lower = std::nullopt;
};

/// A view of a parameter. Dimensions of the parameter that no dimension of the view shows are at
/// one position.
struct Window {
  std::vector<WindowDim> dims;              ///< by dimension of the view
  std::vector<std::optional<Position>> at;  ///< by dimension of the parameter
  uint64_t frame = 0;                       ///< the innermost loop body it was made in

  static Window all(const ir::Function& fn, const ir::Param& param);
};

/// The sum and the lesser of two positions, at the trace's place.
Position add(const Position& x, const Position& y, Loc loc);
Position minimum(const Position& x, const Position& y, Loc loc);
/// As an i64 scalar.
const ir::Value* scalar_of(const Position& position, Loc loc);

}  // namespace tilewright::dsl
