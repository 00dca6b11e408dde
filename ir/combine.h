// Reductions and scans by a function of the kernel, and the other operations with several results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilewright/ir/builder.h"

namespace tilewright::ir {

/// Whether an operation combines elements by its region: combine or scan.
bool combines(OpKind kind);

/// The parts of a combine or scan of n tiles. Its operands are the tiles, then an identity for
/// each; its region takes n scalars of the left side, then n of the right, and yields n.
struct CombineView {
  explicit CombineView(const Op& op);
  std::vector<const Value*> tiles, identities;
  std::vector<const Value*> lefts, rights;
  const Region* body;
};

/// A combine of `tiles` along `axes`; its region has its arguments and is to be filled and closed
/// with a yield.
Op* make_combine(Builder& builder, const std::vector<const Value*>& tiles,
                 const std::vector<const Value*>& identities, std::vector<int64_t> axes);
/// A scan of `tiles` along `axis`, likewise.
Op* make_scan(Builder& builder, const std::vector<const Value*>& tiles,
              const std::vector<const Value*>& identities, int64_t axis, bool reverse,
              bool exclusive);
/// Tiles sorted by the first of them along `axis`: the `count` first positions, all for -1.
Op* make_sort(Builder& builder, const std::vector<const Value*>& tiles, int64_t axis,
              bool descending, int64_t count);

/// The types of the results of a combine, scan or sort; nothing for other operations. Throws
/// InternalError on operands that do not fit.
std::optional<std::vector<Type>> infer_results(const Op& op);

/// What is wrong with the attributes and operands of a combine, scan, sort, join or pick; empty
/// when nothing is.
std::string combine_fault(const Op& op);
std::string scan_fault(const Op& op);
std::string sort_fault(const Op& op);
std::string join_fault(const Op& op);
std::string pick_fault(const Op& op);
/// What is wrong with the region of a combine or scan: it computes scalars from scalars.
std::string combine_region_fault(const Op& op);
/// Whether an operation may stand in such a region.
bool combines_elements(const Op& op);

/// Whether a tile of shape `from` can be seen as `to`, row by row: blocks of axes stay in their
/// order, and the constant dimensions between two of them keep their number of elements.
bool can_reshape(const Shape& from, const Shape& to);

}  // namespace tilewright::ir
