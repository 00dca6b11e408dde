#include "tilewright/codegen/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

constexpr int64_t kBlock = 4096;  // elements that one block of threads fills

/// The byte that all bytes of the value are; none where they differ.
std::optional<int> byte_of(const ir::Attr& value) {
  if (const double* real = std::get_if<double>(&value))
    return *real == 0 && !std::signbit(*real) ? std::optional(0) : std::nullopt;
  const int64_t integer = std::get<int64_t>(value);
  if (integer == 0) return 0;
  return integer == -1 ? std::optional(0xff) : std::nullopt;
}

ir::Function fill_kernel(const ir::Function& of, const ir::Param& param) {
  ir::Function fn;
  fn.name = fmt::format("{}_fill_{}", of.name, param.name);
  fn.loc = of.loc;
  TensorSpec row = contiguous_spec(param.spec.dtype, {param.spec.elements()});
  row.alignment = param.spec.alignment;
  ir::Value* tensor = fn.new_value(ir::Type::tensor(row.dtype, 1));
  tensor->name = param.name;
  fn.params.push_back({tensor, param.name, row, true});
  fn.results = {0};
  ir::Axis axis;
  axis.name = "positions";
  fn.axes.push_back(std::move(axis));
  ir::Builder builder(fn);
  builder.loc = of.loc;
  ir::Op* loop = builder.tile_loop({0}, true, {builder.index(0)}, {builder.dim(tensor, 0)}, {});
  const ir::Builder::Scope body(builder, ir::Builder::region_of(loop, 0));
  const ir::Value* value = is_float(row.dtype)
                               ? builder.constant(row.dtype, std::get<double>(*param.fill))
                               : builder.constant(row.dtype, std::get<int64_t>(*param.fill));
  builder.store(tensor, builder.fill(value, {ir::Dim::block(0)}), ir::LoopView(*loop).slices);
  builder.yield({});
  return fn;
}

Config fill_config(int64_t elements) {
  Config config;
  const auto whole = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(elements)));
  config.block = {std::min(kBlock, whole)};
  config.warps = 4;
  config.stages = 1;
  config.copy = CopyKind::sync;
  return config;
}

}  // namespace

std::vector<TensorFill> fills_of(const ir::Function& fn) {
  std::vector<TensorFill> fills;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const ir::Param& param = fn.params[i];
    if (!param.fill || param.spec.elements() == 0) continue;
    TensorFill& fill = fills.emplace_back();
    fill.param = static_cast<int>(i);
    fill.byte = byte_of(*param.fill);
    if (param.spec.dtype == DType::boolean && fill.byte == 0xff) fill.byte = 1;
    if (fill.byte) continue;
    fill.kernel = fill_kernel(fn, param);
    fill.config = fill_config(param.spec.elements());
  }
  return fills;
}

}  // namespace tilewright::codegen
