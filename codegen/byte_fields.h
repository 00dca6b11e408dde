// Tiles of numbers that are parts of bytes: weights of 8 and fewer bits, unpacked by shifts and
// masks.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tilewright/ir/facts.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// A tile of integers each of which is a part of the byte at the same place of another tile: its
/// `width` bits from bit `first` on, as a signed or unsigned number, plus `plus`.
struct ByteField {
  const ir::Value* bytes = nullptr;  ///< of i8 or u8
  int first = 0, width = 8;
  bool is_signed = false;
  int64_t plus = 0;
  /// The axis of `bytes` behind each axis of the tile.
  std::vector<int> axis = {};
};

/// What `value` is when it is such a tile: a tile of bytes that `is_held`, or casts,
/// transpositions, shifts, masks and sums with constants of one.
std::optional<ByteField> byte_field(const ir::Facts& facts, const ir::Value* value,
                                    const std::function<bool(const ir::Value*)>& is_held);

}  // namespace tilewright::codegen
