#include "tilewright/codegen/layout_chooser.h"

#include <algorithm>
#include <numeric>

#include "tilewright/codegen/atomics.h"
#include "tilewright/codegen/coalescing.h"
#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/layout_axes.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::vector<int> order_from(int rank, int first) {
  std::vector<int> order;
  if (first >= 0) order.push_back(first);
  for (int axis = rank - 1; axis >= 0; --axis)
    if (axis != first) order.push_back(axis);
  return order;
}

std::vector<bool> stretched_dims(const Op& broadcast) {
  const ir::Shape& from = broadcast.operand(0)->type.shape;
  const ir::Shape& to = broadcast.result()->type.shape;
  const auto& dims = broadcast.integers(AttrKey::dims);
  std::vector<bool> stretched;
  for (size_t i = 0; i < from.size(); ++i) stretched.push_back(!(from[i] == to[dims[i]]));
  return stretched;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& dims) {
  std::vector<int64_t> result(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) result[dims[i]] = static_cast<int64_t>(i);
  return result;
}

std::vector<int64_t> other_axes(const ir::AccessView& access, size_t i, int rank) {
  const std::vector<int> own = access.axes_of(i);
  std::vector<int64_t> others;
  for (int axis = 0; axis < rank; ++axis)
    if (std::find(own.begin(), own.end(), axis) == own.end()) others.push_back(axis);
  return others;
}

LayoutChooser::LayoutChooser(const ir::Function& fn, const ir::Facts& facts, const Config& config,
                             const Target& target)
    : fn_(fn),
      facts_(facts),
      config_(config),
      target_(target),
      classes_(fn),
      chosen_(classes_.count()) {
  ir::for_each_op(fn.body(), [&](const Op& op) { visit(op); });
  choose_dots();
  choose_operands();
  choose_sorted();
  choose_rest();
}

const Layout& LayoutChooser::of(const Value* value) const {
  const int cls = classes_.of(value);
  internal_check(cls >= 0 && chosen_[cls].has_value(), "a tile without a layout");
  return *chosen_[cls];
}

void LayoutChooser::visit(const Op& op) {
  if ((op.kind == OpKind::load || ir::is_atomic(op.kind)) && op.result()->type.is_tile())
    anchor(op, op.result());
  else if (op.kind == OpKind::store && op.operand(1)->type.is_tile())
    anchor(op, op.operand(1));
  else if (op.kind == OpKind::fetch)
    anchor_fetch(op);
  else if (op.kind == OpKind::dot)
    dots_.push_back(&op);
  else if (op.kind == OpKind::broadcast || op.kind == OpKind::reduce ||
           op.kind == OpKind::combine || op.kind == OpKind::permute || op.kind == OpKind::join ||
           op.kind == OpKind::sort || op.kind == OpKind::pick)
    relations_.push_back(&op);
}

void LayoutChooser::anchor(const Op& op, const Value* value) {
  const AccessFacts facts = facts_of(op);
  if (ir::AccessView(op).gathers()) gathers_.push_back(&op);
  anchors_[classes_.of(value)].push_back(
      {facts.contiguous_axis, facts.whole_vector, size_of(ir::AccessView(op).tensor->type.dtype)});
}

AccessFacts LayoutChooser::facts_of(const Op& op) const {
  return access_facts(fn_, facts_, op, config_, target_);
}

int LayoutChooser::fetched_axis(const Op& fetch) const {
  const Op& filler = filler_of(fn_, view_of(fetch.operand(0)).ring);
  return filler.kind == OpKind::copy
             ? analyze_access(fn_, facts_, filler, config_.vector).contiguous_axis
             : -1;
}

void LayoutChooser::anchor_fetch(const Op& op) {
  const DType dtype = op.result()->type.dtype;
  fetches_[classes_.of(op.result())].push_back(
      {fetched_axis(op), 16 / size_of(dtype), size_of(dtype)});
}

void LayoutChooser::choose_dots() {
  for (const Op* dot : dots_) {
    std::optional<Layout>& layout = chosen_[classes_.of(dot->result())];
    if (layout) continue;
    layout = layout_of_dot(*dot);
  }
}

void LayoutChooser::choose_operands() {
  for (const Op* dot : dots_)
    for (int i = 0; i < 2; ++i) {
      if (is_shared(dot->operand(i))) continue;
      std::optional<Layout>& layout = chosen_[classes_.of(dot->operand(i))];
      if (!layout) layout = operand_layout(fn_, *dot, i, of(dot->result()), config_, target_);
    }
}

void LayoutChooser::choose_sorted() {
  for (const Op* op : relations_) {
    if (op->kind != OpKind::sort) continue;
    std::optional<Layout>& layout = chosen_[classes_.of(op->operand(0))];
    if (!layout)
      layout = sorting_layout(fn_.extents(op->operand(0)->type.shape),
                              static_cast<int>(op->integer(AttrKey::axis)), config_.warps);
  }
}

bool LayoutChooser::fetched_along(const Value* value, int64_t axis) const {
  const Op* op = value->def;
  if (op == nullptr || !value->type.is_tile()) return false;
  if (op->kind == OpKind::permute)
    return fetched_along(op->operand(0), op->integers(AttrKey::dims).at(axis));
  if (op->kind == OpKind::fetch) return fetched_axis(*op) == axis;
  return ir::is_elementwise(op->kind) &&
         std::any_of(op->operands.begin(), op->operands.end(),
                     [&](const Value* operand) { return fetched_along(operand, axis); });
}

bool LayoutChooser::neighbouring_rows(const Op& dot) const {
  return std::all_of(dots_.begin(), dots_.end(), [&](const Op* other) {
    return classes_.of(other->result()) != classes_.of(dot.result()) ||
           (!is_shared(other->operand(0)) && fetched_along(other->operand(0), 0));
  });
}

Layout LayoutChooser::layout_of_dot(const Op& dot) const {
  const auto extents = fn_.extents(dot.result()->type.shape);
  switch (unit_of(dot, config_, target_)) {
    case MatrixUnit::mma:
      return mma_layout(extents[0], extents[1], config_.warps);
    case MatrixUnit::wgmma:
      return wgmma_layout(extents[0], extents[1], config_.warps, neighbouring_rows(dot));
    case MatrixUnit::fma:
      break;
  }
  const auto [vector_m, vector_n] = dot_vectors(fn_, facts_, dot, config_);
  return dot_layout(extents[0], extents[1], config_.warps, vector_m, vector_n,
                    size_of(dot.operand(0)->type.dtype));
}

int64_t LayoutChooser::elements(int cls) const {
  int64_t n = 1;
  for (int64_t extent : fn_.extents(classes_.members(cls)[0]->type.shape)) n *= extent;
  return n;
}

void LayoutChooser::choose_rest() {
  std::vector<int> order(classes_.count());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return elements(a) > elements(b); });
  for (int cls : order)
    if (!chosen_[cls]) chosen_[cls] = derived(cls);
}

bool LayoutChooser::makes(const Op& op, int cls) const {
  return std::any_of(op.results.begin(), op.results.end(), [&](const Value* result) {
    return result->type.is_tile() && classes_.of(result) == cls;
  });
}

std::optional<Layout> LayoutChooser::derived_by_axis(const Op& op, int cls) const {
  const bool joins = op.kind == OpKind::join;
  const Value* wide = joins ? op.result() : op.operand(0);    // has the axis
  const Value* narrow = joins ? op.operand(0) : op.result();  // has not
  const int64_t axis = op.integer(AttrKey::axis);
  if (narrow->type.is_tile() && classes_.of(narrow) == cls && known(wide))
    return drop_axes(of(wide), {axis});
  if (classes_.of(wide) == cls && known(narrow))
    return with_axis(of(narrow), wide->type.shape, axis);
  return std::nullopt;
}

Layout LayoutChooser::with_axis(const Layout& layout, const ir::Shape& shape, int64_t axis) const {
  return insert_register_axis(layout, static_cast<int>(axis), fn_.extent(shape[axis]));
}

Layout LayoutChooser::derived(int cls) const {
  for (const Op* op : relations_) {
    const Value* from = op->operand(0);
    const Value* to = op->results[0];
    const bool reduces = op->kind == OpKind::reduce || op->kind == OpKind::combine;
    if (reduces && makes(*op, cls) && known(from))
      return drop_axes(of(from), op->integers(AttrKey::axes));
    if (op->kind == OpKind::sort && !op->has(AttrKey::count) && makes(*op, cls) && known(from))
      return of(from);
    if (op->kind == OpKind::join || op->kind == OpKind::pick)
      if (auto layout = derived_by_axis(*op, cls)) return *layout;
    if (op->kind == OpKind::broadcast && classes_.of(from) == cls && known(to))
      return operand_of_broadcast(of(to), op->integers(AttrKey::dims), stretched_dims(*op));
    if (op->kind == OpKind::permute && classes_.of(to) == cls && known(from) && is_product(from)) {
      Layout turned = permute(of(from), op->integers(AttrKey::dims));
      if (fills_sectors(cls, turned)) return turned;
    }
    if (op->kind == OpKind::permute && !anchors_.contains(cls)) {
      if (classes_.of(to) == cls && known(from))
        return permute(of(from), op->integers(AttrKey::dims));
      if (classes_.of(from) == cls && known(to))
        return permute(of(to), inverse(op->integers(AttrKey::dims)));
    }
  }
  for (const Op* op : gathers_) {
    const Value* tile = op->results.empty() ? op->operand(1) : op->result();
    if (!known(tile)) continue;
    const ir::AccessView access(*op);
    for (size_t i = 0; i < access.indices.size(); ++i)
      if (access.indices[i]->type.is_tile() && classes_.of(access.indices[i]) == cls)
        return drop_axes(of(tile), other_axes(access, i, of(tile).rank));
  }
  return anchored(cls);
}

bool LayoutChooser::is_product(const Value* value) const {
  return std::any_of(dots_.begin(), dots_.end(), [&](const Op* dot) {
    return classes_.of(dot->result()) == classes_.of(value);
  });
}

bool LayoutChooser::fills_sectors(int cls, const Layout& layout) const {
  const auto found = anchors_.find(cls);
  if (found == anchors_.end()) return false;
  return std::all_of(found->second.begin(), found->second.end(), [&](const Anchor& anchor) {
    AccessFacts facts;
    facts.contiguous_axis = anchor.axis;
    facts.whole_vector = anchor.vector;
    return anchor.axis >= 0 && warp_run(facts, layout) * anchor.bytes >= kSectorBytes;
  });
}

bool LayoutChooser::known(const Value* value) const {
  const int cls = classes_.of(value);
  return cls >= 0 && chosen_[cls].has_value();
}

Layout LayoutChooser::anchored(int cls) const {
  const auto extents = fn_.extents(classes_.members(cls)[0]->type.shape);
  const int rank = static_cast<int>(extents.size());
  int axis = rank - 1, vector = 1;
  for (const Anchors* all : {&anchors_, &fetches_}) {
    const auto found = all->find(cls);
    if (found == all->end()) continue;
    std::vector<int64_t> bytes(rank, 0);
    for (const Anchor& anchor : found->second)
      if (anchor.axis >= 0) bytes[anchor.axis] += anchor.bytes;
    // Ties go to the last axis.
    for (int a = rank - 1; a >= 0; --a)
      if (bytes[a] > bytes[axis]) axis = a;
    for (const Anchor& anchor : found->second)
      if (anchor.axis == axis) vector = std::max(vector, anchor.vector);
    break;
  }
  return blocked_layout(extents, order_from(rank, axis), vector, config_.warps);
}

}  // namespace tilewright::codegen
