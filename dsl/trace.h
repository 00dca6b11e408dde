// The trace in progress: where the operations of a kernel's body are recorded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/dsl/loops.h"
#include "tilewright/dsl/recording.h"
#include "tilewright/dsl/size.h"
#include "tilewright/dsl/tile.h"
#include "tilewright/dsl/tunable.h"
#include "tilewright/ir/builder.h"

namespace tilewright::dsl {

/// Records one run of a kernel's body. The newest of a thread is that thread's current one, until
/// it is destroyed.
class Trace {
 public:
  /// Loop bodies run `body_runs` times; the last run counts. `tunables`: the config's.
  Trace(std::string name, Loc loc, int body_runs, TunableValues tunables = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Errors: outside_trace, saying that `what` was used.
  static Trace& current(std::string_view what, Loc loc);
  static Trace* active();

  uint32_t number() const { return number_; }
  int body_runs() const { return body_runs_; }
  const std::string& name() const { return recording_.fn.name; }
  ir::Function& function() { return recording_.fn; }
  /// For an operation at `loc`. Errors: loop_left_early.
  ir::Builder& at(Loc loc);
  /// The same inside a loop. Errors: outside_loop, naming `what`.
  ir::Builder& in_loop(std::string_view what, Loc loc);
  bool in_loop() const { return frames_.size() > 1; }
  /// The last known position of the user's code, for statements that cannot tell theirs.
  Loc last_loc() const { return last_loc_; }

  // Variables. All raise value_escapes for a variable of a body that is over.
  Slot declare(Loc loc);
  const ir::Value* read(Slot slot, Loc loc);               ///< Errors: used_before_assignment
  void write(Slot slot, const ir::Value* value, Loc loc);  ///< Errors: variable_changes
  const ir::Type& type_of(Slot slot, Loc loc) const;       ///< Errors: used_before_assignment

  /// The value that the config gives a tunable, else the first of `values`. Errors:
  /// tunable_values, config_tunable_value.
  int64_t tunable(const std::string& name, std::vector<int64_t> values, Loc loc);

  // Parameters.
  void add_argument_tensor(TensorSpec spec, std::string name);
  void add_argument_scalar(DType dtype, std::string name);
  void skip_argument();
  Tensor argument_tensor(size_t index) const;
  Slot argument_scalar(size_t index) const;
  /// A tensor that the kernel makes, each element `fill` at first if given; `size_param` as of
  /// ir::Param. Errors: empty_in_loop.
  Tensor add_result(TensorSpec spec, Loc loc, std::optional<ir::Attr> fill = std::nullopt,
                    int size_param = -1);
  const ir::Param& param(const Tensor& tensor, Loc loc) const;  ///< Errors: foreign_value

  // Dynamic sizes: computations that the kernel and the host can do, by number. All raise
  // foreign_value for those of another trace.
  Size dynamic_size(const Tensor& tensor);  ///< of its first dimension
  int compute(ir::Fn fn, Size x, Size y);
  std::string text_of(int number, uint32_t trace) const;
  /// The size as an i64 scalar of the kernel, known or not.
  const ir::Value* value_of(Size size, Loc loc);
  /// The scalar parameter that has a dynamic size as its value, and the most that can be. Errors:
  /// dynamic_size for those that are computed.
  std::pair<int, int64_t> plain_size(Size size, Loc loc) const;
  void add_check(SizeTest condition, std::string message, Loc loc);

  // Loops and branches.
  /// Opens the grid or a nest of sequential loops: one slice per dimension, in the innermost body.
  std::vector<const ir::Value*> open_loops(const std::vector<LoopDim>& dims, Loc loc);
  int regions_of(const std::vector<LoopDim>& dims) const;
  /// The lengths of the rows along the axis of a tw::jagged_tile; null for other axes.
  const ir::Value* lengths_of(int axis) const {
    return axis < static_cast<int>(lengths_.size()) ? lengths_[static_cast<size_t>(axis)] : nullptr;
  }
  void open_region(ir::Region* region, Loc loc);
  /// Errors: barrier_misplaced.
  void barrier(Loc loc);
  /// A moment of the trace, in the innermost body.
  struct Mark {
    size_t variables, operations, events;
  };
  Mark mark() const;
  /// Errors: condition_assigns when a variable declared before `mark` was assigned since.
  void expect_unassigned(const Mark& mark, Loc loc) const;
  void close_regions(int count);
  /// Forgets what was recorded in the innermost body, to run it once more.
  void restart_body();
  void note_left_early(Loc loop) { left_early_ = loop; }
  uint64_t frame() const { return frames_.back().id; }
  /// Errors: combine_writes when the innermost body assigns a variable that is not its own.
  void expect_own_writes(std::string_view what, Loc loc) const;
  /// Errors: value_escapes unless the body `frame` is open.
  void expect_open(uint64_t frame, std::string_view what, Loc loc) const;

  /// Ends the trace. Errors: no_grid, unwritten_result, foreign_value, loop_left_early, those of
  /// promotion and of check_grids.
  ir::Function finish(const std::vector<Tensor>& results);

 private:
  struct Frame {
    uint64_t id;
    ir::Region* region;
    std::unique_ptr<ir::Builder::Scope> scope;
    size_t axes;  ///< of the function, when it was opened
  };
  struct Argument {
    int param = -1;
    Slot slot;
  };

  void check_left_early();
  const ir::SizeProgram& program(int number, uint32_t trace, Loc loc) const;
  const Variable& variable(Slot slot, Loc loc) const;
  void record(bool write, Slot slot, const ir::Value* value, Loc loc);
  void expect_axes_open(const ir::Type& type, Slot slot, Loc loc) const;
  int add_param(ir::Type type, ir::Param param);
  void check_results_written() const;
  void check_workspace_sizes() const;
  void order_workspace_last();
  const Event* assignment_since(const ir::Region& region, const Mark& mark) const;

  Recording recording_;
  ir::Builder builder_;
  uint32_t number_;
  int body_runs_;
  Trace* outer_;  ///< the trace this one interrupts
  std::vector<Frame> frames_;
  std::vector<Loc> frame_locs_;            ///< of every body so far, by id
  std::vector<uint64_t> axis_frames_;      ///< the body of each axis's loop
  std::vector<const ir::Value*> lengths_;  ///< by axis: of jagged ones
  std::vector<Argument> arguments_;
  std::vector<Loc> result_locs_;  ///< of the allocated parameters
  bool has_grid_ = false;
  std::vector<ir::SizeProgram> sizes_;  ///< computations of dynamic sizes
  TunableValues tunables_;              ///< as the config has them
  Loc left_early_;
  Loc last_loc_;
};

/// A new variable holding `value`.
Tile tile_of(const ir::Value* value, Loc loc);
/// "f32[B0,B1]" with the user's names for blocks: "f32[rows,cols]".
std::string describe(const ir::Type& type);
std::string describe(const ir::Shape& shape);

}  // namespace tilewright::dsl
