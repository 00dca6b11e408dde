#include "tilewright/dsl/debug.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/print_format.h"

namespace tilewright {
namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

constexpr size_t kMostValues = 32;  // that CUDA's printf takes

/// The slices of the loops around the place where operations are made, outermost first.
std::vector<const Value*> open_slices(const ir::Region* region) {
  std::vector<const Value*> slices;
  for (; region != nullptr && region->parent != nullptr; region = region->parent->parent)
    for (size_t i = region->args.size(); i-- > 0;)
      if (region->args[i]->type.kind == ir::Type::Kind::slice)
        slices.insert(slices.begin(), region->args[i]);
  return slices;
}

bool is_of_grid(const Value* slice) {
  return slice->owner->parent->integer_or(AttrKey::parallel, 0) != 0;
}

/// The text "(program (0, 1), element [2])" with its values, and which elements there are.
class Place {
 public:
  Place(ir::Builder& builder, const ir::Shape& shape) : builder_(builder), shape_(shape) {
    const std::vector<const Value*> slices = open_slices(builder.region());
    std::vector<std::string_view> marks;
    for (const Value* slice : slices) {
      if (!is_of_grid(slice)) continue;
      values.push_back(builder.fill(builder.slice_id(slice), shape));
      marks.push_back("{}");
    }
    text = fmt::format(" (program ({})", fmt::join(marks, ", "));
    valid = builder.fill(builder.constant(DType::boolean, int64_t{1}), shape);
    marks.clear();
    for (size_t d = 0; d < shape.size(); ++d) {
      add_position(slices, d);
      marks.push_back("{}");
    }
    text += shape.empty() ? ")" : fmt::format(", element [{}])", fmt::join(marks, ", "));
  }

  std::string text;
  std::vector<const Value*> values;
  const Value* valid;

 private:
  void add_position(const std::vector<const Value*>& slices, size_t d) {
    const ir::Dim& dim = shape_[d];
    const Value* slice = nullptr;
    for (const Value* open : slices)
      if (dim.is_block() && open->type.shape[0] == dim) slice = open;
    const Value* position = slice != nullptr ? builder_.slice_index(slice) : builder_.iota(dim);
    if (slice != nullptr) {
      const Value* end = builder_.fill(builder_.slice_end(slice), {dim});
      const Value* inside = spread(builder_.compare(ir::Fn::lt, position, end), d);
      valid = builder_.binary(ir::Fn::bit_and, valid, inside);
    }
    values.push_back(spread(position, d));
  }

  const Value* spread(const Value* along, size_t d) {
    return builder_.broadcast(along, shape_, {static_cast<int64_t>(d)});
  }

  ir::Builder& builder_;
  const ir::Shape& shape_;
};

/// A C++ number has the type that its kind suggests.
const Value* value_of(const Operand& x, Loc loc) {
  if (x.value() != nullptr) return x.value();
  const dsl::LiteralValue& literal = x.literal();
  const DType dtype = std::holds_alternative<bool>(literal)      ? DType::boolean
                      : std::holds_alternative<int64_t>(literal) ? DType::i64
                                                                 : DType::f64;
  return dsl::constant_of(literal, dtype, loc);
}

std::string doubled_braces(std::string_view text) {
  std::string result;
  for (char c : text) result.append(c == '{' || c == '}' ? 2 : 1, c);
  return result;
}

void check_format(const dsl::TextAt& format, size_t values, const Place& place) {
  const auto refuse = [&](const std::string& why) {
    raise(ErrorId::print_format, format.loc, "print", format.text, why);
  };
  const ir::PrintFormat parsed = ir::parse_print_format(format.text);
  if (!parsed.fault.empty()) refuse(parsed.fault);
  if (parsed.values() != values)
    refuse(fmt::format("the text has {} places for values, and {} values are given",
                       parsed.values(), values));
  if (values + place.values.size() > kMostValues)
    refuse(fmt::format("a line has at most {} values, {} of them the place", kMostValues,
                       place.values.size()));
}

}  // namespace

void dsl::print(const TextAt& format, const std::vector<Operand>& values) {
  ir::Builder& builder = Trace::current("tw::print", format.loc).in_loop("tw::print", format.loc);
  std::vector<const Value*> read;
  for (const Operand& value : values) read.push_back(value_of(value, format.loc));
  const ir::Shape shape = common_shape("tw::print", read, format.loc);
  const Place place(builder, shape);
  check_format(format, values.size(), place);
  std::vector<const Value*> operands = {place.valid};
  for (const Value* value : read) operands.push_back(broadcast(value, shape));
  operands.insert(operands.end(), place.values.begin(), place.values.end());
  builder.loc = format.loc;
  builder.create(OpKind::print, operands,
                 {{AttrKey::format, std::string(format.text) + place.text}});
}

void device_assert(const Operand& condition, dsl::TextAt message) {
  const Loc loc = message.loc;
  ir::Builder& builder =
      dsl::Trace::current("tw::device_assert", loc).in_loop("tw::device_assert", loc);
  const Value* holds = dsl::materialize(condition, DType::boolean, loc);
  dsl::expect_bool("tw::device_assert", holds->type.dtype, loc);
  const Place place(builder, holds->type.shape);
  const Value* fails = builder.unary(ir::Fn::bit_not, holds);
  std::vector<const Value*> operands = {builder.binary(ir::Fn::bit_and, place.valid, fails)};
  operands.insert(operands.end(), place.values.begin(), place.values.end());
  builder.create(OpKind::print, operands,
                 {{AttrKey::format, doubled_braces(message.text) + place.text},
                  {AttrKey::fatal, std::string(message.text)}});
}

}  // namespace tilewright
