#include "tilewright/codegen/byte_fields.h"

#include <algorithm>
#include <bit>

#include "tilewright/ir/facts_arithmetic.h"

namespace tilewright::codegen {
namespace {

using ir::Fn;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool is_signed(DType dtype) { return dtype != DType::u8 && dtype != DType::boolean; }

/// The number that every element of a tile, or a scalar, is.
std::optional<int64_t> constant_of(const Value* value) {
  const Op* op = value->def;
  if (op != nullptr && op->kind == OpKind::broadcast) op = op->operand(0)->def;
  if (op == nullptr || op->kind != OpKind::constant || is_float(op->result()->type.dtype))
    return std::nullopt;
  return op->integer(ir::AttrKey::value);
}

/// A field moved up by `left` bits.
struct Moved {
  ByteField field;
  int left = 0;
};

/// Follows a value to the bytes it is made of. Each step says what becomes of the field, or that
/// the result is none.
class Finder {
 public:
  Finder(const ir::Facts& facts, const std::function<bool(const Value*)>& is_held)
      : facts_(facts), is_held_(is_held) {}

  std::optional<Moved> find(const Value* value) const {
    const DType dtype = value->type.dtype;
    if (!value->type.is_tile() || is_float(dtype)) return std::nullopt;
    if (is_held_(value)) return held(value);
    const Op* op = value->def;
    if (op == nullptr) return std::nullopt;
    if (op->kind == OpKind::cast) return cast(*op);
    if (op->kind == OpKind::permute) return permute(*op);
    return op->kind == OpKind::binary ? binary(*op) : std::nullopt;
  }

 private:
  static std::optional<Moved> held(const Value* value) {
    const DType dtype = value->type.dtype;
    if (dtype != DType::i8 && dtype != DType::u8) return std::nullopt;
    Moved moved{{.bytes = value, .is_signed = is_signed(dtype)}};
    for (size_t i = 0; i < value->type.shape.size(); ++i)
      moved.field.axis.push_back(static_cast<int>(i));
    return moved;
  }

  std::optional<Moved> cast(const Op& op) const {
    const ir::Range from = facts_.range(op.operand(0));
    const ir::Range to = ir::full_range(op.result()->type.dtype);
    if (from.min < to.min || from.max > to.max) return std::nullopt;
    return find(op.operand(0));
  }

  std::optional<Moved> permute(const Op& op) const {
    std::optional<Moved> moved = find(op.operand(0));
    if (!moved) return std::nullopt;
    const std::vector<int> before = moved->field.axis;
    const auto& dims = op.integers(ir::AttrKey::dims);
    for (size_t i = 0; i < dims.size(); ++i) moved->field.axis[i] = before.at(dims[i]);
    return moved;
  }

  std::optional<Moved> binary(const Op& op) const {
    const Value *x = op.operand(0), *y = op.operand(1);
    const bool exchanged = constant_of(x).has_value();
    if (exchanged && op.fn() != Fn::add && op.fn() != Fn::bit_and) return std::nullopt;
    if (exchanged) std::swap(x, y);
    const std::optional<int64_t> constant = constant_of(y);
    if (!constant) return std::nullopt;
    std::optional<Moved> moved = find(x);
    if (!moved) return std::nullopt;
    const DType dtype = op.result()->type.dtype;
    const auto count = static_cast<int>(*constant & (8 * size_of(dtype) - 1));
    switch (op.fn()) {
      case Fn::add:
        return add(*moved, facts_.range(x), dtype, *constant);
      case Fn::sub:
        return add(*moved, facts_.range(x), dtype, -*constant);
      case Fn::bit_and:
        return mask(*moved, *constant);
      case Fn::shl:
        return shift_left(*moved, dtype, count);
      case Fn::shr:
        return shift_right(*moved, count);
      default:
        return std::nullopt;
    }
  }

  static std::optional<Moved> add(Moved moved, const ir::Range& range, DType dtype, int64_t plus) {
    const ir::Range all = ir::full_range(dtype);
    const bool small = plus > -1024 && plus < 1024 && range.max < (int64_t{1} << 32) &&
                       range.min > -(int64_t{1} << 32);
    if (!small || moved.left != 0 || range.min + plus < all.min || range.max + plus > all.max)
      return std::nullopt;
    moved.field.plus += plus;
    return moved;
  }

  static std::optional<Moved> mask(Moved moved, int64_t bits) {
    ByteField& field = moved.field;
    if (bits <= 0 || (bits & (bits + 1)) != 0 || field.plus != 0 || moved.left != 0)
      return std::nullopt;
    const int width = std::popcount(static_cast<uint64_t>(bits));
    if (field.is_signed && width > field.width) return std::nullopt;  // copies of the sign
    field.width = std::min(field.width, width);
    field.is_signed = false;
    return moved;
  }

  static std::optional<Moved> shift_left(Moved moved, DType dtype, int count) {
    ByteField& field = moved.field;
    moved.left += count;
    const int room = 8 * size_of(dtype) - moved.left;
    if (field.plus != 0 || room <= 0) return std::nullopt;
    if (field.width >= room) {  // its top bit is the type's
      field.width = room;
      field.is_signed = is_signed(dtype);
    }
    return moved;
  }

  static std::optional<Moved> shift_right(Moved moved, int count) {
    ByteField& field = moved.field;
    if (field.plus != 0) return std::nullopt;
    const int back = std::min(count, moved.left);
    moved.left -= back;
    field.first += count - back;
    field.width -= count - back;
    if (field.width <= 0) return std::nullopt;
    return moved;
  }

  const ir::Facts& facts_;
  const std::function<bool(const Value*)>& is_held_;
};

}  // namespace

std::optional<ByteField> byte_field(const ir::Facts& facts, const Value* value,
                                    const std::function<bool(const Value*)>& is_held) {
  std::optional<Moved> moved = Finder(facts, is_held).find(value);
  if (!moved || moved->left != 0) return std::nullopt;
  return std::move(moved->field);
}

}  // namespace tilewright::codegen
