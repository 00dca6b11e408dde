// Tensors in global memory: parameters and results of a kernel.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "tilewright/dsl/loops.h"
#include "tilewright/dsl/operand.h"
#include "tilewright/dsl/tile.h"

namespace tilewright {

namespace dsl {

/// An index of a Tensor: the tile of a loop, an integer scalar, a C++ integer, tw::all, or a tile
/// of integers, whose elements are positions. Reads its variable at once.
class TensorIndex {
 public:
  enum class Kind { tile, scalar, all, positions };

  TensorIndex(const TileIndex& index, Loc loc = Loc::current());
  TensorIndex(const Tile& positions, Loc loc = Loc::current());
  TensorIndex(All, Loc loc = Loc::current()) : kind_(Kind::all), loc_(loc) {}
  TensorIndex(Size position, Loc loc = Loc::current());
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

/// An operand that need not be given: a field of options. Reads its variable at once.
class MaybeOperand {
 public:
  MaybeOperand() = default;
  template <class T>
  requires std::convertible_to<const T&, Operand> MaybeOperand(const T& value,
                                                               Loc loc = Loc::current())
      : operand_(Operand(value, loc)) {}

  bool given() const { return operand_.has_value(); }
  const Operand& operand() const { return *operand_; }

 private:
  std::optional<Operand> operand_;
};

struct Window;
struct WindowDim;

}  // namespace dsl

/// When caches let go of what is accessed: first, for what is used once; last, for what is used
/// again.
enum class Evict : uint8_t { none, first, last };

/// What a load may be told.
struct LoadOptions {
  dsl::MaybeOperand mask = {};   ///< bool; elements where it is false are not read
  dsl::MaybeOperand other = {};  ///< what those are; 0 when not given
  Evict evict = Evict::none;
};

/// What a store may be told.
struct StoreOptions {
  dsl::MaybeOperand mask = {};  ///< bool; elements where it is false are not written
  Evict evict = Evict::none;
};

/// A tensor of the kernel, or a view of one, valid while it is traced. Indexing needs one index per
/// dimension: tiles and tw::all keep the dimension, scalars drop it. Index tiles (of integers) name
/// positions one by one; they broadcast against each other, and the dimensions of what they become
/// stand where the first of them does. Reading past a tile's clipped end, below 0 or past the
/// tensor's gives 0, storing there does nothing.
/// Errors of indexing: index_rank, index_kind, shape_mismatch, outside_loop, value_escapes.
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

  /// `a.load({rows, cols}, {.mask = m, .other = -1.0f, .evict = tw::Evict::first})`: a[rows, cols]
  /// where the mask holds, `other` elsewhere; positions outside the tensor are 0 as ever.
  /// Errors: other_without_mask, function_dtype, shape_mismatch, dtype_mismatch, literal_dtype.
  Tile load(std::initializer_list<dsl::TensorIndex> indices, const LoadOptions& options = {},
            Loc loc = Loc::current()) const;
  /// `c.store({rows, cols}, x, {.mask = m})`. Errors: those of an assignment to c[rows, cols].
  void store(std::initializer_list<dsl::TensorIndex> indices, const Operand& value,
             const StoreOptions& options = {}, Loc loc = Loc::current()) const;

  // Views: other handles to the same memory. Positions are those of this tensor, which may be a
  // view itself; begins and indices are known when tracing or integer scalars of the kernel. What
  // lies past a view reads as 0 and is not stored to, as what lies past a tensor.

  /// Positions begin .. end of dimension `axis`. Errors: bad_axis, view_bounds.
  Tensor slice(int axis, const dsl::Bound& begin, const dsl::Bound& end,
               Loc loc = Loc::current()) const;
  /// `size` positions of dimension `axis` from `begin` on. Errors: bad_axis, view_bounds.
  Tensor narrow(int axis, const dsl::Bound& begin, Size size, Loc loc = Loc::current()) const;
  /// One position of dimension `axis`, which the view does not have. Errors: bad_axis, view_bounds.
  Tensor select(int axis, const dsl::Bound& position, Loc loc = Loc::current()) const;
  /// The block numbered `at` of those of sizes `block`: `a.tile({64, 64}, {i, j})`. Errors:
  /// view_index, bad_block, view_bounds.
  Tensor tile(std::initializer_list<Size> block, std::initializer_list<dsl::Bound> at,
              Loc loc = Loc::current()) const;
  /// Dimension i of the view is dimension dims[i]. Errors: bad_axis.
  Tensor permute(std::initializer_list<int> dims, Loc loc = Loc::current()) const;
  /// The transpose of a tensor of two dimensions. Errors: sizes_rank.
  Tensor t(Loc loc = Loc::current()) const;

  // Used by the library.
  TensorRef subscript(const std::vector<dsl::TensorIndex>& indices) const;
  Tensor(int param, uint32_t trace) : param_(param), trace_(trace) {}
  int param() const { return param_; }
  uint32_t trace() const { return trace_; }
  bool is_view() const { return window_ != nullptr; }
  dsl::Window window(Loc loc) const;

 private:
  void expect_rank(int rank, Loc loc) const;
  int position_of(int axis, std::string_view what, Loc loc) const;
  Tensor with(dsl::Window window, Loc loc) const;
  bool is_whole(const dsl::WindowDim& dim, Loc loc) const;
  void keep_within(const dsl::WindowDim& from, bool begin_inside, bool end_inside,
                   dsl::WindowDim& dim, Loc loc) const;
  [[noreturn]] void raise_bounds(const std::string& begin, const std::string& end, int axis,
                                 Loc loc) const;

  int param_;
  uint32_t trace_;
  std::shared_ptr<const dsl::Window> window_;  ///< null: all of the parameter
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
/// The same with every element set to `value` before the kernel runs: what atomics start from. It
/// need not be stored to. Errors: those of tw::empty, fill_value.
Tensor full_tensor(std::initializer_list<Size> sizes, const dsl::Literal& value, DType dtype,
                   Loc loc = Loc::current());
Tensor zeros_tensor(std::initializer_list<Size> sizes, DType dtype, Loc loc = Loc::current());

}  // namespace tilewright
