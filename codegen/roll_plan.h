// What has to happen, in which order, when a dimension is walked in chunks.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tilewright/codegen/wide_axes.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// One region's loops over chunks. A sink is where a wide tile ends: a reduction along the
/// dimension, or a store. Sinks of level 0 need nothing but memory; those of level n need results
/// of reductions of level n - 1. Each level is one loop, which computes what its sinks need from
/// the start.
struct RegionPlan {
  const ir::Region* region = nullptr;
  int levels = 0;
  /// By level: sinks and the wide operations behind them, in program order.
  std::vector<std::vector<const ir::Op*>> loops;
  /// Levels of the region's other operations: they follow the loops of all levels below.
  std::unordered_map<const ir::Op*, int> level_of;
};

/// Plans walking the dimensions of one class in chunks, or says why that would change what the
/// kernel computes.
class RollPlan {
 public:
  RollPlan(const ir::Function& fn, const DimClasses& classes, int cls,
           const std::vector<bool>& written);

  const std::string& obstacle() const { return obstacle_; }
  /// Regions with sinks.
  const std::map<const ir::Region*, RegionPlan>& regions() const { return regions_; }
  bool is_wide(const ir::Value* value) const { return classes_.has(value, cls_); }
  /// Whether the operation ends wide tiles: a reduction along the dimension, or a write.
  bool is_sink(const ir::Op& op) const { return is_reduction(op) || is_write(op); }
  bool is_reduction(const ir::Op& op) const;

 private:
  /// A read or write of memory and the steps in which it would happen: 2 n for operations between
  /// loops, 2 n + 1 for the loop of level n.
  struct Access {
    const ir::Op* op = nullptr;
    int order = 0;
    std::vector<int> steps;
  };

  bool makes_wide(const ir::Op& op) const;
  bool is_write(const ir::Op& op) const;
  void plan_region(const ir::Region& region);
  int level(const ir::Op& op, const RegionPlan& plan);
  int level_of_operands(const ir::Op& op, const RegionPlan& plan);
  int level_of_value(const ir::Value* value, const RegionPlan& plan);
  void collect(const ir::Value* value, std::unordered_set<const ir::Op*>& into) const;
  void check_order(const RegionPlan& plan);
  bool conflict(const ir::Op& x, const ir::Op& y) const;
  bool may_be_one(const ir::Value* x, const ir::Value* y) const;
  bool at_same_place(const ir::Op& x, const ir::Op& y) const;
  void refuse(std::string why) {
    if (obstacle_.empty()) obstacle_ = std::move(why);
  }

  const ir::Function& fn_;
  const DimClasses& classes_;
  const int cls_;
  const std::vector<bool>& written_;
  std::vector<bool> stored_;  ///< parameters that the kernel itself stores to
  std::unordered_map<const ir::Op*, int> order_;
  std::unordered_map<const ir::Op*, int> levels_;  ///< of the region being planned
  std::map<const ir::Region*, RegionPlan> regions_;
  std::string obstacle_;
};

}  // namespace tilewright::codegen
