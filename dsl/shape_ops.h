// Making tiles and changing their shape.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "tilewright/dsl/operand.h"

namespace tilewright {

namespace dsl {

/// One dimension of a tile: that of a loop's tile, or a size known when tracing.
class TileDim {
 public:
  TileDim(const TileIndex& index, Loc loc = Loc::current());
  TileDim(Size size) : size_(size) {}
  template <std::integral T>
  TileDim(T size) : size_(size) {}

  const ir::Value* slice() const { return slice_; }  ///< null for a size
  Size size() const { return size_; }

 private:
  const ir::Value* slice_ = nullptr;
  Size size_;
};

}  // namespace dsl

/// `tw::zeros({rows, cols}, tw::f32)`. Errors: bad_size, index_kind.
Tile zeros(std::initializer_list<dsl::TileDim> dims, DType dtype, Loc loc = Loc::current());
/// Errors: literal_dtype when `value` does not fit the dtype.
Tile full(std::initializer_list<dsl::TileDim> dims, const dsl::Literal& value, DType dtype,
          Loc loc = Loc::current());
Tile zeros_like(const Tile& tile, Loc loc = Loc::current());
Tile full_like(const Tile& tile, const dsl::Literal& value, Loc loc = Loc::current());
/// 0, 1, .. along one dimension.
Tile arange(const dsl::TileDim& dim, DType dtype = DType::i64, Loc loc = Loc::current());

/// Result dimension i is dimension dims[i] of x. Errors: bad_axis.
Tile permute(const Operand& x, std::initializer_list<int> dims, Loc loc = Loc::current());
/// The transpose of a tile of two dimensions. Errors: shape_mismatch.
Tile transpose(const Operand& x, Loc loc = Loc::current());
/// Row-major. Dimensions of a loop's tile stay in their order; sizes known when tracing between two
/// of them may be split, merged, made and left out. Errors: bad_reshape.
Tile reshape(const Operand& x, std::initializer_list<dsl::TileDim> dims, Loc loc = Loc::current());
/// Tiles of one dtype and shape along a new dimension; -1 is the last of the result.
/// `tw::join(a, b)` is the stack of two along a new last one. Errors: shape_mismatch,
/// dtype_mismatch, bad_axis.
Tile stack(const std::vector<Operand>& tiles, int axis = 0, Loc loc = Loc::current());
Tile join(const Operand& x, const Operand& y, Loc loc = Loc::current());
/// `auto [a, b] = tw::split(x)`: x[.., 0] and x[.., 1] of a last dimension of size 2.
/// Errors: split_dim.
std::pair<Tile, Tile> split(const Operand& x, Loc loc = Loc::current());
/// Errors: shape_mismatch.
Tile broadcast_to(const Operand& x, std::initializer_list<dsl::TileDim> dims,
                  Loc loc = Loc::current());

}  // namespace tilewright
