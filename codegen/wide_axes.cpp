#include "tilewright/codegen/wide_axes.h"

#include <algorithm>

#include "tilewright/codegen/roll_plan.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool has_dims(const Value* value) {
  return value->type.is_tile() || value->type.kind == ir::Type::Kind::slice;
}

std::string at_line(Loc loc) { return loc.known() ? fmt::format(" at line {}", loc.line) : ""; }

}  // namespace

DimClasses::DimClasses(const ir::Function& fn) {
  std::vector<std::pair<const Value*, Loc>> values;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    for (const Value* result : op.results) values.emplace_back(result, op.loc);
    for (const ir::Region* region : op.regions)
      for (const Value* arg : region->args) values.emplace_back(arg, op.loc);
  });
  for (const auto& [value, loc] : values) add(value);
  ir::for_each_op(fn.body(), [&](const Op& op) { unite_op(op); });
  number_classes(values);
}

void DimClasses::add(const Value* value) {
  if (!has_dims(value) || !base_.emplace(value, static_cast<int>(parent_.size())).second) return;
  for (size_t i = 0; i < value->type.shape.size(); ++i) {
    parent_.push_back(static_cast<int>(parent_.size()));
    refused_.emplace_back();
  }
}

int DimClasses::node(const Value* value, size_t dim) const {
  const auto found = base_.find(value);
  return found == base_.end() ? -1 : found->second + static_cast<int>(dim);
}

int DimClasses::find(int node) const {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void DimClasses::unite(const Value* x, size_t i, const Value* y, size_t j) {
  const int a = node(x, i), b = node(y, j);
  if (a >= 0 && b >= 0) parent_[find(b)] = find(a);
}

void DimClasses::unite_all(const Value* x, const Value* y) {
  if (x->type.shape.size() != y->type.shape.size()) return;
  for (size_t i = 0; i < x->type.shape.size(); ++i) unite(x, i, y, i);
}

void DimClasses::refuse(const Value* value, const std::string& why) {
  if (!has_dims(value)) return;
  for (size_t i = 0; i < value->type.shape.size(); ++i)
    if (const int at = node(value, i); at >= 0 && refused_[at].empty()) refused_[at] = why;
}

void DimClasses::unite_op(const Op& op) {
  if (ir::is_elementwise(op.kind) || op.kind == OpKind::convert) return unite_elementwise(op);
  if (ir::reads_tensor(op.kind) || ir::writes_tensor(op.kind)) return unite_access(op);
  switch (op.kind) {
    case OpKind::broadcast: {
      const auto& dims = op.integers(AttrKey::dims);
      for (size_t i = 0; i < dims.size(); ++i)
        if (op.operand(0)->type.shape[i] == op.result()->type.shape[dims[i]])
          unite(op.operand(0), i, op.result(), dims[i]);
      return;
    }
    case OpKind::permute: {
      const auto& dims = op.integers(AttrKey::dims);
      for (size_t i = 0; i < dims.size(); ++i) unite(op.operand(0), dims[i], op.result(), i);
      return;
    }
    case OpKind::reduce:
      return unite_reduced(op.operand(0), op.integers(AttrKey::axes), op.result());
    case OpKind::combine:
      return unite_combined(op);
    case OpKind::slice_index:
      return unite(op.operand(0), 0, op.result(), 0);
    case OpKind::tile_loop:
    case OpKind::if_else:
    case OpKind::while_loop:
      return unite_carried(op);
    case OpKind::slice:
    case OpKind::slice_begin:
    case OpKind::slice_end:
    case OpKind::slice_id:
    case OpKind::iota:
    case OpKind::yield:
      return;
    default:
      break;
  }
  const std::string why =
      fmt::format("the {}{} needs it whole", ir::info(op.kind).name, at_line(op.loc));
  for (const Value* operand : op.operands) refuse(operand, why);
  for (const Value* result : op.results) refuse(result, why);
}

void DimClasses::unite_elementwise(const Op& op) {
  for (const Value* operand : op.operands)
    if (operand->type.is_tile()) unite_all(operand, op.result());
}

void DimClasses::unite_access(const Op& op) {
  const ir::AccessView access(op);
  std::vector<const Value*> tiles;  // of the access's shape
  for (const Value* tile : {access.value, access.expected, access.mask})
    if (tile != nullptr && tile->type.is_tile()) tiles.push_back(tile);
  if (!op.results.empty() && op.result()->type.is_tile()) tiles.push_back(op.result());
  if (tiles.empty()) return;
  for (const Value* tile : tiles) unite_all(tiles.front(), tile);
  for (size_t i = 0; i < access.indices.size(); ++i) {
    const std::vector<int> axes = access.axes_of(i);
    for (size_t d = 0; d < axes.size(); ++d)
      unite(tiles.front(), static_cast<size_t>(axes[d]), access.indices[i], d);
  }
}

void DimClasses::unite_reduced(const Value* from, const std::vector<int64_t>& axes,
                               const Value* to) {
  size_t kept = 0;
  for (size_t i = 0; i < from->type.shape.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      unite(from, i, to, kept++);
}

void DimClasses::unite_combined(const Op& op) {
  const ir::CombineView combine(op);
  for (size_t i = 0; i < combine.tiles.size(); ++i) {
    unite_all(combine.tiles[0], combine.tiles[i]);
    unite_reduced(combine.tiles[0], op.integers(AttrKey::axes), op.results[i]);
    refuse(op.results[i], fmt::format("the {}{} is made for all of it at once",
                                      ir::info(op.kind).name, at_line(op.loc)));
  }
}

void DimClasses::unite_carried(const Op& op) {
  const bool branch = op.kind == OpKind::if_else;
  const std::string why =
      branch ? fmt::format("a branch{} chooses it", at_line(op.loc))
             : fmt::format("the loop{} keeps it from one iteration to the next", at_line(op.loc));
  for (const ir::Region* region : op.regions) {
    const auto& yields = region->yields();
    const size_t skipped = op.kind == OpKind::while_loop ? 1 : 0;
    for (size_t i = 0; i < op.results.size() && i + skipped < yields.size(); ++i)
      unite_all(op.results[i], yields[i + skipped]);
  }
  if (op.kind == OpKind::tile_loop) {
    const ir::LoopView loop(op);
    for (size_t i = 0; i < op.results.size(); ++i) {
      unite_all(op.results[i], loop.inits[i]);
      unite_all(op.results[i], loop.carried[i]);
    }
  } else if (op.kind == OpKind::while_loop) {
    const ir::WhileView loop(op);
    for (size_t i = 0; i < op.results.size(); ++i) {
      unite_all(op.results[i], loop.inits[i]);
      unite_all(op.results[i], loop.carried[i]);
    }
  }
  for (const Value* result : op.results) refuse(result, why);
}

void DimClasses::number_classes(const std::vector<std::pair<const Value*, Loc>>& values) {
  class_of_.assign(parent_.size(), -1);
  for (const auto& [value, loc] : values) {
    if (!base_.contains(value)) continue;
    for (size_t i = 0; i < value->type.shape.size(); ++i) {
      const int at = node(value, i), root = find(at);
      if (class_of_[root] < 0) {
        class_of_[root] = static_cast<int>(classes_.size());
        const ir::Dim& dim = value->type.shape[i];
        classes_.push_back({dim.is_block() ? 0 : dim.extent, loc, {}});
      }
      class_of_[at] = class_of_[root];
      Class& cls = classes_[class_of_[at]];
      if (cls.obstacle.empty()) cls.obstacle = refused_[at];
    }
  }
}

int DimClasses::of(const Value* value, size_t dim) const {
  const int at = node(value, dim);
  return at < 0 ? -1 : class_of_[at];
}

bool DimClasses::has(const Value* value, int cls) const {
  if (!base_.contains(value)) return false;
  for (size_t i = 0; i < value->type.shape.size(); ++i)
    if (of(value, i) == cls) return true;
  return false;
}

std::vector<WideAxis> wide_axes(const ir::Function& fn, int64_t chunk,
                                const std::vector<bool>& written) {
  const DimClasses classes(fn);
  std::vector<WideAxis> result;
  for (size_t cls = 0; cls < classes.count(); ++cls) {
    const DimClasses::Class& found = classes.at(cls);
    if (found.extent <= chunk) continue;
    const RollPlan plan(fn, classes, static_cast<int>(cls), written);
    result.push_back({found.extent, found.loc, plan.obstacle()});
  }
  return result;
}

}  // namespace tilewright::codegen
