// Who holds which element of a tile, and where elements lie in shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/ir/type.h"

namespace tilewright::codegen {

enum class Holder : uint8_t { reg, lane, warp, cta };

/// One digit of a holder's index. The holder's index is a mixed-radix number whose digits are
/// listed fastest first; digit value d contributes d * stride to the coordinate along `axis`. Axis
/// -1 is replication: holders that differ only there hold the same elements.
struct Digit {
  Holder holder = Holder::reg;
  int radix = 1;
  int axis = -1;
  int64_t stride = 0;
  friend bool operator==(const Digit&, const Digit&) = default;
};

/// A distributed tile of rank `rank`. Coordinates may overhang the tile's extent: the surplus is
/// padding and is masked like an edge.
struct Layout {
  int rank = 0;
  std::vector<Digit> digits;

  int size(Holder holder) const;  ///< product of the holder's radices
  int threads() const { return size(Holder::lane) * size(Holder::warp); }
  /// Register positions along one axis; a thread's registers are the product over the axes.
  int registers(int axis) const;
  int registers() const;
  /// One more than the largest coordinate along `axis`.
  int64_t covered(int axis) const;
  bool overhangs(const std::vector<int64_t>& extents) const;
  /// Whether several threads hold the same element.
  bool replicated() const;
  /// Length of the run of consecutive elements along `axis` that a thread holds in consecutive
  /// registers (the radix of a leading stride-1 register digit; 1 when there is none).
  int vector(int axis) const;

  /// Coordinates of an element: `reg[a]` is the register position along axis a.
  std::vector<int64_t> coordinates(const std::vector<int>& reg, int lane, int warp) const;
  /// The part of the coordinate along `axis` that registers contribute at position `reg`.
  int64_t register_offset(int axis, int reg) const;
  /// The part that the thread contributes.
  int64_t thread_offset(int axis, int thread) const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

std::string to_string(const Layout& layout);  ///< "r4:1@4 l8:1 .." for dumps; see layout.cpp

/// The layout of a value whose dimensions `axes` were reduced away: their thread digits become
/// replication, their register digits vanish, later axes are renumbered.
Layout drop_axes(const Layout& layout, const std::vector<int64_t>& axes);
/// The layout an operand must have so that broadcast(operand, dims) has `result`'s layout without
/// moving data: operand dimension i is result dimension dims[i]; `stretched[i]` marks operand
/// dimensions of size 1.
Layout operand_of_broadcast(const Layout& result, const std::vector<int64_t>& dims,
                            const std::vector<bool>& stretched);
/// Result dimension i is operand dimension dims[i].
Layout permute(const Layout& operand, const std::vector<int64_t>& dims);
/// The layout of a scalar: held by every thread.
Layout scalar_layout(int warps);
/// Whether both hold the same elements in the same registers of the same threads.
bool same_distribution(const Layout& a, const Layout& b);

/// A blocked layout: `vector` consecutive elements per thread along axis order[0], then lanes,
/// warps and registers fill the axes in `order` (fastest first). Exact (no overhang) when that
/// costs at most 16 registers a thread or no more than overhanging does; threads that are left over
/// replicate.
Layout blocked_layout(const std::vector<int64_t>& extents, const std::vector<int>& order,
                      int vector, int warps);

/// Where an element of a staged tile lies in its shared buffer. The buffer is declared as an array
/// with one dimension per axis, in storage order (last one contiguous), its rows padded.
struct SharedLayout {
  std::vector<int> order;        ///< axes, slowest first
  std::vector<int64_t> extents;  ///< of the tile, by axis
  int64_t padding = 0;           ///< elements added to the contiguous dimension
  int swizzle_unit = 0;          ///< elements per swizzled chunk (16 bytes); 0: no swizzle
  int swizzle_rows =
      1;  ///< rows that share one pattern: chunk ^= (row / swizzle_rows) % swizzle_period
  int swizzle_period = 1;

  std::vector<int64_t> declared() const;  ///< array dimensions, slowest first
  int64_t size() const;                   ///< elements, padding included
  int64_t offset(const std::vector<int64_t>& coordinates) const;  ///< elements
};

/// One warp-wide access to a shared buffer: for each lane the coordinates of its first element, or
/// empty when the lane does not take part.
struct WarpAccess {
  std::vector<std::vector<int64_t>> lanes;
  int bytes = 4;  ///< per lane: 1, 2, 4, 8 or 16
};

/// Extra shared-memory wavefronts of an access beyond the least possible for its bytes, by
/// enumeration of the 32 four-byte banks (accesses of 8 and 16 bytes go in 2 and 4 phases of
/// consecutive lanes; lanes of a phase that read the same word share it).
int bank_conflicts(const SharedLayout& layout, int element_bytes, const WarpAccess& access);

/// The cheapest layout for a staged tile: tries paddings, then swizzles, and takes the first with
/// the fewest conflicts, weighing each access by `weight` (same length as `accesses`). `unit` is
/// the widest access, in elements, whose alignment rows must keep.
SharedLayout choose_shared_layout(const std::vector<int64_t>& extents,
                                  const std::vector<int>& order, int element_bytes, int unit,
                                  const std::vector<WarpAccess>& accesses,
                                  const std::vector<int>& weights);

}  // namespace tilewright::codegen
