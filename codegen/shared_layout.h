// Where the elements of a staged tile lie in shared memory, and what accessing them costs.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/codegen/layout.h"

namespace tilewright::codegen {

/// Where an element of a staged tile lies in its shared buffer. The buffer is declared as an array
/// with one dimension per axis, in storage order (last one contiguous), its rows padded. With a
/// swizzle, element c of row r (rows of all slower axes counted through) is found at
/// (c / unit ^ r / rows % period) * unit + c % unit, unit being swizzle_unit and so on: chunks of
/// a row change places, elements of a chunk stay together. With panels, the contiguous dimension is
/// cut into pieces of `panel` elements, and each piece is stored with all its rows before the next:
/// how matrix units and bulk tensor copies want rows that are wider than a swizzle.
struct SharedLayout {
  std::vector<int> order;        ///< axes, slowest first
  std::vector<int64_t> extents;  ///< of the tile, by axis
  int64_t padding = 0;           ///< elements added to the contiguous dimension
  int64_t panel = 0;             ///< elements of a row per panel, a divisor of it; 0: all of them
  int swizzle_unit = 0;          ///< elements per chunk (16 bytes or less); 0: no swizzle
  int swizzle_rows = 1;          ///< consecutive rows that share one pattern
  int swizzle_period = 1;        ///< number of patterns: a power of two that divides a row's chunks

  std::vector<int64_t> declared() const;  ///< array dimensions, slowest first
  bool has_panels() const { return panel > 0 && panel < extents.at(order.back()); }
  int64_t size() const;  ///< elements, padding included
  /// In elements from the start. Coordinates within `extents`.
  int64_t offset(const std::vector<int64_t>& coordinates) const;
  friend bool operator==(const SharedLayout&, const SharedLayout&) = default;
};

/// One warp-wide access to a shared buffer: each lane's first element.
struct WarpAccess {
  int rank = 0;
  std::vector<int64_t> coordinates;  ///< [lane][axis]
  uint32_t active = 0;               ///< bit per lane: whether it takes part
  int bytes = 4;                     ///< per lane: 1, 2, 4, 8 or 16
  int count = 1;                     ///< accesses like it, that no shared layout can tell apart
};

/// The accesses with which the threads of `layout` together read or write a tile of `extents`, each
/// thread `vector` consecutive elements along `axis` at a time (the layout's vector there must be
/// a multiple of it): one per warp and group of registers, those that differ only by a shift that
/// changes no conflict counted together. Lanes beyond the extents do not take part.
std::vector<WarpAccess> warp_accesses(const Layout& layout, const std::vector<int64_t>& extents,
                                      int axis, int vector, int element_bytes);

/// Extra shared-memory wavefronts of one such access beyond the least possible for its bytes, by
/// enumeration of the 32 four-byte banks (accesses of 8 and 16 bytes go in 2 and 4 phases of
/// consecutive lanes; lanes of a phase that touch the same word share it).
int bank_conflicts(const SharedLayout& layout, int element_bytes, const WarpAccess& access);

/// Some accesses to a tile and how often each is made, relative to the others.
struct WeightedAccesses {
  std::vector<WarpAccess> accesses;
  int weight = 1;
};

/// The conflicts of all accesses, times their weights. Stops counting at `enough`.
int64_t weighted_conflicts(const SharedLayout& layout, int element_bytes,
                           const std::vector<WeightedAccesses>& groups, int64_t enough = INT64_MAX);

/// The cheapest layout for a staged tile: tries paddings (none, then more and more up to 128
/// bytes), then swizzles (simple ones first), and takes the first with the fewest conflicts.
/// `order` is slowest first. `unit`, a power of two, is the widest access in elements: rows start
/// at multiples of it and chunks are as wide, so that such accesses stay aligned and whole. With
/// `save_memory`, swizzles come before paddings.
SharedLayout choose_shared_layout(const std::vector<int64_t>& extents,
                                  const std::vector<int>& order, int element_bytes, int unit,
                                  const std::vector<WeightedAccesses>& groups,
                                  bool save_memory = false);

}  // namespace tilewright::codegen
