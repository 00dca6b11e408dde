// Who holds which element of a tile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// For dumps, digits fastest first, each <holder><radix>:<stride>@<axis>, replication without the
/// latter two: "r4:1@1 l8:4@1 l4:1@0 w4". Registers are r, lanes l, warps w, blocks of a cluster c.
std::string to_string(const Layout& layout);

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

/// A blocked layout: `vector` consecutive elements per thread along axis order[0] (fewer when that
/// does not divide the extent), then lanes, warps and registers fill the axes in `order` (fastest
/// first). Exact (no overhang) when that costs at most 16 registers a thread or no more than
/// overhanging does; threads that are left over replicate.
Layout blocked_layout(const std::vector<int64_t>& extents, const std::vector<int>& order,
                      int vector, int warps);

/// The accumulator of an [m, k] x [k, n] product done by the fma unit. Per step of k a thread reads
/// its rows of one operand and its columns of the other from shared memory, in accesses of up to
/// `vector_m` and `vector_n` consecutive elements of `element_bytes` (1 when k is the contiguous
/// axis of that operand's buffer). Picks, among all ways to deal rows and columns to lanes and
/// warps, the one with the least estimated time per step: multiplications, load instructions and
/// shared-memory wavefronts. Exact or overhanging by the rule of blocked_layout.
Layout dot_layout(int64_t m, int64_t n, int warps, int vector_m, int vector_n,
                  int element_bytes = 4);

/// Which elements of an operand of a dot a thread reads when the accumulator has layout `acc`, all
/// of k in registers: operand [m, k] when `left`, else [k, n].
Layout dot_operand_layout(const Layout& acc, bool left, int64_t k);

}  // namespace tilewright::codegen
