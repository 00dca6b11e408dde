#include "tilewright/codegen/bulk_copy.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/matrix_layouts.h"
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
constexpr int kPieceRows = 64;  // of a warpgroup's product

bool is_slice(const Value* index) { return index->type.kind == ir::Type::Kind::slice; }

/// Whether positions that `copy` must not read along dimension `dim` of its tensor, `param`, are
/// outside of it.
bool limit_is_tensors(const ir::Function& fn, const ir::Facts& facts, const Op& copy,
                      const Value* index, const ir::Param& param, int dim) {
  const auto& guard = copy.integers(AttrKey::guard);
  if (std::find(guard.begin(), guard.end(), dim) == guard.end() || !is_slice(index)) return true;
  const Value* limit = nullptr;
  if (index->def != nullptr)
    limit = index->def->operand(1);
  else
    limit = ir::LoopView(*index->owner->parent).limits.at(index->index);
  if (const Value* size = fn.size_value(param, dim)) return facts.is_less_equal(size, limit);
  return facts.range(limit).min >= param.spec.sizes[dim];
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

/// The part of a tile that one copy moves.
struct Box {
  int64_t rows, columns;  // columns along the tensor's contiguous dimension
};

/// Fills in the sizes, strides and box of `map` for the dimensions `dims` of the access `op`; false
/// where positions that it must not touch could be inside the tensor, or need more than an int, or
/// rows might not begin at whole 16 bytes (an illegal instruction, seen on an H200).
bool describe_box(const ir::Function& fn, const ir::Facts& facts, const Op& op, const Box& box,
                  const std::vector<int>& dims, TensorMapSpec& map) {
  const ir::AccessView access(op);
  const ir::Param& param = *fn.param_of(access.tensor);
  const TensorSpec& spec = param.spec;
  for (int d : dims) {
    const Value* index = access.indices[d];
    if (spec.sizes[d] > std::numeric_limits<int32_t>::max() / 2) return false;
    if (!limit_is_tensors(fn, facts, op, index, param, d)) return false;
    const bool contiguous = d == dims.front();
    if (contiguous && !begins_at_multiple(fn, facts, index, kMapAlignment / size_of(spec.dtype)))
      return false;
    if (fn.size_value(param, d) != nullptr) {
      map.dynamic = static_cast<int>(map.sizes.size());
      map.size_source = param.size_param;
    }
    map.sizes.push_back(spec.sizes[d]);
    map.strides.push_back(contiguous ? 1 : spec.strides[d]);
    map.box.push_back(static_cast<int>(contiguous ? box.columns : is_slice(index) ? box.rows : 1));
  }
  return true;
}

std::optional<BulkCopy> bulk_copy(const LaidOut& out, const ir::Facts& facts, const Op& copy) {
  const ir::AccessView access(copy);
  const ir::Param* param = out.fn.param_of(access.tensor);
  if (param == nullptr) return std::nullopt;
  const TensorSpec& spec = param->spec;
  const CopyPlan& plan = out.copies.at(&copy);
  const SharedLayout& shared = out.shared.at(copy.operand(0)->def->operand(0));
  const int element_bytes = size_of(spec.dtype);
  const auto canonical =
      matrix_operand_layout(shared.extents, shared.order, element_bytes, shared.panel);
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
  if (!describe_box(out.fn, facts, copy, {rows, shared.panel}, result.dims, result.map))
    return std::nullopt;
  return result;
}

/// Whether the kernel loads from a tensor.
bool is_read(const ir::Function& fn, const Value* tensor) {
  bool found = false;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (ir::reads_tensor(op.kind))
      found |= fn.param_of(ir::AccessView(op).tensor) == fn.param_of(tensor);
  });
  return found;
}

/// Whether `index` differs in every iteration of the loop that `slice` walks.
bool moves_with(const Value* index, const Value* slice) {
  return index == slice || (index->def != nullptr && index->def->kind == OpKind::slice_begin &&
                            index->def->operand(0) == slice);
}

/// Whether one program may store an element of the tensor of `store` more than once: bulk stores
/// are not ordered among themselves.
bool is_stored_again(const ir::Function& fn, const Op& store) {
  const ir::AccessView access(store);
  int stores = 0;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    stores += ir::writes_tensor(op.kind) &&
              fn.param_of(ir::AccessView(op).tensor) == fn.param_of(access.tensor);
  });
  if (stores > 1) return true;
  for (const Op* op = store.parent->parent; op != nullptr; op = op->parent->parent) {
    if (op->kind == OpKind::while_loop) return true;
    if (op->kind != OpKind::tile_loop || op->integer(AttrKey::parallel) != 0) continue;
    for (const Value* slice : ir::LoopView(*op).slices)
      if (std::none_of(access.indices.begin(), access.indices.end(),
                       [&](const Value* index) { return moves_with(index, slice); }))
        return true;
  }
  return false;
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
    if (op->kind == OpKind::while_loop) return false;  // how often is known to its body only
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

std::optional<BulkStore> bulk_store(const ir::Function& fn, const ir::Facts& facts, const Op& store,
                                    const Layout& layout, const Config& config,
                                    const Target& target) {
  const ir::AccessView access(store);
  const ir::Param* param = fn.param_of(access.tensor);
  if (config.copy != CopyKind::tma || target.sm < 90 || param == nullptr) return std::nullopt;
  if (!ir::is_plain_access(store)) return std::nullopt;
  if (config.split_k > 1) return std::nullopt;  // blocks store parts of their tile
  const auto extents = fn.extents(access.value->type.shape);
  if (config.warps % 4 != 0 || extents.size() != 2 || extents[0] % kPieceRows != 0 ||
      is_read(fn, access.tensor) || is_stored_again(fn, store))
    return std::nullopt;
  const int64_t columns =
      extents[1] / (config.warps / 4 / wgmma_groups_along_rows(extents[0], config.warps));
  if (extents[1] % 8 != 0 || columns % 8 != 0 ||
      !(layout == wgmma_layout(extents[0], extents[1], config.warps)))
    return std::nullopt;
  const TensorSpec& spec = param->spec;
  const AccessFacts found = analyze_access(fn, facts, store, config.vector);
  const int bytes = size_of(spec.dtype);
  if (bytes < 2 || bytes > 4 || found.contiguous_axis != 1 || !takes_tensor_map(spec) ||
      mapped_dimension(spec) != found.contiguous_dim)
    return std::nullopt;
  // Stores write whole 16 bytes, also where the tensor ends within them (seen on an H200).
  if (spec.dynamic && found.contiguous_dim == 0) return std::nullopt;
  if (spec.sizes.at(found.contiguous_dim) * bytes % kMapAlignment != 0) return std::nullopt;
  const auto whole = matrix_operand_layout({kPieceRows, columns}, {0, 1}, bytes);
  if (!whole) return std::nullopt;
  BulkStore result;
  result.panel = *matrix_operand_layout({kPieceRows, whole->panel}, {0, 1}, bytes);
  result.dims = map_order(access, found.contiguous_dim);
  result.map.dtype = spec.dtype;
  result.map.swizzle = swizzle_bytes(result.panel, bytes);
  if (!describe_box(fn, facts, store, {kPieceRows, whole->panel}, result.dims, result.map))
    return std::nullopt;
  return result;
}

int64_t least_panel_bytes(const BulkStore& store, int bytes, const Config& config) {
  return int64_t{2} * (config.warps / 4) * kPieceRows * store.panel.panel * bytes;
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
