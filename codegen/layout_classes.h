// Groups of tiles that share one register layout.
#pragma once

#include <unordered_map>
#include <vector>

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// A partition of a function's register tiles: two tiles are in one class when an elementwise
/// operation, a dot's accumulator, a loop or an if makes them the same thing.
class LayoutClasses {
 public:
  explicit LayoutClasses(const ir::Function& fn);

  /// The class of a tile, a number from 0; -1 for values that are no register tiles.
  int of(const ir::Value* value) const;
  int count() const { return static_cast<int>(members_.size()); }
  const std::vector<const ir::Value*>& members(int cls) const { return members_[cls]; }

 private:
  int find(int i);
  void unite(const ir::Value* a, const ir::Value* b);
  void unite_op(const ir::Op& op);
  void unite_access(const ir::Op& op);
  int add(const ir::Value* value);

  std::unordered_map<const ir::Value*, int> index_;
  std::vector<const ir::Value*> values_;
  std::vector<int> parent_;
  std::vector<int> class_;
  std::vector<std::vector<const ir::Value*>> members_;
};

}  // namespace tilewright::codegen
