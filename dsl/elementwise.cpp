#include "tilewright/dsl/elementwise.h"

#include <limits>

#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

/// Whether an integer is a value of an integer dtype.
bool in_range(int64_t value, DType dtype) {
  if (dtype == DType::i64) return true;
  const int bits = 8 * size_of(dtype);
  if (dtype == DType::u8) return value >= 0 && value <= std::numeric_limits<uint8_t>::max();
  return value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << (bits - 1));
}

}  // namespace

std::string text_of(const LiteralValue& value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

bool is_number_of(const LiteralValue& value, DType dtype) {
  if (std::holds_alternative<bool>(value)) return dtype == DType::boolean;
  const int64_t* integer = std::get_if<int64_t>(&value);
  if (integer == nullptr) return is_float(dtype);
  return is_float(dtype) || (is_integer(dtype) && in_range(*integer, dtype));
}

const ir::Value* constant_of(const LiteralValue& value, DType dtype, Loc loc) {
  ir::Builder& builder = Trace::current("a number", loc).at(loc);
  const bool* truth = std::get_if<bool>(&value);
  const int64_t* integer = std::get_if<int64_t>(&value);
  const double* real = std::get_if<double>(&value);
  if (dtype == DType::boolean && truth != nullptr) return builder.constant(dtype, int64_t{*truth});
  if (is_float(dtype) && integer != nullptr)
    return builder.constant(dtype, static_cast<double>(*integer));
  if (is_float(dtype) && real != nullptr) return builder.constant(dtype, *real);
  if (is_integer(dtype) && integer != nullptr && in_range(*integer, dtype))
    return builder.constant(dtype, *integer);
  raise(ErrorId::literal_dtype, loc, text_of(value), to_string(dtype));
}

const ir::Value* materialize(const Operand& operand, DType dtype, Loc loc) {
  if (operand.value() != nullptr) return operand.value();
  return constant_of(operand.literal(), dtype, loc);
}

DType common_dtype(std::string_view what, std::initializer_list<const Operand*> operands, Loc loc) {
  std::optional<DType> dtype;
  for (const Operand* operand : operands) {
    if (operand->value() == nullptr) continue;
    const DType found = operand->value()->type.dtype;
    if (dtype && *dtype != found)
      raise(ErrorId::dtype_mismatch, loc, what, to_string(*dtype), to_string(found));
    dtype = found;
  }
  if (!dtype) raise(ErrorId::literals_only, loc, what);
  return *dtype;
}

ir::Shape common_shape(std::string_view what, const std::vector<const ir::Value*>& values,
                       Loc loc) {
  ir::Shape result;
  for (const ir::Value* value : values) {
    const ir::Shape& shape = value->type.shape;
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), ir::Dim::constant(1));
    for (size_t i = 0; i < shape.size(); ++i) {
      ir::Dim& dim = result[result.size() - shape.size() + i];
      if (dim == ir::Dim::constant(1))
        dim = shape[i];
      else if (shape[i] != dim && shape[i] != ir::Dim::constant(1))
        raise(ErrorId::shape_mismatch, loc, what, describe(values.front()->type.shape),
              describe(shape));
    }
  }
  return result;
}

bool broadcasts_to(const ir::Shape& from, const ir::Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const ir::Dim& target = to[to.size() - from.size() + i];
    if (from[i] != target && from[i] != ir::Dim::constant(1)) return false;
  }
  return true;
}

const ir::Value* broadcast(const ir::Value* x, const ir::Shape& shape) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < x->type.shape.size(); ++i)
    dims.push_back(static_cast<int64_t>(shape.size() - x->type.shape.size() + i));
  return Trace::current("a broadcast", Loc{}).at(Loc{}).broadcast(x, shape, std::move(dims));
}

bool stores_implicitly(DType from, DType to) {
  if (from == to || is_float(to)) return true;
  return is_integer(to) && !is_float(from);
}

ir::Builder& builder_at(std::string_view what, Loc loc) {
  return Trace::current(what, loc).at(loc);
}

const ir::Value* integer_scalar(const Operand& scalar, std::string_view what, Loc loc) {
  const ir::Type& type = scalar.value()->type;
  if (!type.is_scalar() || !is_integer(type.dtype))
    raise(ErrorId::not_a_scalar, loc, what, "i64", describe(type));
  return builder_at(what, loc).cast(scalar.value(), DType::i64);
}

void expect_accepts(ir::Fn fn, DType dtype, Loc loc) {
  if (ir::accepts(fn, dtype)) return;
  constexpr std::string_view domains[] = {"any", "number", "float", "integer or bool"};
  raise(ErrorId::function_dtype, loc, ir::info(fn).name,
        domains[static_cast<int>(ir::info(fn).domain)], to_string(dtype));
}

void expect_bool(std::string_view what, DType dtype, Loc loc) {
  if (dtype != DType::boolean) raise(ErrorId::function_dtype, loc, what, "bool", to_string(dtype));
}

}  // namespace tilewright::dsl
