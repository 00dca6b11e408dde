// How exactly a dot multiplies and adds, where the kernel asks for other than the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tilewright/ir/node.h"

namespace tilewright {

/// Of the products and sums of a dot. Each lets a matrix unit do what the default rules out or
/// takes longer for; a unit that computes more exactly may do so.
enum class DotPrecision : uint8_t {
  ieee,    ///< the default: exact products and sums rounded as the accumulator's type asks
  tf32,    ///< f32 operands rounded to 11 significant bits (TF32)
  tf32x3,  ///< f32 operands as sums of two TF32 numbers, in three products: nearly as good as f32
  two_level,  ///< f8 operands, whose partial sums are moved to an f32 accumulator often
};

std::string_view to_string(DotPrecision precision);  ///< "ieee", "tf32", "tf32x3", "two_level"
std::optional<DotPrecision> find_precision(std::string_view name);

namespace ir {

/// Whether a dot of operands of these dtypes can be asked for with `precision`.
bool takes_precision(DotPrecision precision, DType a, DType b);
/// What the attribute `precision` of a dot says; ieee when absent.
DotPrecision precision_of(const Op& dot);

}  // namespace ir
}  // namespace tilewright
