// Tensors in global memory: parameters and results of a kernel.
#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include "tilewright/dsl/loops.h"
#include "tilewright/dsl/tile.h"

namespace tilewright {

namespace dsl {

/// An index of a Tensor: the tile of a loop, an integer scalar, a C++ integer, or tw::all. Reads
/// its variable at once.
class TensorIndex {
 public:
  enum class Kind { tile, scalar, all };

  TensorIndex(const TileIndex& index, Loc loc = Loc::current());
  TensorIndex(const Tile& scalar, Loc loc = Loc::current());
  TensorIndex(All, Loc loc = Loc::current()) : kind_(Kind::all), loc_(loc) {}
  TensorIndex(Size position, Loc loc = Loc::current())
      : kind_(Kind::scalar), position_(position), loc_(loc) {}
  template <std::integral T>
  TensorIndex(T position, Loc loc = Loc::current())
      : kind_(Kind::scalar), position_(position), loc_(loc) {}

  Kind kind() const { return kind_; }
  const ir::Value* value() const { return value_; }  ///< null for tw::all and C++ integers
  int64_t position() const { return position_.value(); }
  Loc loc() const { return loc_; }

 private:
  Kind kind_;
  const ir::Value* value_ = nullptr;
  Size position_;
  Loc loc_;
};

}  // namespace dsl

/// A tensor of the kernel, valid while it is traced. Indexing needs one index per dimension: tiles
/// and tw::all keep the dimension, scalars drop it. Reading past a tile's clipped end gives 0.
/// Errors of indexing: index_rank, index_kind, outside_loop, value_escapes.
class Tensor : public dsl::Subscripts<Tensor, TensorRef, dsl::TensorIndex> {
 public:
  DType dtype(Loc loc = Loc::current()) const;
  int rank(Loc loc = Loc::current()) const;
  /// Size of dimension `dim`; negative counts from the last. Errors: bad_axis.
  Size size(int dim, Loc loc = Loc::current()) const;
  std::vector<Size> sizes(Loc loc = Loc::current()) const;
  /// All sizes as an array, for `auto [m, k] = a.sizes<2>()`. Errors: sizes_rank.
  template <size_t N>
  std::array<Size, N> sizes(Loc loc = Loc::current()) const {
    expect_rank(static_cast<int>(N), loc);
    std::array<Size, N> result;
    for (size_t i = 0; i < N; ++i) result[i] = size(static_cast<int>(i), loc);
    return result;
  }

  // Used by the library.
  TensorRef subscript(const std::vector<dsl::TensorIndex>& indices) const;
  Tensor(int param, uint32_t trace) : param_(param), trace_(trace) {}
  int param() const { return param_; }
  uint32_t trace() const { return trace_; }

 private:
  void expect_rank(int rank, Loc loc) const;

  int param_;
  uint32_t trace_;
};

/// `auto [m, k] = tw::sizes<2>(a);`. Errors: sizes_rank.
template <size_t N>
std::array<Size, N> sizes(const Tensor& tensor, Loc loc = Loc::current()) {
  return tensor.sizes<N>(loc);
}

/// A new row-major result of the kernel, allocated for each call, its contents undefined until
/// stored to. Outside loops only. Errors: empty_in_loop, bad_size.
Tensor empty(std::initializer_list<Size> sizes, DType dtype, Loc loc = Loc::current());
Tensor empty(const std::vector<Size>& sizes, DType dtype, Loc loc = Loc::current());
Tensor empty_like(const Tensor& tensor, Loc loc = Loc::current());

}  // namespace tilewright
