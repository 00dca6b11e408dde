// Dimensions of a known size that run through the tiles of a kernel: what tw::all takes whole.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Groups the dimensions of all tiles and slices of a function: two are in one class when an
/// operation makes them one and the same, as x and x + 1, or a row and the slice that loads it.
class DimClasses {
 public:
  explicit DimClasses(const ir::Function& fn);

  struct Class {
    int64_t extent = 0;  ///< 0 for the block of a loop's axis
    Loc loc;             ///< of the first operation that has it
    /// Why it must be whole; empty when nothing speaks against a part at a time, as far as single
    /// operations go.
    std::string obstacle;
  };

  size_t count() const { return classes_.size(); }
  const Class& at(size_t cls) const { return classes_.at(cls); }
  /// The class of a dimension of a tile or slice; -1 for those of other values.
  int of(const ir::Value* value, size_t dim) const;
  /// Whether some dimension of `value` is of the class.
  bool has(const ir::Value* value, int cls) const;

 private:
  int node(const ir::Value* value, size_t dim) const;
  int find(int node) const;
  void add(const ir::Value* value);
  void unite(const ir::Value* x, size_t i, const ir::Value* y, size_t j);
  void unite_all(const ir::Value* x, const ir::Value* y);
  void unite_op(const ir::Op& op);
  void unite_elementwise(const ir::Op& op);
  void unite_access(const ir::Op& op);
  void unite_reduced(const ir::Value* from, const std::vector<int64_t>& axes, const ir::Value* to);
  void unite_combined(const ir::Op& op);
  void unite_carried(const ir::Op& op);
  void refuse(const ir::Value* value, const std::string& why);
  void number_classes(const std::vector<std::pair<const ir::Value*, Loc>>& values);

  std::unordered_map<const ir::Value*, int> base_;
  mutable std::vector<int> parent_;
  std::vector<std::string> refused_;  ///< by node
  std::vector<int> class_of_;         ///< by node
  std::vector<Class> classes_;
};

/// A dimension that is longer than a chunk.
struct WideAxis {
  int64_t extent = 0;
  Loc loc;
  std::string obstacle;  ///< why it cannot be walked in chunks; empty when it can
};

/// The dimensions of a traced kernel that are longer than `chunk`. `written`: parameters that count
/// as written, whether or not the kernel stores to them (see written_params).
std::vector<WideAxis> wide_axes(const ir::Function& fn, int64_t chunk,
                                const std::vector<bool>& written);

}  // namespace tilewright::codegen
