// Runs kernel IR on the CPU, all threads of a block in step, and checks what a GPU would not say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/runtime/interpreter.h"

namespace tilewright::testing {

/// One thread's access to memory of the block or the device.
struct MemoryAccess {
  const codegen::Expr* site;  ///< equal for the lanes of one access (of one iteration)
  std::string memory;         ///< the tensor or shared buffer
  bool shared = false, write = false, asynchronous = false;
  int thread = 0;
  int64_t address = 0;  ///< bytes from the start of the tensor, or of the block's shared memory
  int bytes = 0;
};

struct EmulateOptions {
  std::function<void(const MemoryAccess&)> on_access;
  /// Called after a statement was executed by every thread, when it accessed memory.
  std::function<void()> on_statement_end;
  int64_t first_block = 0;
  int64_t blocks = -1;  ///< -1: to the end of the grid
};

struct Emulation {
  std::vector<std::string> errors;  ///< the first few
  int64_t barriers = 0;             ///< executed, all blocks together
};

/// Executes `kernel` on tensors and scalars, one argument for each of its params. Reported as
/// errors:
/// - two threads that touch one element of shared memory or of a tensor with no barrier in between,
///   at least one of them writing (asynchronous copies touch from issue to wait);
/// - a barrier or shuffle that not all threads reach, an access out of bounds or not aligned;
/// - a value that was never assigned reaching memory, a branch, a loop or an index;
/// - int arithmetic that overflows, an ordering edge that synchronize left.
Emulation emulate(const codegen::Kernel& kernel, const std::vector<HostArgument>& args,
                  const EmulateOptions& options = {});

}  // namespace tilewright::testing
