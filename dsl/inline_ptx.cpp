#include "tilewright/dsl/inline_ptx.h"

#include <fmt/format.h>

#include <cctype>

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using ir::AttrKey;
using ir::Value;

/// The highest operand that the text names, -1 for none; %% is a percent sign, as in %%tid.x.
int highest_operand(std::string_view ptx) {
  int highest = -1;
  for (size_t i = 0; i + 1 < ptx.size(); ++i) {
    if (ptx[i] != '%') continue;
    const char next = ptx[i + 1];
    if (std::isdigit(static_cast<unsigned char>(next)))
      highest = std::max(highest, std::atoi(std::string(ptx.substr(i + 1, 3)).c_str()));
    i += next == '%';
  }
  return highest;
}

/// The C++ type, named by its dtype, as which a host function sees elements.
DType host_type(DType dtype) { return is_narrow_float(dtype) ? DType::f32 : dtype; }

void check_types(std::string_view ptx, DType dtype, const std::vector<const Value*>& x,
                 const dsl::HostTwin& twin, Loc loc) {
  std::vector<DType> types = {dtype};
  for (const Value* value : x) types.push_back(value->type.dtype);
  for (const DType type : types)
    if (type == DType::boolean || is_f8(type))
      raise(ErrorId::ptx_operands, loc, ptx,
            fmt::format("{} has no register; cast it to another type", to_string(type)));
  if (twin.function == nullptr) return;
  if (twin.types.size() != types.size())
    raise(ErrorId::ptx_operands, loc, ptx,
          fmt::format("the host function takes {} arguments, and there are {} operands",
                      twin.types.size() - 1, x.size()));
  for (size_t i = 0; i < types.size(); ++i)
    if (twin.types[i] != host_type(types[i]))
      raise(ErrorId::ptx_operands, loc, ptx,
            fmt::format("%{} is {}, so the host function must have {} there, not {}", i,
                        to_string(types[i]), to_string(host_type(types[i])),
                        to_string(twin.types[i])));
}

}  // namespace

Tile dsl::inline_ptx(std::string_view ptx, DType dtype, const std::vector<Operand>& x,
                     const HostTwin& twin, Loc loc) {
  ir::Builder& builder = Trace::current("tw::inline_ptx", loc).in_loop("tw::inline_ptx", loc);
  std::vector<const Value*> values;
  for (const Operand& operand : x) {
    if (operand.value() == nullptr)
      raise(ErrorId::ptx_operands, loc, ptx,
            fmt::format("operand %{} is a C++ number, which has no dtype; write tw::full or "
                        "tw::Scalar",
                        values.size() + 1));
    values.push_back(operand.value());
  }
  if (values.empty()) raise(ErrorId::ptx_operands, loc, ptx, "it has no operand");
  const int highest = highest_operand(ptx);
  if (highest < 0 || highest > static_cast<int>(values.size()))
    raise(ErrorId::ptx_operands, loc, ptx,
          fmt::format("the operands are %0, the result, to %{}; found {}", values.size(),
                      highest < 0 ? "none" : fmt::format("%{}", highest)));
  check_types(ptx, dtype, values, twin, loc);
  const ir::Shape shape = common_shape("tw::inline_ptx", values, loc);
  for (const Value*& value : values) value = broadcast(value, shape);
  std::vector<std::pair<AttrKey, ir::Attr>> attributes = {{AttrKey::ptx, std::string(ptx)}};
  if (twin.function != nullptr)
    attributes.emplace_back(AttrKey::twin,
                            ir::register_host_function(twin.identity, twin.function));
  const ir::Type type = ir::Type::value(dtype, shape);
  builder.loc = loc;
  return tile_of(
      builder.create(ir::OpKind::inline_ptx, values, std::move(attributes), &type)->result(), loc);
}

Tile inline_ptx(std::string_view ptx, DType dtype, std::initializer_list<Operand> x, Loc loc) {
  return dsl::inline_ptx(ptx, dtype, x, {}, loc);
}

}  // namespace tilewright
