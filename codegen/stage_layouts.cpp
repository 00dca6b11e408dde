#include "tilewright/codegen/stage_layouts.h"

#include <algorithm>
#include <numeric>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_operand.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/mma_read.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// The axis of a ring that is contiguous in shared memory: the one contiguous where its data comes
/// from.
int contiguous_axis(const Op& filler, const AccessFacts* facts, const Layout* value_layout) {
  const int rank = static_cast<int>(filler.operand(0)->type.shape.size());
  if (facts != nullptr && facts->contiguous_axis >= 0) return facts->contiguous_axis;
  if (value_layout != nullptr)
    for (const Digit& digit : value_layout->digits)
      if (digit.axis >= 0 && digit.stride == 1 && digit.radix > 1) return digit.axis;
  return rank - 1;
}

int widest_fragment(DType dtype, int64_t extent) {
  int vector = 1;
  while (vector * 2 * size_of(dtype) <= 16 && vector < 4 && extent % (vector * 2) == 0) vector *= 2;
  return vector;
}

/// All reads of one operand's fragments for one tile of k.
WeightedAccesses fragment_accesses(const FragmentRead& read, const Layout& accumulator, int operand,
                                   const std::vector<int64_t>& extents, DType dtype) {
  Layout layout = dot_operand_layout(accumulator, operand == 0, extents[read.k_axis]);
  if (read.view.axis[0] == 1) layout = permute(layout, {1, 0});
  const int axis = read.along_k ? read.k_axis : read.outer_axis;
  return {warp_accesses(layout, extents, axis, read.vector, size_of(dtype)), 4};
}

/// Everything that touches one ring.
struct RingUse {
  const Value* ring = nullptr;
  const Op* filler = nullptr;
  std::vector<std::pair<const Op*, int>> reads;  // dot, operand
  std::vector<const Op*> fetches;
};

std::vector<RingUse> ring_uses(const ir::Function& fn) {
  std::vector<RingUse> uses;
  auto use_of = [&](const Value* ring) -> RingUse& {
    for (RingUse& use : uses)
      if (use.ring == ring) return use;
    uses.push_back({ring, &filler_of(fn, ring), {}, {}});
    return uses.back();
  };
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind == OpKind::fetch) use_of(view_of(op.operand(0)).ring).fetches.push_back(&op);
    if (op.kind != OpKind::dot) return;
    for (int i = 0; i < 2; ++i)
      if (is_shared(op.operand(i))) use_of(view_of(op.operand(i)).ring).reads.emplace_back(&op, i);
  });
  return uses;
}

/// Whether the tile is read by wgmma, which takes one kind of layout only.
bool read_by_wgmma(const RingUse& use, const Config& config, const Target& target) {
  return std::any_of(use.reads.begin(), use.reads.end(), [&](const auto& read) {
    return unit_of(*read.first, config, target) == MatrixUnit::wgmma;
  });
}

/// How much of a row along `fast` one warpgroup reads, where warpgroups share the columns of the
/// product and the row is of columns; 0: all of it, or whole panels anyway.
int64_t part_of_warpgroup(const ir::Function& fn, const RingUse& use, int fast,
                          const Config& config) {
  int64_t part = 0;
  for (const auto& [dot, operand] : use.reads) {
    if (operand == 0 || view_of(dot->operand(1)).axis[1] != fast) continue;
    const auto extents = fn.extents(dot->result()->type.shape);
    const int64_t along_rows = wgmma_groups_along_rows(extents[0], config.warps);
    if (config.warps / 4 > along_rows)
      part = std::gcd(part, extents[1] / (config.warps / 4 / along_rows));
  }
  return part;
}

/// Whether bulk copies may fill a tile that threads fetch, if it lies as they write it.
bool filled_by_bulk_copies(const RingUse& use, const Config& config, const Target& target) {
  return config.copy == CopyKind::tma && target.sm >= 90 && use.filler->kind == OpKind::copy &&
         use.reads.empty();
}

/// How a fetch reads its tile.
WeightedAccesses fetch_accesses(const Layout& layout, const std::vector<int64_t>& extents,
                                int contiguous, int vector, int element_bytes) {
  return {warp_accesses(layout, extents, contiguous, vector, element_bytes), 1};
}

/// The layout of a tile that wgmma reads, its rows along `fast` where they can be.
SharedLayout layout_for_wgmma(const ir::Function& fn, const RingUse& use, int fast,
                              const Config& config) {
  const auto extents = fn.extents(use.ring->type.shape);
  const int bytes = size_of(use.ring->type.dtype);
  const auto& [dot, operand] = use.reads.front();
  const int k_axis = view_of(dot->operand(operand)).axis[operand == 0 ? 1 : 0];
  const bool staged = use.filler->kind != OpKind::copy;
  std::optional<SharedLayout> layout;
  if (!staged || bytes == 2 || fast == k_axis)  // others are taken along k only
    layout = matrix_operand_layout(extents, {1 - fast, fast}, bytes,
                                   part_of_warpgroup(fn, use, fast, config));
  if (!layout && staged)
    layout = matrix_operand_layout(extents, {1 - k_axis, k_axis}, bytes,
                                   part_of_warpgroup(fn, use, k_axis, config));
  internal_check(layout.has_value(), "a staged tile that wgmma cannot read");
  return *layout;
}

SharedLayout layout_of_ring(const LaidOut& out, const RingUse& use, const Config& config,
                            const Target& target) {
  const ir::Type& type = use.ring->type;
  const bool copied = use.filler->kind == OpKind::copy;
  const CopyPlan* copy = copied ? &out.copies.at(use.filler) : nullptr;
  const Layout* staged = copied ? nullptr : &out.layouts.at(use.filler->operand(1));
  SharedLayout shared;
  shared.extents = out.fn.extents(type.shape);
  const int fast = contiguous_axis(*use.filler, copied ? &copy->facts : nullptr, staged);
  shared.order = {1 - fast, fast};
  if (read_by_wgmma(use, config, target)) return layout_for_wgmma(out.fn, use, fast, config);
  if (filled_by_bulk_copies(use, config, target))
    if (const auto layout =
            matrix_operand_layout(shared.extents, shared.order, size_of(type.dtype)))
      return *layout;

  const Layout& filling = copied ? copy->layout : *staged;
  const int element_bytes = size_of(type.dtype);
  const int fill_vector = copied ? copy->vector : widest_in_run(type.dtype, filling.vector(fast));
  std::vector<WeightedAccesses> groups = {
      {warp_accesses(filling, shared.extents, fast, fill_vector, element_bytes), 1}};
  int unit = fill_vector;
  bool matrices = false;
  for (const auto& [dot, operand] : use.reads) {
    const Layout& accumulator = out.layouts.at(dot->result());
    if (unit_of(*dot, config, target) == MatrixUnit::mma) {
      const MmaRead read = mma_read(out.fn, *dot, operand, accumulator, fast);
      groups.push_back({mma_accesses(read, shared.extents), 4});
      unit = std::max(unit, read.vector());
      matrices |= read.operand.load != MmaLoad::elements;
      continue;
    }
    const FragmentRead read = fragment_read(out.fn, *dot, operand, accumulator, shared);
    groups.push_back(fragment_accesses(read, accumulator, operand, shared.extents, type.dtype));
    unit = std::max(unit, read.vector);
  }
  for (const Op* fetch : use.fetches) {
    const Layout& fetched = out.layouts.at(fetch->result());
    const int vector = fetch_vector(fetched, shared.extents, fast, type.dtype);
    groups.push_back(fetch_accesses(fetched, shared.extents, fast, vector, element_bytes));
    unit = std::max(unit, vector);
  }
  SharedLayout layout =
      choose_shared_layout(shared.extents, shared.order, element_bytes, unit, groups, matrices);
  // Slots of a ring start at 16-byte boundaries: a read that the compiler widens must not reach
  // into a neighbour that is being filled.
  if (type.stages > 1)
    while (layout.size() * element_bytes % 16 != 0) layout.padding += unit;
  return layout;
}

}  // namespace

int widest_in_run(DType dtype, int run) {
  int vector = 1;
  while (vector * 2 * size_of(dtype) <= 16 && run % (vector * 2) == 0) vector *= 2;
  return vector;
}

int fetch_vector(const Layout& layout, const std::vector<int64_t>& extents, int axis, DType dtype) {
  return widest_in_run(dtype, std::gcd(layout.vector(axis), static_cast<int>(extents.at(axis))));
}

OperandView view_of(const Value* shared) {
  OperandView view;
  const Op* op = shared->def;
  while (op != nullptr && op->kind != OpKind::ring_read) {
    if (op->kind == OpKind::permute) {
      const auto& dims = op->integers(ir::AttrKey::dims);
      for (int& axis : view.axis) axis = static_cast<int>(dims.at(axis));
    }
    if (op->kind == OpKind::cast) view.casts.insert(view.casts.begin(), op->result()->type.dtype);
    internal_check(op->kind == OpKind::permute || op->kind == OpKind::cast,
                   "a shared tile that is no view of a ring");
    op = op->operand(0)->def;
  }
  internal_check(op != nullptr, "a dot's operand is not staged");
  view.ring = op->operand(0);
  return view;
}

const Op& filler_of(const ir::Function& fn, const Value* ring) {
  const Op* filler = nullptr;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::copy && op.kind != OpKind::stage) return;
    if (op.operand(0)->def->operand(0) == ring) filler = &op;
  });
  internal_check(filler != nullptr, "a ring that nothing fills");
  return *filler;
}

FragmentRead fragment_read(const ir::Function& fn, const Op& dot, int operand,
                           const Layout& accumulator, const SharedLayout& shared) {
  FragmentRead read;
  read.view = view_of(dot.operand(operand));
  const int k_dim = operand == 0 ? 1 : 0;
  read.k_axis = read.view.axis[k_dim];
  read.outer_axis = read.view.axis[1 - k_dim];
  read.along_k = shared.order.back() == read.k_axis;
  const DType stored = read.view.ring->type.dtype;
  const int64_t k = fn.extent(dot.operand(operand)->type.shape[k_dim]);
  read.vector = read.along_k ? widest_fragment(stored, k)
                             : widest_in_run(stored, accumulator.vector(operand));
  return read;
}

std::pair<int, int> dot_vectors(const ir::Function& fn, const ir::Facts& facts, const Op& dot,
                                const Config& config) {
  const auto extents = fn.extents(dot.result()->type.shape);
  const DType dtype = dot.result()->type.dtype;
  int vectors[2];
  for (int i = 0; i < 2; ++i) {
    const OperandView view = view_of(dot.operand(i));
    const int outer_axis = view.axis[i == 0 ? 0 : 1];
    const Op& filler = filler_of(fn, view.ring);
    int fast = static_cast<int>(view.ring->type.shape.size()) - 1;
    if (filler.kind == OpKind::copy) {
      const AccessFacts access = analyze_access(fn, facts, filler, config.vector);
      fast = contiguous_axis(filler, &access, nullptr);
    }
    // Along n a vector also makes the stores of the result wide.
    const bool wide = i == 1 || fast == outer_axis;
    vectors[i] = wide ? widest_fragment(dtype, extents[i]) : 1;
  }
  return {vectors[0], vectors[1]};
}

CopyPlan plan_copy(const ir::Function& fn, const ir::Facts& facts, const Op& copy,
                   const Config& config) {
  CopyPlan plan;
  plan.facts = analyze_access(fn, facts, copy, config.vector);
  const DType dtype = copy.operand(0)->type.dtype;
  plan.vector = plan.facts.vector;
  if (!is_async(plan, dtype, config)) plan.vector = plan.facts.whole_vector;
  const auto extents = fn.extents(copy.operand(0)->type.shape);
  const int fast = contiguous_axis(copy, &plan.facts, nullptr);
  plan.layout = blocked_layout(extents, {fast, 1 - fast}, plan.vector, config.warps);
  return plan;
}

bool is_async(const CopyPlan& plan, DType dtype, const Config& config) {
  return config.copy != CopyKind::sync && plan.vector * size_of(dtype) >= 4;
}

void choose_ring_layouts(LaidOut& out, const Config& config, const Target& target) {
  for (const RingUse& use : ring_uses(out.fn))
    out.shared[use.ring] = layout_of_ring(out, use, config, target);
}

}  // namespace tilewright::codegen
