// How the constructors of kernel_ir.h fold index expressions; for kernel_ir.cpp.
#pragma once

#include <optional>
#include <string>

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::codegen::fold {

/// C's value of `x op y` on integers; nullopt where it has none (division by zero, overflow of 64
/// bits, an unknown operator).
std::optional<int64_t> compute(const std::string& op, int64_t x, int64_t y);

/// A simpler expression equal to `x op y`; null when there is none.
ExprRef binary(const std::string& op, const ExprRef& x, const ExprRef& y);
ExprRef unary(const std::string& op, const ExprRef& x);
/// The plain node, nothing folded.
ExprRef raw_binary(std::string op, ExprRef x, ExprRef y);

/// Whether an index expression cannot be negative, taking variables as not negative.
bool is_nonnegative(const Expr& x);
/// The largest value an index expression can have, where its form tells.
std::optional<int64_t> upper_bound(const Expr& x);

}  // namespace tilewright::codegen::fold
