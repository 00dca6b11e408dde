#include "tilewright/codegen/bulk_copy.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tilewright/codegen/matrix_operand.h"
#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/facts.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int kMostBox = 256;

bool is_slice(const Value* index) { return index->type.kind == ir::Type::Kind::slice; }

/// Whether positions that `copy` must not read along dimension `dim` are outside the tensor.
bool limit_is_tensors(const ir::Facts& facts, const Op& copy, const Value* index, int dim,
                      int64_t size) {
  const auto& guard = copy.integers(AttrKey::guard);
  if (std::find(guard.begin(), guard.end(), dim) == guard.end() || !is_slice(index)) return true;
  const Value* limit = nullptr;
  if (index->def != nullptr)
    limit = index->def->operand(1);
  else
    limit = ir::LoopView(*index->owner->parent).limits.at(index->index);
  return facts.range(limit).min >= size;
}

/// Dimensions as a map lists them: the contiguous one, the tile's other one, then the rest.
std::vector<int> map_order(const ir::AccessView& access, int contiguous) {
  std::vector<int> order = {contiguous};
  const int rank = static_cast<int>(access.indices.size());
  for (bool sliced : {true, false})
    for (int d = rank - 1; d >= 0; --d)
      if (d != contiguous && is_slice(access.indices[d]) == sliced) order.push_back(d);
  return order;
}

std::optional<BulkCopy> bulk_copy(const LaidOut& out, const ir::Facts& facts, const Op& copy) {
  const ir::AccessView access(copy);
  const ir::Param* param = out.fn.param_of(access.tensor);
  if (param == nullptr) return std::nullopt;
  const TensorSpec& spec = param->spec;
  const CopyPlan& plan = out.copies.at(&copy);
  const SharedLayout& shared = out.shared.at(copy.operand(0)->def->operand(0));
  const int element_bytes = size_of(spec.dtype);
  const auto canonical = matrix_operand_layout(shared.extents, shared.order, element_bytes);
  if (!canonical || !(*canonical == shared)) return std::nullopt;
  if (!takes_tensor_map(spec) || plan.facts.contiguous_axis != shared.order.back() ||
      mapped_dimension(spec) != plan.facts.contiguous_dim)
    return std::nullopt;
  const int64_t rows = shared.extents[shared.order.front()];
  if (rows > kMostBox || shared.panel > kMostBox) return std::nullopt;
  BulkCopy result;
  result.dims = map_order(access, plan.facts.contiguous_dim);
  result.panels = static_cast<int>(shared.extents[shared.order.back()] / shared.panel);
  result.bytes = shared.size() * element_bytes;
  result.map.dtype = spec.dtype;
  result.map.swizzle = swizzle_bytes(shared, element_bytes);
  for (int d : result.dims) {
    const Value* index = access.indices[d];
    if (spec.sizes[d] > std::numeric_limits<int32_t>::max() / 2) return std::nullopt;
    if (!limit_is_tensors(facts, copy, index, d, spec.sizes[d])) return std::nullopt;
    result.map.sizes.push_back(spec.sizes[d]);
    result.map.strides.push_back(d == plan.facts.contiguous_dim ? 1 : spec.strides[d]);
    const bool contiguous = d == plan.facts.contiguous_dim;
    result.map.box.push_back(contiguous        ? static_cast<int>(shared.panel)
                             : is_slice(index) ? static_cast<int>(rows)
                                               : 1);
  }
  return result;
}

/// Whether a thread that computes no tiles can know the scalar: it comes from positions, sizes,
/// parameters and arithmetic on them, not from what a loop carries or memory holds.
bool is_plain(const Value* value) {
  if (value->def == nullptr)
    return value->owner == nullptr || value->owner->parent == nullptr ||
           value->type.kind == ir::Type::Kind::slice;
  if (value->def->effect() != ir::Effect::pure || !value->def->regions.empty()) return false;
  if (value->type.is_tile()) return false;
  return std::all_of(value->def->operands.begin(), value->def->operands.end(),
                     [](const Value* x) { return is_plain(x); });
}

bool control_is_plain(const Op& loop) {
  for (const Op* op = &loop; op != nullptr; op = op->parent->parent) {
    if (op->kind == OpKind::if_else && !is_plain(op->operand(0))) return false;
    if (op->kind == OpKind::tile_loop) {
      const ir::LoopView view(*op);
      for (const auto& bounds : {view.begins, view.limits})
        if (!std::all_of(bounds.begin(), bounds.end(), is_plain)) return false;
    }
    if (op->parent == nullptr) break;
  }
  return true;
}

std::vector<const Op*> copies_of(const Op& loop) {
  std::vector<const Op*> copies;
  for (const Op* op : loop.regions.at(1)->ops)
    if (op->kind == OpKind::copy) copies.push_back(op);
  return copies;
}

bool is_pipelined(const Op& op) {
  return op.kind == OpKind::tile_loop && op.has(AttrKey::ahead) && !op.regions.at(1)->ops.empty();
}

}  // namespace

void choose_bulk_copies(LaidOut& out, const Config& config, const Target& target) {
  if (config.copy != CopyKind::tma || target.sm < 90) return;
  const ir::Facts facts(out.fn);
  ir::for_each_op(out.fn.body(), [&](const Op& op) {
    if (!is_pipelined(op) || !control_is_plain(op)) return;
    std::unordered_map<const Op*, BulkCopy> found;
    for (const Op* copy : copies_of(op)) {
      const auto& indices = ir::AccessView(*copy).indices;
      const auto known = [](const Value* index) { return is_plain(index); };
      if (!std::all_of(indices.begin(), indices.end(), known)) return;
      std::optional<BulkCopy> bulk = bulk_copy(out, facts, *copy);
      if (!bulk) return;
      found.emplace(copy, std::move(*bulk));
    }
    out.bulk.merge(found);
  });
}

bool is_bulk_loop(const LaidOut& laid_out, const Op& loop) {
  return is_pipelined(loop) && laid_out.bulk.contains(copies_of(loop).front());
}

bool holds_bulk_loop(const LaidOut& laid_out, const ir::Region& region) {
  return std::any_of(region.ops.begin(), region.ops.end(), [&](const Op* op) {
    if (is_bulk_loop(laid_out, *op)) return true;
    return std::any_of(op->regions.begin(), op->regions.end(),
                       [&](const ir::Region* inner) { return holds_bulk_loop(laid_out, *inner); });
  });
}

}  // namespace tilewright::codegen
