#include "tests/codegen/emulate_value.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "tilewright/runtime/numeric.h"
#include "tilewright/runtime/philox.h"

namespace tilewright::testing {
namespace {

using Values = std::vector<CValue>;

DType dtype_of(CType type) {
  switch (type) {
    case CType::boolean:
      return DType::boolean;
    case CType::i8:
      return DType::i8;
    case CType::u8:
      return DType::u8;
    case CType::i16:
      return DType::i16;
    case CType::i32:
      return DType::i32;
    case CType::i64:
      return DType::i64;
    case CType::f8e4m3:
      return DType::f8e4m3;
    case CType::f8e5m2:
      return DType::f8e5m2;
    case CType::f16:
      return DType::f16;
    case CType::bf16:
      return DType::bf16;
    case CType::f32:
      return DType::f32;
    case CType::f64:
      return DType::f64;
    default:
      throw EmulationError("an unsigned type has no dtype");
  }
}

numeric::Element element_of(const CValue& x) {
  if (!is_floating(x.type)) return x.i;
  if (x.type == CType::f64) return x.f;
  return static_cast<float>(x.f);
}

CValue from_element(const numeric::Element& x, CType type) {
  CValue result{type};
  std::visit(
      [&](auto value) {
        if (is_floating(type))
          result.f = static_cast<double>(value);
        else
          result.i = static_cast<int64_t>(value);
      },
      x);
  return result;
}

int64_t wrapped(int64_t x, CType type) {
  switch (type) {
    case CType::boolean:
      return x != 0;
    case CType::i8:
      return static_cast<int8_t>(x);
    case CType::u8:
      return static_cast<uint8_t>(x);
    case CType::i16:
      return static_cast<int16_t>(x);
    case CType::i32:
      return static_cast<int32_t>(x);
    case CType::u32:
      return static_cast<uint32_t>(x);
    default:
      return x;
  }
}

CType promoted(CType type) { return type < CType::i32 ? CType::i32 : type; }

bool is_narrow(CType type) { return type >= CType::f8e4m3 && type <= CType::bf16; }

/// The usual arithmetic conversions: the enumeration is in their order.
CType common(CType x, CType y) {
  if (is_narrow(x) || is_narrow(y)) throw EmulationError("arithmetic on a narrow float");
  return std::max(promoted(x), promoted(y));
}

bool is_comparison(const std::string& op) {
  return op == "<" || op == "<=" || op == ">" || op == ">=" || op == "==" || op == "!=";
}

template <class T>
bool compared(const std::string& op, T x, T y) {
  if (op == "<") return x < y;
  if (op == "<=") return x <= y;
  if (op == ">") return x > y;
  if (op == ">=") return x >= y;
  return (op == "==") == (x == y);
}

template <class T>
double arithmetic(const std::string& op, T x, T y) {
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  if (op == "/") return x / y;
  throw EmulationError("no such operator on floats: " + op);
}

__int128 integer_arithmetic(const std::string& op, __int128 x, __int128 y, CType type) {
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  if (op == "&") return x & y;
  if (op == "|") return x | y;
  if (op == "^") return x ^ y;
  if (op == ">>") return x >> static_cast<int>(y);
  if (op == "<<") return x << static_cast<int>(y);
  if (y == 0) throw EmulationError("division by zero");
  if (op == "/") return x / y;
  if (op == "%") return x % y;
  throw EmulationError(fmt::format("no such operator: {} on type {}", op, static_cast<int>(type)));
}

CValue integer_binary(const std::string& op, const CValue& x, const CValue& y, CType type) {
  const bool is_signed = type == CType::i32 || type == CType::i64;
  const auto wide = [&](const CValue& v) {
    return type == CType::u64 ? __int128(static_cast<uint64_t>(v.i)) : __int128(v.i);
  };
  if (is_comparison(op)) return CValue::integer(compared(op, wide(x), wide(y)), CType::boolean);
  const __int128 result = integer_arithmetic(op, wide(x), wide(y), type);
  const int64_t kept = wrapped(static_cast<int64_t>(result), type);
  if (is_signed && result != kept)
    throw EmulationError(fmt::format("overflow: {} {} {}", x.i, op, y.i));
  return CValue::integer(kept, type);
}

/// A value as a float, between its two neighbours the one with an odd last bit.
float to_odd(__float128 x) {
  const float near = static_cast<float>(x);
  if (static_cast<__float128>(near) == x || std::isinf(near) || std::isnan(near)) return near;
  if (std::bit_cast<uint32_t>(near) & 1) return near;
  return std::nextafter(near, static_cast<__float128>(near) < x
                                  ? std::numeric_limits<float>::infinity()
                                  : -std::numeric_limits<float>::infinity());
}

CValue apply(ir::Fn fn, CType type, const Values& x) {
  const DType dtype = dtype_of(type);
  if (x.size() == 1) return from_element(numeric::evaluate(fn, dtype, element_of(x[0])), type);
  return from_element(numeric::evaluate(fn, dtype, element_of(x[0]), element_of(x[1])), type);
}

const std::map<std::string, std::pair<ir::Fn, CType>>& tile_functions() {
  using ir::Fn;
  static const std::map<std::string, std::pair<Fn, CType>> table = [] {
    std::map<std::string, std::pair<Fn, CType>> made = {
        {"tw::max", {Fn::max, CType::f32}},        {"tw::min", {Fn::min, CType::f32}},
        {"tw::max_double", {Fn::max, CType::f64}}, {"tw::min_double", {Fn::min, CType::f64}},
        {"fabs", {Fn::abs, CType::f64}},           {"fabsf", {Fn::abs, CType::f32}},
        {"rint", {Fn::round, CType::f64}},         {"rintf", {Fn::round, CType::f32}},
        {"fmod", {Fn::rem, CType::f64}},           {"fmodf", {Fn::rem, CType::f32}}};
    for (Fn fn :
         {Fn::exp,  Fn::exp2, Fn::log,   Fn::log2, Fn::sqrt, Fn::rsqrt, Fn::sin,   Fn::cos,
          Fn::tanh, Fn::erf,  Fn::floor, Fn::ceil, Fn::pow,  Fn::log10, Fn::log1p, Fn::expm1,
          Fn::tan,  Fn::asin, Fn::acos,  Fn::atan, Fn::sinh, Fn::cosh,  Fn::trunc, Fn::atan2}) {
      const std::string name(ir::info(fn).name);
      made[name] = {fn, CType::f64};
      made[name + "f"] = {fn, CType::f32};
    }
    return made;
  }();
  return table;
}

/// Functions whose template argument names their type: "tw::div<int>".
ValueFunction typed_function(const std::string& name) {
  const size_t open = name.find('<');
  if (open == std::string::npos || name.back() != '>') return {};
  const std::string base = name.substr(0, open);
  const std::string argument = name.substr(open + 1, name.size() - open - 2);
  static const std::map<std::string, ir::Fn> table = {
      {"tw::div", ir::Fn::div}, {"tw::rem", ir::Fn::rem}, {"tw::abs", ir::Fn::abs}};
  if (auto found = table.find(base); found != table.end())
    return [fn = found->second, type = ctype_of(argument)](const Values& x) {
      Values same;
      for (const CValue& value : x) same.push_back(converted(value, type));
      return apply(fn, type, same);
    };
  if (base == "tw::philox")
    return [word = std::stoi(argument)](const Values& x) {
      return CValue::integer(static_cast<int32_t>(philox4x32(x[0].i, x[1].i, x[2].i).at(word)));
    };
  if (base == "tw::to_int")
    return [type = ctype_of(argument)](const Values& x) {
      return from_element(numeric::convert(dtype_of(type), dtype_of(x[0].type), element_of(x[0])),
                          type);
    };
  return {};
}

CValue extremum(bool greater, const Values& x) {
  // CUDA has no overload for two different signed types.
  if (promoted(x[0].type) != promoted(x[1].type))
    throw EmulationError("min or max of two different types");
  return (x[0].i < x[1].i) == greater ? x[1] : x[0];
}

CValue narrow_of(CType type, const CValue& x) {
  return from_element(numeric::convert(dtype_of(type), DType::f32, static_cast<float>(x.f)), type);
}

CValue odd_of(const CValue& x) {
  return CValue::floating(to_odd(is_floating(x.type) ? __float128(x.f) : __float128(x.i)));
}

/// To 11 significant bits, ties away from zero.
float tf32_of(double x) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (!std::isfinite(x)) return static_cast<float>(x);
  return std::bit_cast<float>((bits + 0x1000) & 0xffffe000);
}

const std::map<std::string, ValueFunction>& plain_functions() {
  static const std::map<std::string, ValueFunction> table = {
      {"min", [](const Values& x) { return extremum(false, x); }},
      {"max", [](const Values& x) { return extremum(true, x); }},
      {"fmaf",
       [](const Values& x) {
         return CValue::floating(std::fmaf(static_cast<float>(x[0].f), static_cast<float>(x[1].f),
                                           static_cast<float>(x[2].f)));
       }},
      {"fma",
       [](const Values& x) {
         return CValue::floating(std::fma(x[0].f, x[1].f, x[2].f), CType::f64);
       }},
      // What it tells of the smallest is not modelled: it is the quotient always.
      {"tw::quotient",
       [](const Values& x) {
         return apply(ir::Fn::div, CType::f32, {x[0], x[1]});
       }},
      {"tw::least_quotient", [](const Values&) { return CValue::floating(0); }},
      {"tw::fma_odd",
       [](const Values& x) {
         return CValue::floating(to_odd(__float128(x[0].f) * x[1].f + x[2].f));
       }},
      {"tw::to_float", [](const Values& x) { return CValue::floating(x[0].f); }},
      {"tw::to_tf32", [](const Values& x) { return CValue::floating(tf32_of(x[0].f)); }},
      {"tw::tf32_rest",
       [](const Values& x) {
         const float high = tf32_of(x[0].f);
         return CValue::floating(std::isinf(high) ? 0 : tf32_of(x[0].f - high));
       }},
      {"tw::to_f8e4m3", [](const Values& x) { return narrow_of(CType::f8e4m3, x[0]); }},
      {"tw::to_f8e5m2", [](const Values& x) { return narrow_of(CType::f8e5m2, x[0]); }},
      {"tw::to_f16", [](const Values& x) { return narrow_of(CType::f16, x[0]); }},
      {"tw::to_bf16", [](const Values& x) { return narrow_of(CType::bf16, x[0]); }},
      {"tw::to_odd", [](const Values& x) { return odd_of(x[0]); }},
      {"tw::infinity",
       [](const Values&) { return CValue::floating(std::numeric_limits<double>::infinity()); }},
      {"tw::nan",
       [](const Values&) { return CValue::floating(std::numeric_limits<double>::quiet_NaN()); }}};
  return table;
}

}  // namespace

CType ctype_of(const std::string& type) {
  static const std::map<std::string, CType> table = {{"bool", CType::boolean},
                                                     {"signed char", CType::i8},
                                                     {"unsigned char", CType::u8},
                                                     {"short", CType::i16},
                                                     {"int", CType::i32},
                                                     {"unsigned", CType::u32},
                                                     {"long long", CType::i64},
                                                     {"float", CType::f32},
                                                     {"unsigned long long", CType::u64},
                                                     {"double", CType::f64},
                                                     {"tw::f16", CType::f16},
                                                     {"tw::bf16", CType::bf16},
                                                     {"tw::f8e4m3", CType::f8e4m3},
                                                     {"tw::f8e5m2", CType::f8e5m2}};
  const auto found = table.find(type);
  if (found == table.end()) throw EmulationError("unknown type " + type);
  return found->second;
}

CType ctype_of(DType dtype) {
  constexpr CType table[] = {CType::boolean, CType::i8,   CType::u8,     CType::i16,
                             CType::i32,     CType::i64,  CType::f8e4m3, CType::f8e5m2,
                             CType::f16,     CType::bf16, CType::f32,    CType::f64};
  return table[static_cast<int>(dtype)];
}

int size_of(CType type) {
  constexpr int table[] = {1, 1, 1, 2, 4, 4, 8, 8, 1, 1, 2, 2, 4, 8};
  return table[static_cast<int>(type)];
}

bool is_floating(CType type) { return type >= CType::f8e4m3; }

bool CValue::truth() const {
  if (undefined) throw EmulationError("a decision on a value that was never assigned");
  return is_floating(type) ? f != 0 : i != 0;
}

CValue converted(const CValue& x, CType type) {
  if (x.type == type) return x;
  CValue result{type, x.undefined};
  if (x.undefined) return result;
  if (is_narrow(type)) throw EmulationError("a plain conversion to a narrow float");
  if (is_floating(type)) {
    result.f = is_floating(x.type) ? x.f : static_cast<double>(x.i);
    if (type == CType::f32)
      result.f = is_floating(x.type) ? static_cast<float>(x.f) : static_cast<float>(x.i);
  } else if (type == CType::boolean) {
    result.i = is_floating(x.type) ? x.f != 0 : x.i != 0;
  } else {
    result.i = wrapped(is_floating(x.type) ? static_cast<int64_t>(x.f) : x.i, type);
  }
  return result;
}

CValue unary_value(const std::string& op, const CValue& x) {
  if (op == "!") {
    if (x.undefined) return {CType::boolean, true};
    return CValue::integer(!x.truth(), CType::boolean);
  }
  CValue result = is_floating(x.type) ? x : converted(x, promoted(x.type));
  if (op == "-") {
    result.f = -result.f;
    result.i = wrapped(static_cast<int64_t>(-static_cast<uint64_t>(result.i)), result.type);
  } else if (op == "~") {
    result.i = wrapped(~result.i, result.type);
  } else {
    throw EmulationError("no such operator: " + op);
  }
  return result;
}

CValue binary_value(const std::string& op, const CValue& x, const CValue& y) {
  const CType type = op == "<<" || op == ">>" ? promoted(x.type) : common(x.type, y.type);
  if (x.undefined || y.undefined)
    return {is_comparison(op) ? CType::boolean : type, /*undefined=*/true};
  const CValue a = converted(x, type), b = converted(y, type);
  if (!is_floating(type)) return integer_binary(op, a, b, type);
  if (is_comparison(op)) return CValue::integer(compared(op, a.f, b.f), CType::boolean);
  const double result = type == CType::f64
                            ? arithmetic(op, a.f, b.f)
                            : arithmetic(op, static_cast<float>(a.f), static_cast<float>(b.f));
  return CValue::floating(result, type);
}

ValueFunction find_value_function(const std::string& name) {
  if (auto found = plain_functions().find(name); found != plain_functions().end())
    return found->second;
  if (auto found = tile_functions().find(name); found != tile_functions().end())
    return [fn = found->second.first, type = found->second.second](const Values& x) {
      return apply(fn, type, x);
    };
  return typed_function(name);
}

CValue load_value(DType dtype, const void* from) {
  int64_t bits = 0;
  numeric::load_kernel(dtype)(from, 1, &bits, 1);
  const CType type = ctype_of(dtype);
  switch (numeric::storage_of(dtype)) {
    case numeric::Storage::f32:
      return CValue::floating(std::bit_cast<float>(static_cast<uint32_t>(bits)), type);
    case numeric::Storage::f64:
      return CValue::floating(std::bit_cast<double>(bits), type);
    case numeric::Storage::i64:
      break;
  }
  return CValue::integer(bits, type);
}

void store_value(DType dtype, const CValue& value, void* to) {
  int64_t bits = value.i;
  const numeric::Storage storage = numeric::storage_of(dtype);
  if (storage == numeric::Storage::f32) bits = std::bit_cast<uint32_t>(static_cast<float>(value.f));
  if (storage == numeric::Storage::f64) bits = std::bit_cast<int64_t>(value.f);
  numeric::store_kernel(dtype)(&bits, to, 1, 1);
}

}  // namespace tilewright::testing
