// Values of C types, for emulate.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/type.h"

namespace tilewright::testing {

enum class CType : uint8_t {
  boolean,
  i8,
  u8,
  i16,
  i32,
  u32,
  i64,
  u64,
  f8e4m3,
  f8e5m2,
  f16,
  bf16,
  f32,
  f64
};

/// What stops the emulation of a kernel; becomes one of its errors.
struct EmulationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

CType ctype_of(const std::string& type);  ///< of "int", "tw::bf16", ..
CType ctype_of(DType dtype);
int size_of(CType type);
bool is_floating(CType type);

/// A value; narrow floats are held as the float they stand for.
struct CValue {
  CType type = CType::i32;
  bool undefined = false;  ///< never assigned, or computed from what was not
  int64_t i = 0;
  double f = 0;

  static CValue integer(int64_t x, CType type = CType::i32) { return {type, false, x, 0}; }
  static CValue floating(double x, CType type = CType::f32) { return {type, false, 0, x}; }
  bool truth() const;
};

/// The C conversion (from float to integer: within range only).
CValue converted(const CValue& x, CType type);
CValue binary_value(const std::string& op, const CValue& x, const CValue& y);
CValue unary_value(const std::string& op, const CValue& x);
/// A function of values only: C's, or a device helper ("tw::max", "tw::to_int<int>").
using ValueFunction = std::function<CValue(const std::vector<CValue>&)>;
ValueFunction find_value_function(const std::string& name);

CValue load_value(DType dtype, const void* from);
void store_value(DType dtype, const CValue& value, void* to);

/// The element that a call of tw::float_at(array, i) reads.
inline codegen::ExprRef element_at(const codegen::Expr& call) {
  std::vector<codegen::ExprRef> at = call.args[0]->args;
  at.push_back(call.args[1]);
  return codegen::element(call.args[0]->text, std::move(at));
}

}  // namespace tilewright::testing
