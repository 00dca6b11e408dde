// What both ways of sorting share: the order of keys, lines of shared memory. Internal to codegen.
#pragma once

#include <string>
#include <vector>

#include "tilewright/codegen/lowering.h"

namespace tilewright::codegen {

/// Whether key x comes before key y, where they differ; NaN comes last.
ExprRef comes_before(DType dtype, bool descending, const ExprRef& x, const ExprRef& y);
/// A key that comes after, or is equal to, every other.
ExprRef last_key(DType dtype, bool descending);

/// A buffer of shared memory for elements of `tile`.
std::string declare_line(Lowering& lowering, const ir::Value* tile, const char* suffix,
                         const std::vector<int64_t>& extents, const char* comment);
/// Reads a result from such a buffer into its registers.
void read_line(Lowering& lowering, const ir::Value* result, const std::string& buffer);

/// Whether a sort is done by a network: its tiles have the layout for it.
bool sorts_by_network(const Lowering& lowering, const ir::Op& op);
void lower_bitonic_sort(Lowering& lowering, const ir::Op& op);

}  // namespace tilewright::codegen
