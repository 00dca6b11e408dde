// Runs tile IR on the CPU: the meaning of every operation, and the device where there is no GPU.
//
// Takes the IR as traced (free block sizes come from the options) and as any pass leaves it, with
// guards, slices made by operations, rings and roles. What the passes promise is checked: an access
// without a guard that leaves its bounds, or a ring used against its protocol, is an InternalError.
//
// Where the IR leaves a choice, this is what happens here:
// - Positions past the limit of an axis, for reduce and dot, are those past the limit of the slice
//   of that axis in scope: the argument of the innermost enclosing loop over the axis, else the
//   last slice operation over it. Where no such slice is in scope every position counts.
// - A reduction of f32 or a narrower float is made in f32 in some order, and rounded
//   to the dtype at the end. A dot is acc = fma(a, b, acc) in increasing k.
// - slice_id of a slice made by an operation counts tiles from position 0.
// - Iterations that a loop's fill region has no tile left for still commit (empty) groups, so that
// a
//   ring_wait means the same in every iteration.
// - The regions of roles run one after the other.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tilewright/ir/node.h"

namespace tilewright {

/// A tensor in host memory; `data` is borrowed and addresses the element at position 0 of every
/// dimension. Strides count elements and may be any non-negative ones for tensors only read.
struct HostTensor {
  void* data = nullptr;
  TensorSpec spec;
};

/// The argument of one parameter: a tensor, or a scalar's value (integers and bool as int64_t).
using HostArgument = std::variant<HostTensor, int64_t, double>;

/// How many iterations of while loops a program may run in the interpreter and the emulator, before
/// it is taken for endless: TILEWRIGHT_MAX_STEPS, else a million.
int64_t max_loop_steps();

/// One argument for each of Function::params, in their order; the tensors that the kernel allocates
/// are passed like the others.
using InterpreterArgs = std::vector<HostArgument>;

struct InterpreterOptions {
  /// Block sizes of the axes that have none yet (Axis::block is 0), in the order of the axes.
  /// Empty: sizes that suit this interpreter.
  std::vector<int64_t> block = {};
  int threads = 0;            ///< that programs of a grid are spread over; 0: as the machine has
  bool check_overlap = true;  ///< refuse stores of two programs of one grid to one element
  /// Iterations of while loops that a program may run, all its loops together.
  int64_t max_steps = max_loop_steps();
};

/// The block size of every axis of `fn`: its own, or chosen by the options for these arguments.
/// Raises interpreter_blocks when the options' sizes are not one positive number per free axis.
std::vector<int64_t> choose_blocks(const ir::Function& fn, const InterpreterArgs& args,
                                   const InterpreterOptions& options);

/// Executes `fn`, writing to the tensors in `args`. Raises overlapping_store and endless_loop.
/// Arguments that do not fit the parameters, and IR that breaks a promise, are InternalErrors.
void interpret(const ir::Function& fn, const InterpreterArgs& args,
               const InterpreterOptions& options = {});

}  // namespace tilewright
