// What the operators of the language share: dtypes of literals, broadcasting, checks of dtypes.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "tilewright/dsl/operand.h"
#include "tilewright/ir/builder.h"

namespace tilewright::dsl {

/// A scalar constant at the trace's position. Errors: literal_dtype when the number is not of the
/// dtype's kind, or an integer out of its range.
const ir::Value* constant_of(const LiteralValue& value, DType dtype, Loc loc);

/// Whether a number is a value of a dtype: of its kind, an integer within its range.
bool is_number_of(const LiteralValue& value, DType dtype);
std::string text_of(const LiteralValue& value);

/// The operand's value; a literal becomes a scalar of `dtype`.
const ir::Value* materialize(const Operand& operand, DType dtype, Loc loc);

/// The dtype that all operands have, literals aside. Errors: dtype_mismatch, literals_only; `what`
/// names the operation.
DType common_dtype(std::string_view what, std::initializer_list<const Operand*> operands, Loc loc);

/// The shape all of these stretch to. Errors: shape_mismatch.
ir::Shape common_shape(std::string_view what, const std::vector<const ir::Value*>& values, Loc loc);

/// Whether `from` stretches to `to`: aligned at the last dimension, missing and size-1 ones
/// stretch.
bool broadcasts_to(const ir::Shape& from, const ir::Shape& to);
/// x stretched to a shape it broadcasts to.
const ir::Value* broadcast(const ir::Value* x, const ir::Shape& shape);

/// Whether a store converts `from` to `to` by itself: all but float to integer and anything to
/// bool.
bool stores_implicitly(DType from, DType to);

/// The builder of the trace in progress, at `loc`. Scalars may be computed anywhere in a kernel;
/// tiles exist only in loops, because what makes the first of them checks that.
/// Errors: outside_trace.
ir::Builder& builder_at(std::string_view what, Loc loc);

/// The value of an integer scalar as i64. Errors: not_a_scalar, where `what` names its use.
const ir::Value* integer_scalar(const Operand& scalar, std::string_view what, Loc loc);

/// Errors: function_dtype unless `fn` takes `dtype`.
void expect_accepts(ir::Fn fn, DType dtype, Loc loc);
/// Errors: function_dtype unless `x` is bool.
void expect_bool(std::string_view what, DType dtype, Loc loc);

}  // namespace tilewright::dsl
