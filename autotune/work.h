// How often each operation of a kernel runs and on how many elements, for given tile sizes: the
// loops of tile IR are walked with numbers in place of their slices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// What one operation does in one launch.
struct OpWork {
  const ir::Op* op = nullptr;
  double runs = 0;      ///< times it runs
  double elements = 0;  ///< real ones, over all runs: of its result, its access or 2 m n k / 2
  /// Of a read or write: elements counted once where a sequential loop that the indices do not
  /// depend on comes back to them.
  double distinct = 0;
  int param = -1;  ///< of a read or write: the tensor's parameter
  bool read = false, written = false;
  std::vector<bool> grid_axes;  ///< of a read or write: which of the grid's axes its indices know
};

/// A kernel's work.
struct Work {
  std::vector<int64_t> grid;  ///< tiles along each axis of the grid, as written
  double programs = 1;        ///< their product
  /// Of every axis, positions in its largest and in its smallest tile.
  std::vector<int64_t> largest, smallest;
  double steps = 0;  ///< iterations of innermost sequential loops, of all programs
  /// Reads and writes of tensors, dots, reductions and elementwise operations, in program order.
  std::vector<OpWork> ops;
  std::vector<std::string> notes;  ///< what was assumed
};

/// Counts for one function. Borrows it. Not thread-safe.
class WorkCounter {
 public:
  explicit WorkCounter(const ir::Function& fn);
  ~WorkCounter();
  WorkCounter(WorkCounter&&) noexcept;
  WorkCounter& operator=(WorkCounter&&) noexcept;

  /// `blocks`: a tile size for every axis (codegen::bind_axes).
  Work count(const std::vector<int64_t>& blocks) const;

  /// The function as it is counted: operations without effect removed, equal ones merged.
  const ir::Function& function() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::tune
