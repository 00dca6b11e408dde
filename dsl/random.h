// Random numbers: a number for every position, whatever tiles it falls into.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tilewright/dsl/operand.h"
#include "tilewright/dsl/shape_ops.h"

namespace tilewright {

namespace dsl {

/// Where a random number is drawn: at the positions of a tile `{rows, cols}` in row-major order, or
/// at those that an integer tile gives.
class RandomAt {
 public:
  RandomAt(std::initializer_list<TileDim> dims) : dims_(dims) {}
  RandomAt(const Tile& positions, Loc loc = Loc::current()) : positions_(Operand(positions, loc)) {}

  const std::vector<TileDim>& dims() const { return dims_; }
  const std::optional<Operand>& positions() const { return positions_; }

 private:
  std::vector<TileDim> dims_;
  std::optional<Operand> positions_;
};

}  // namespace dsl

// Every number is a function of `seed`, an integer scalar, and of its position alone, so results do
// not depend on the config. Positions of `{rows, cols}` count row-major through the ranges of the
// loops, whose sizes, the first apart, are known when tracing, or are `sizes`. The generator is
// Philox4x32-10, with the position as the low half of its counter.
// Errors: random_sizes, not_a_scalar, outside_loop.

/// Uniform f32 in [0, 1).
Tile rand(const dsl::RandomAt& at, const Operand& seed, Loc loc = Loc::current());
Tile rand(const dsl::RandomAt& at, const Operand& seed, std::initializer_list<Size> sizes,
          Loc loc = Loc::current());
/// Four independent ones for each position, for the price of one.
std::array<Tile, 4> rand4x(const dsl::RandomAt& at, const Operand& seed, Loc loc = Loc::current());
std::array<Tile, 4> rand4x(const dsl::RandomAt& at, const Operand& seed,
                           std::initializer_list<Size> sizes, Loc loc = Loc::current());
/// Normally distributed f32 of mean 0 and deviation 1, by the method of Box and Muller.
Tile randn(const dsl::RandomAt& at, const Operand& seed, Loc loc = Loc::current());
Tile randn(const dsl::RandomAt& at, const Operand& seed, std::initializer_list<Size> sizes,
           Loc loc = Loc::current());
/// Uniform i32 in [low, high). Errors: random_range.
Tile randint(const dsl::RandomAt& at, int64_t low, int64_t high, const Operand& seed,
             Loc loc = Loc::current());
Tile randint(const dsl::RandomAt& at, int64_t low, int64_t high, const Operand& seed,
             std::initializer_list<Size> sizes, Loc loc = Loc::current());

/// The generator itself: four i32 tiles of random bits for i64 counters. `counter` is the low half
/// of Philox's counter and `stream` the high one; `seed` is its key. The three broadcast.
std::array<Tile, 4> philox(const Operand& counter, const Operand& stream, const Operand& seed,
                           Loc loc = Loc::current());

}  // namespace tilewright
