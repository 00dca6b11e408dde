#include "tilewright/codegen/layout_classes.h"

#include "tilewright/ir/builder.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::codegen {

using ir::Op;
using ir::OpKind;
using ir::Value;

LayoutClasses::LayoutClasses(const ir::Function& fn) {
  ir::for_each_op(fn.body(), [&](const Op& op) {
    for (const Value* result : op.results) add(result);
    for (const ir::Region* region : op.regions)
      for (const Value* arg : region->args) add(arg);
  });
  ir::for_each_op(fn.body(), [&](const Op& op) { unite_op(op); });
  class_.resize(values_.size(), -1);
  for (size_t i = 0; i < values_.size(); ++i) {
    int& cls = class_[find(static_cast<int>(i))];
    if (cls < 0) {
      cls = static_cast<int>(members_.size());
      members_.emplace_back();
    }
    members_[cls].push_back(values_[i]);
  }
  for (size_t i = 0; i < values_.size(); ++i) class_[i] = class_[find(static_cast<int>(i))];
}

int LayoutClasses::add(const Value* value) {
  if (!value->type.is_tile()) return -1;
  const auto [at, fresh] = index_.emplace(value, static_cast<int>(values_.size()));
  if (fresh) {
    values_.push_back(value);
    parent_.push_back(at->second);
  }
  return at->second;
}

int LayoutClasses::of(const Value* value) const {
  auto found = index_.find(value);
  return found == index_.end() ? -1 : class_[found->second];
}

int LayoutClasses::find(int i) {
  while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
  return i;
}

void LayoutClasses::unite(const Value* a, const Value* b) {
  if (!a->type.is_tile() || !b->type.is_tile()) return;
  parent_[find(index_.at(b))] = find(index_.at(a));
}

/// What an access reads and gives element by element. Index tiles have one layout among them, which
/// is the access's when they have all of its dimensions.
void LayoutClasses::unite_access(const Op& op) {
  const ir::AccessView access(op);
  const Value* tile = op.results.empty() ? access.value : op.result();
  for (const Value* other : {access.value, access.expected, access.mask})
    if (other != nullptr) unite(tile, other);
  const Value* first = nullptr;
  for (const Value* index : access.indices) {
    if (!index->type.is_tile()) continue;
    if (first == nullptr) first = index->type.shape == tile->type.shape ? tile : index;
    unite(first, index);
  }
}

void LayoutClasses::unite_op(const Op& op) {
  if (ir::is_elementwise(op.kind)) {
    if (op.result()->type.kind == ir::Type::Kind::shared) return;
    for (const Value* operand : op.operands) unite(op.result(), operand);
    return;
  }
  switch (op.kind) {
    case OpKind::dot:
      unite(op.result(), op.operand(2));
      return;
    case OpKind::load:
    case OpKind::store:
    case OpKind::atomic:
    case OpKind::atomic_exchange:
    case OpKind::atomic_cas:
      unite_access(op);
      return;
    case OpKind::combine:
    case OpKind::sort:
    case OpKind::join:
      for (const Value* operand : op.operands) unite(op.operand(0), operand);
      return;
    case OpKind::scan:
      for (const Value* operand : op.operands) unite(op.results[0], operand);
      for (const Value* result : op.results) unite(op.results[0], result);
      return;
    case OpKind::print:
      for (const Value* operand : op.operands) unite(op.operand(0), operand);
      return;
    case OpKind::tile_loop: {
      const ir::LoopView loop(op);
      for (size_t i = 0; i < loop.inits.size(); ++i) {
        unite(op.results[i], loop.inits[i]);
        unite(op.results[i], loop.carried[i]);
        unite(op.results[i], loop.body->yields().at(i));
      }
      return;
    }
    case OpKind::while_loop: {
      const ir::WhileView loop(op);
      for (size_t i = 0; i < loop.inits.size(); ++i) {
        unite(op.results[i], loop.inits[i]);
        unite(op.results[i], loop.carried[i]);
        unite(op.results[i], loop.next[i]);
      }
      return;
    }
    case OpKind::if_else:
      for (const ir::Region* region : op.regions)
        for (size_t i = 0; i < op.results.size(); ++i) unite(op.results[i], region->yields().at(i));
      return;
    default:
      return;
  }
}

}  // namespace tilewright::codegen
