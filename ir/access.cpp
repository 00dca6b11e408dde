// Loads, stores and atomics: how they are made and taken apart.
#include <algorithm>
#include <numeric>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

using Operands = std::vector<const Value*>;
using Attributes = std::vector<std::pair<AttrKey, Attr>>;

/// The operands of an access: `first`, the indices, the mask.
Operands access_operands(Operands first, const Operands& indices, const AccessOptions& options) {
  first.insert(first.end(), indices.begin(), indices.end());
  if (options.mask != nullptr) first.push_back(options.mask);
  return first;
}

/// Attributes in the order of ops.def, after `first`.
Attributes access_attributes(const AccessOptions& options, Attributes first = {}) {
  if (options.mask != nullptr) first.push_back({AttrKey::masked, int64_t{1}});
  if (!options.evict.empty()) first.push_back({AttrKey::evict, options.evict});
  if (!options.order.empty()) first.push_back({AttrKey::order, options.order});
  return first;
}

}  // namespace

const Value* Builder::load(const Value* tensor, std::vector<const Value*> indices,
                           const AccessOptions& options) {
  return create(OpKind::load, access_operands({tensor}, indices, options),
                access_attributes(options))
      ->result();
}

const Op* Builder::store(const Value* tensor, const Value* value, std::vector<const Value*> indices,
                         const AccessOptions& options) {
  return create(OpKind::store, access_operands({tensor, value}, indices, options),
                access_attributes(options));
}

const Value* Builder::atomic(Fn fn, const Value* tensor, const Value* value,
                             std::vector<const Value*> indices, const AccessOptions& options) {
  return create(OpKind::atomic, access_operands({tensor, value}, indices, options),
                access_attributes(options, {{AttrKey::fn, fn}}))
      ->result();
}

const Value* Builder::atomic_exchange(const Value* tensor, const Value* value,
                                      std::vector<const Value*> indices,
                                      const AccessOptions& options) {
  return create(OpKind::atomic_exchange, access_operands({tensor, value}, indices, options),
                access_attributes(options))
      ->result();
}

const Value* Builder::atomic_cas(const Value* tensor, const Value* value, const Value* expected,
                                 std::vector<const Value*> indices, const AccessOptions& options) {
  return create(OpKind::atomic_cas, access_operands({tensor, value, expected}, indices, options),
                access_attributes(options))
      ->result();
}

AccessView::AccessView(const Op& access) {
  auto index = access.operands.begin();
  if (access.kind == OpKind::copy) value = *index++;
  tensor = *index++;
  if (writes_tensor(access.kind)) value = *index++;
  if (access.kind == OpKind::atomic_cas) expected = *index++;
  indices.assign(index, access.operands.end());
  if (access.has(AttrKey::masked) && !indices.empty()) {
    mask = indices.back();
    indices.pop_back();
  }
}

bool AccessView::gathers() const {
  return std::any_of(indices.begin(), indices.end(),
                     [](const Value* index) { return index->type.is_tile(); });
}

std::vector<int> AccessView::axes_of(size_t i) const { return axes_of_index(indices, i); }

Shape access_shape(const std::vector<const Value*>& indices) {
  Shape shape;
  bool tiles = false;
  for (const Value* index : indices) {
    if (index->type.kind != Type::Kind::slice && (!index->type.is_tile() || tiles)) continue;
    tiles |= index->type.is_tile();
    shape.insert(shape.end(), index->type.shape.begin(), index->type.shape.end());
  }
  return shape;
}

std::vector<int> axes_of_index(const std::vector<const Value*>& indices, size_t i) {
  const bool slice = indices.at(i)->type.kind == Type::Kind::slice;
  if (!slice && !indices[i]->type.is_tile()) return {};
  int axis = 0;
  bool tiles = false;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Value* index = indices[d];
    if (d == i && slice) return {axis};
    if (index->type.is_tile() && !tiles) {
      tiles = true;
      const int rank = static_cast<int>(index->type.shape.size());
      if (!slice) {
        std::vector<int> axes(rank);
        std::iota(axes.begin(), axes.end(), axis);
        return axes;
      }
      axis += rank;
    }
    if (index->type.kind == Type::Kind::slice) ++axis;
  }
  return {};
}

bool is_plain_access(const Op& access) {
  const AccessView view(access);
  return view.mask == nullptr && !view.gathers();
}

bool is_atomic(OpKind kind) {
  return kind == OpKind::atomic || kind == OpKind::atomic_exchange || kind == OpKind::atomic_cas;
}

bool writes_tensor(OpKind kind) { return kind == OpKind::store || is_atomic(kind); }

bool reads_tensor(OpKind kind) {
  return kind == OpKind::load || kind == OpKind::copy || is_atomic(kind);
}

}  // namespace tilewright::ir
