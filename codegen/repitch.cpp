#include "tilewright/codegen/repitch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Adds the tensors that are loaded to compute `value`.
void add_sources(const Value* value, std::unordered_set<const Value*>& seen,
                 std::unordered_set<const Value*>& tensors) {
  const Op* op = value->def;
  if (op == nullptr || !value->type.is_tile() || !seen.insert(value).second) return;
  // What is gathered is not copied in bulk.
  if (op->kind == OpKind::load && ir::is_plain_access(*op)) tensors.insert(op->operand(0));
  if (op->effect() != ir::Effect::pure) return;
  for (const Value* operand : op->operands) add_sources(operand, seen, tensors);
}

/// Dimensions, the fastest in memory first. Those that repeat one element and those of size 1 have
/// no place of their own and come last.
std::vector<int> by_stride(const TensorSpec& tensor) {
  std::vector<int> dims(tensor.sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  // Of equal ones the last is the fastest, as in row-major memory.
  std::ranges::reverse(dims);
  const auto rank = [&](int d) {
    const bool walked = tensor.sizes[d] > 1 && tensor.strides[d] > 0;
    return std::pair(!walked, walked ? tensor.strides[d] : 0);
  };
  std::ranges::stable_sort(dims, {}, rank);
  return dims;
}

int64_t padded_row(const TensorSpec& tensor, int dim) {
  const int64_t multiple = kMapAlignment / size_of(tensor.dtype);
  return (tensor.sizes[dim] + multiple - 1) / multiple * multiple;
}

// A warp reads neighbouring elements one by one, since rows are aligned to one element only; every
// thread has this many loads in flight, and stores runs of `store_bytes`.
constexpr int64_t kElementsPerThread = 16;
constexpr int kWarps = 8;
constexpr int64_t kRow = 512;  // elements of a tile along the fastest dimension

// Wide runs cost the loads: the lanes of a warp are a run apart.
int store_bytes(DType dtype) { return size_of(dtype) == 1 ? 4 : 8; }

Config copy_config(const TensorSpec& padded, const std::vector<int>& order) {
  Config config;
  config.block.assign(padded.sizes.size(), 1);
  int64_t left = kElementsPerThread * kWarps * 32;
  for (size_t i = 0; i < std::min<size_t>(order.size(), 2); ++i) {
    const auto size = std::bit_ceil(static_cast<uint64_t>(padded.sizes[order[i]]));
    const int64_t block = std::min<int64_t>(i == 0 ? kRow : left, static_cast<int64_t>(size));
    config.block[order[i]] = block;
    left /= block;
  }
  config.warps = kWarps;
  config.stages = 1;
  config.copy = CopyKind::sync;
  config.vector = store_bytes(padded.dtype);
  return config;
}

const Value* add_param(ir::Function& fn, const std::string& name, const TensorSpec& spec,
                       bool allocated) {
  Value* value = fn.new_value(ir::Type::tensor(spec.dtype, spec.rank()));
  value->name = name;
  value->index = static_cast<int>(fn.params.size());
  fn.params.push_back({value, name, spec, allocated});
  return value;
}

/// "a_padded", or more of it when the function has a parameter of that name.
std::string copy_name(const ir::Function& fn, const std::string& tensor) {
  std::string name = tensor + "_padded";
  const auto taken = [&] {
    return std::ranges::any_of(fn.params,
                               [&](const ir::Param& param) { return param.name == name; });
  };
  while (taken()) name += "_copy";
  return name;
}

/// for (tile : sizes) copy[tile] = tensor[tile]. Padding gets the zeros that loads past the
/// tensor's end give, so that stores are whole runs.
PaddingCopy make_copy(const ir::Function& fn, int index) {
  const ir::Param& param = fn.params[static_cast<size_t>(index)];
  const std::vector<int> order = by_stride(param.spec);
  TensorSpec padded = padded_spec(param.spec);
  padded.sizes[order[0]] = padded_row(param.spec, order[0]);

  PaddingCopy made;
  made.param = index;
  made.config = copy_config(padded, order);
  made.bytes = padded.elements() * size_of(padded.dtype);
  made.fn.name = fmt::format("{}_pad_{}", fn.name, param.name);
  made.fn.loc = fn.loc;
  ir::Builder builder(made.fn);
  builder.loc = fn.loc;
  const Value* from = add_param(made.fn, param.name, param.spec, false);
  const Value* to = add_param(made.fn, copy_name(fn, param.name), padded, true);
  made.fn.results = {1};
  std::vector<int64_t> axes;
  std::vector<const Value*> begins, limits;
  for (int d = 0; d < padded.rank(); ++d) {
    axes.push_back(d);
    ir::Axis axis;
    axis.name = d == order[0] ? "columns" : padded.rank() > 1 && d == order[1] ? "rows" : "";
    made.fn.axes.push_back(std::move(axis));
    begins.push_back(builder.index(0));
    limits.push_back(builder.dim(to, d));
  }
  Op* loop = builder.tile_loop(axes, true, begins, limits, {});
  const ir::Builder::Scope body(builder, ir::Builder::region_of(loop, 0));
  const std::vector<const Value*> tile = ir::LoopView(*loop).slices;
  builder.store(to, builder.load(from, tile), tile);
  builder.yield({});
  return made;
}

}  // namespace

TensorSpec padded_spec(const TensorSpec& tensor) {
  const std::vector<int> order = by_stride(tensor);
  TensorSpec padded = tensor;
  padded.alignment = kMapAlignment;
  int64_t stride = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    padded.strides[order[i]] = stride;
    stride *= i == 0 ? padded_row(tensor, order[i]) : tensor.sizes[order[i]];
  }
  return padded;
}

std::vector<int> params_to_repitch(const ir::Function& fn, const std::vector<bool>& written) {
  std::unordered_set<const Value*> seen, tensors;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::dot) return;
    for (int side = 0; side < 2; ++side) add_sources(op.operand(side), seen, tensors);
  });
  std::vector<int> found;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const ir::Param& param = fn.params[i];
    if (tensors.contains(param.value) && !written.at(i) && !param.spec.dynamic &&
        param.spec.elements() > 0 && !takes_tensor_map(param.spec) &&
        takes_tensor_map(padded_spec(param.spec)))
      found.push_back(static_cast<int>(i));
  }
  return found;
}

Repitched repitch(const ir::Function& fn, const std::vector<bool>& written) {
  Repitched result;
  result.fn = ir::Rewriter::run(fn, [](ir::Rewriter&, const Op&) { return false; });
  for (const int index : params_to_repitch(fn, written)) {
    result.copies.push_back(make_copy(fn, index));
    TensorSpec& spec = result.fn.params.at(static_cast<size_t>(index)).spec;
    spec = padded_spec(spec);
  }
  return result;
}

}  // namespace tilewright::codegen
