// What is known of integers without running: ranges, divisors, and which slices stay within limits.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// All values from min to max, both included.
struct Range {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();

  bool is_constant() const { return min == max; }
  bool contains(int64_t value) const { return min <= value && value <= max; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Facts about the integer values of one function, which must outlive them and be verified. Block
/// sizes that are not bound, run-time scalars, loads and carried values are unknown; sizes of
/// tensors are those of the specs.
class Facts {
 public:
  explicit Facts(const Function& fn);

  /// Where the value lies (bool: 0 or 1), of a tile every element; the whole range of the dtype
  /// when nothing is known, and for values that are no integers.
  Range range(const Value* value) const;

  /// The largest known divisor of the value, of a tile of every element: 1 when nothing is known, 0
  /// for the constant 0.
  int64_t divisor(const Value* value) const;

  /// Whether every position begin .. begin + block - 1 of the slice is below its own limit, and
  /// that limit is at most `bound`: then no access through it along a dimension of that size needs
  /// a guard. False when not known.
  bool slice_in_bounds(const Value* slice, int64_t bound) const;
  bool slice_in_bounds(const Value* slice, const Value* bound) const;
  /// The first half of it: the slice is never clipped at its limit.
  bool slice_is_full(const Value* slice) const;

  /// Whether x <= y (x < y) always, both scalars of i64.
  bool is_less_equal(const Value* x, const Value* y) const;
  bool is_less(const Value* x, const Value* y) const;

 private:
  struct Known {
    Range range;
    int64_t divisor = 1;
  };
  /// Where a slice begins and the limit it is clipped at.
  struct Span {
    const Value* begin = nullptr;  ///< of the loop, for an argument of one
    const Value* limit = nullptr;
    int64_t extent = 0;  ///< 0 when not bound
    bool is_argument = false;
  };

  void region(const Region& region);
  void operation(const Op& op);
  Known known(const Value* value) const;
  Known evaluate(const Op& op) const;
  Known evaluate_slice_part(const Op& op) const;
  Known begin_of(const Span& span) const;
  Span span_of(const Value* slice) const;
  bool checked_equal(const Value* x, const Value* y) const;
  bool stays_full_when_moved(const Span& span) const;
  bool is_multiple_above(const Value* x, const Value* base, int64_t extent) const;

  const Function& fn_;
  std::unordered_map<const Value*, Known> known_;
};

}  // namespace tilewright::ir
