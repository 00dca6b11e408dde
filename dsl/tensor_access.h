// From the indices of a Tensor, which may be a view, to an access of the kernel's parameter.
#pragma once

#include <vector>

#include "tilewright/dsl/tensor.h"
#include "tilewright/dsl/window.h"
#include "tilewright/ir/builder.h"

namespace tilewright::dsl {

/// The parameter's indices, and the mask and permutation that a view asks for. Errors: index_rank,
/// index_kind, shape_mismatch, outside_loop, value_escapes, view_bounds.
TensorAccess make_access(const Tensor& tensor, const std::vector<TensorIndex>& indices);

/// The shape of the tile that the user sees.
ir::Shape shape_of(const TensorAccess& access);

/// Loads it.
const ir::Value* load(const TensorAccess& access, const ir::Value* mask, Evict evict, Loc loc);

/// Stores a value converted and broadcast. Errors: store_needs_cast, shape_mismatch,
/// value_escapes.
void store(const TensorAccess& access, const Operand& value, const ir::Value* mask, Evict evict,
           Loc loc);

/// `value` broadcast to what the user sees and brought into the order of the parameter's
/// dimensions. Errors: shape_mismatch, naming `what`.
const ir::Value* in_access_order(const TensorAccess& access, const ir::Value* value,
                                 std::string_view what, Loc loc);
/// The other way: a tile of the parameter's order as the user sees it.
const ir::Value* as_seen(const TensorAccess& access, const ir::Value* value, Loc loc);

/// A mask given by the user, broadcast to what the user sees; null when there is none. Errors:
/// function_dtype, shape_mismatch.
const ir::Value* mask_of(const MaybeOperand& mask, const TensorAccess& access, Loc loc);
/// It and the access's own mask, in the parameter's order; null when there is neither.
const ir::Value* whole_mask(const TensorAccess& access, const ir::Value* mask, Loc loc);

/// "'c'", or "a tensor" without a name.
std::string name_of_tensor(const ir::Value* tensor);

}  // namespace tilewright::dsl
