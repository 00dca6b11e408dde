// Loops over tiles: tile(), grid(), static_range(), and the indices they give.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <vector>

#include "tilewright/dsl/tile.h"

namespace tilewright {

/// One step of a tile loop: the positions begin .. end of a tile along one axis. Indexes tensors
/// (`a[rows, cols]`) and sizes tiles (`tw::zeros({rows, cols}, tw::f32)`); is valid in its loop's
/// body. Of tw::each, it is a single position: it drops the dimension it indexes, and may be used
/// as a scalar.
class TileIndex {
 public:
  Scalar<int64_t> begin(Loc loc = Loc::current()) const;  ///< first position
  Scalar<int64_t> end(Loc loc = Loc::current()) const;    ///< one past the last, clipped
  Scalar<int64_t> size(Loc loc = Loc::current()) const;   ///< end - begin
  Scalar<int64_t> id(Loc loc = Loc::current()) const;     ///< number of the tile: 0, 1, ..
  /// i64 tile of the positions begin, begin + 1, ..; in an edge tile it runs past end().
  Tile index(Loc loc = Loc::current()) const;

  // Used by the library.
  TileIndex(const ir::Value* slice, bool single, uint64_t frame)
      : slice_(slice), single_(single), frame_(frame) {}
  bool single() const { return single_; }
  /// The slice, checked to be in its loop's body.
  const ir::Value* slice(Loc loc) const;

 private:
  const ir::Value* slice_;
  bool single_;
  uint64_t frame_;
};

namespace dsl {
/// What only makes sense as an index. (Tiles do not count: a fold over assignments uses commas.)
template <class T>
concept SubscriptWord = std::same_as<T, TileIndex> || std::same_as<T, All> || std::same_as<T, None>;
}  // namespace dsl

/// In C++20, a[rows, cols] means a[(rows, cols)]: it does not compile.
template <class A, class B>
requires(dsl::SubscriptWord<A> || dsl::SubscriptWord<B>) constexpr auto operator,(const A&,
                                                                                  const B&) {
  static_assert(!sizeof(A), "a[rows, cols] needs C++23; in C++20, write a(rows, cols)");
}

/// A block size fixed by the kernel, instead of by the config.
struct BlockSize {
  int64_t size = 0;  ///< 0: left to the config
};
/// Pins a block size: `tw::tile(n, tw::block(64))`. Errors: bad_block unless positive.
BlockSize block(int64_t size, Loc loc = Loc::current());

/// A dimension walked one position at a time: `tw::tile({tw::each(batch), rows})`.
struct Each {
  Size count;
};
inline Each each(Size count) { return {count}; }

namespace dsl {

/// A bound of a loop: a Size, a C++ integer or an integer scalar of the kernel.
class Bound {
 public:
  template <std::integral T>
  Bound(T value, Loc = Loc::current()) : size_(value) {}
  Bound(Size size, Loc = Loc::current()) : size_(size) {}
  Bound(const Tile& scalar, Loc loc = Loc::current());
  Bound(const TileIndex& single, Loc loc = Loc::current());
  explicit Bound(const ir::Value* value) : value_(value) {}

  /// As an i64 scalar of the kernel.
  const ir::Value* value(Loc loc) const;
  /// Of a C++ integer or a Size that is not dynamic.
  std::optional<int64_t> known() const {
    return value_ != nullptr || size_.dynamic() ? std::nullopt : std::optional(size_.value());
  }

 private:
  Size size_;
  const ir::Value* value_ = nullptr;
};

/// One dimension of a loop nest.
struct LoopDim {
  Bound begin = 0;
  Bound end;
  bool single = false;  ///< walked one by one
  BlockSize block = {};
  Size step = 1;                       ///< of tw::grid
  const ir::Value* lengths = nullptr;  ///< of tw::jagged_tile: where each row ends

  template <class T>
  requires std::convertible_to<T, Bound> LoopDim(const T& limit, Loc loc = Loc::current())
      : end(limit, loc) {}
  /// The positions of a tile of a loop around this one; of a single position: 0 to it.
  LoopDim(const TileIndex& tile, Loc loc = Loc::current());
  LoopDim(Each each, Loc = Loc::current()) : end(each.count), single(true), block{1} {}
  LoopDim(Bound first, Bound last) : begin(first), end(last) {}
};

class Trace;

/// The body of a loop being traced, once or more. Closes the loop when it is over; destroyed before
/// that, notes that the user's code left the loop, which is an error if the trace goes on.
class LoopRun {
 public:
  LoopRun(std::vector<LoopDim> dims, Loc loc);
  ~LoopRun();
  LoopRun(const LoopRun&) = delete;
  LoopRun& operator=(const LoopRun&) = delete;

  /// Whether the body is to be run (again). Closes the loop if not.
  bool more();
  void next();
  TileIndex index(size_t dim) const;
  /// What tw::grid gives: the position, counted in steps.
  Scalar<int64_t> position(size_t dim) const;
  Loc loc() const { return loc_; }

 private:
  std::vector<LoopDim> dims_;
  std::vector<Bound> first_;  ///< where dimensions walked in steps begin
  Loc loc_;
  std::vector<const ir::Value*> slices_;
  int opened_ = 0;  ///< regions open
  int runs_left_ = 0;
};

/// A range for `for`: its iterator runs the body to trace it. Gives TileIndex, or Scalar<int64_t>
/// (Scalars), or an array of N of them.
template <size_t N, bool Scalars>
class LoopRange {
 public:
  LoopRange(std::vector<LoopDim> dims, Loc loc) : dims_(std::move(dims)), loc_(loc) {}

  struct End {};
  class Iterator {
   public:
    Iterator(const std::vector<LoopDim>& dims, Loc loc) : run_(dims, loc) {}
    auto operator*() const {
      if constexpr (N == 1)
        return at(0);
      else
        return all_of(std::make_index_sequence<N>{});
    }
    Iterator& operator++() {
      run_.next();
      return *this;
    }
    bool operator!=(End) { return run_.more(); }

   private:
    auto at(size_t dim) const {
      if constexpr (Scalars)
        return run_.position(dim);
      else
        return run_.index(dim);
    }
    template <size_t... I>
    auto all_of(std::index_sequence<I...>) const {
      return std::array{at(I)...};
    }
    LoopRun run_;
  };

  Iterator begin() const { return Iterator(dims_, loc_); }
  End end() const { return {}; }

 private:
  std::vector<LoopDim> dims_;
  Loc loc_;
};

template <size_t N>
std::vector<LoopDim> dims_of(const LoopDim (&dims)[N]) {
  return std::vector<LoopDim>(dims, dims + N);
}
template <size_t N>
std::vector<LoopDim> with_blocks(const LoopDim (&dims)[N], const BlockSize (&blocks)[N]) {
  std::vector<LoopDim> result = dims_of(dims);
  for (size_t i = 0; i < N; ++i)
    if (blocks[i].size > 0) result[i].block = blocks[i];
  return result;
}
std::vector<LoopDim> one_by_one(std::vector<LoopDim> dims);
/// begin, begin + step, .. below end. Errors: bad_step.
LoopDim in_steps(Bound begin, Bound end, Size step, Loc loc);

inline LoopDim with_block(LoopDim dim, BlockSize block) {
  dim.block = block;
  return dim;
}

}  // namespace dsl

// A loop outside every other is a grid: its iterations are programs that run in parallel, in any
// order. Inside it, a loop is sequential; one over several dimensions is a nest. Blocks cover each
// range in order; the last is clipped. A kernel may have several grids: see tw::barrier
// (dsl/control.h). Errors: bad_block.

/// 0 .. n in tiles: `for (auto rows : tw::tile(n))`; n is a Size, an integer or an integer scalar,
/// or a tile of a loop around this one, whose positions are then walked in smaller tiles.
template <class T>
requires std::convertible_to<T, dsl::LoopDim> dsl::LoopRange<1, false> tile(
    const T& n, Loc loc = Loc::current()) {
  return {{dsl::LoopDim(n, loc)}, loc};
}
template <class T>
requires std::convertible_to<T, dsl::LoopDim> dsl::LoopRange<1, false> tile(
    const T& n, BlockSize block, Loc loc = Loc::current()) {
  return {{dsl::with_block(dsl::LoopDim(n, loc), block)}, loc};
}
/// begin .. end in tiles, aligned at begin.
template <class B, class E>
requires std::convertible_to<B, dsl::Bound> && std::convertible_to<E, dsl::Bound>
    dsl::LoopRange<1, false> tile(const B& begin, const E& end, Loc loc = Loc::current()) {
  return {{dsl::LoopDim(dsl::Bound(begin, loc), dsl::Bound(end, loc))}, loc};
}
template <class B, class E>
requires std::convertible_to<B, dsl::Bound> && std::convertible_to<E, dsl::Bound>
    dsl::LoopRange<1, false> tile(const B& begin, const E& end, BlockSize block,
                                  Loc loc = Loc::current()) {
  return {{dsl::with_block(dsl::LoopDim(dsl::Bound(begin, loc), dsl::Bound(end, loc)), block)},
          loc};
}
/// Several dimensions: `for (auto [rows, cols] : tw::tile({m, n}))`.
template <size_t N>
dsl::LoopRange<N, false> tile(const dsl::LoopDim (&dims)[N], Loc loc = Loc::current()) {
  return {dsl::dims_of(dims), loc};
}
/// With pinned block sizes; `{}` leaves one to the config.
template <size_t N>
dsl::LoopRange<N, false> tile(const dsl::LoopDim (&dims)[N], const BlockSize (&blocks)[N],
                              Loc loc = Loc::current()) {
  return {dsl::with_blocks(dims, blocks), loc};
}

/// 0 .. n one by one, as scalars: `for (auto row : tw::grid(n))`.
template <class T>
requires std::convertible_to<T, dsl::LoopDim> dsl::LoopRange<1, true> grid(
    const T& n, Loc loc = Loc::current()) {
  return {dsl::one_by_one({dsl::LoopDim(n, loc)}), loc};
}
template <class B, class E>
requires std::convertible_to<B, dsl::Bound> && std::convertible_to<E, dsl::Bound>
    dsl::LoopRange<1, true> grid(const B& begin, const E& end, Loc loc = Loc::current()) {
  return {dsl::one_by_one({dsl::LoopDim(dsl::Bound(begin, loc), dsl::Bound(end, loc))}), loc};
}
/// begin, begin + step, .. below end; the step is positive, and known when tracing. Errors:
/// bad_step.
template <class B, class E>
requires std::convertible_to<B, dsl::Bound> && std::convertible_to<E, dsl::Bound>
    dsl::LoopRange<1, true> grid(const B& begin, const E& end, Size step,
                                 Loc loc = Loc::current()) {
  return {dsl::one_by_one({dsl::in_steps(dsl::Bound(begin, loc), dsl::Bound(end, loc), step, loc)}),
          loc};
}
template <size_t N>
dsl::LoopRange<N, true> grid(const dsl::LoopDim (&dims)[N], Loc loc = Loc::current()) {
  return {dsl::one_by_one(dsl::dims_of(dims)), loc};
}

/// A plain C++ loop over begin .. end, unrolled by the trace; gives C++ integers.
class StaticRange {
 public:
  class Iterator {
   public:
    explicit Iterator(int64_t at) : at_(at) {}
    int64_t operator*() const { return at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    int64_t at_;
  };

  StaticRange(int64_t begin, int64_t end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  int64_t begin_, end_;
};
inline StaticRange static_range(Size n, Loc loc = Loc::current()) {
  return {0, dsl::known_size(n, "tw::static_range", loc)};
}
inline StaticRange static_range(Size begin, Size end, Loc loc = Loc::current()) {
  return {dsl::known_size(begin, "tw::static_range", loc),
          dsl::known_size(end, "tw::static_range", loc)};
}

}  // namespace tilewright
