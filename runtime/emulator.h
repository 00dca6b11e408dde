// Runs printed kernels on the CPU, one emulated thread per CUDA thread, and checks every access.
//
// The text that NVRTC compiles is compiled by the system's C++ compiler behind host versions of the
// device helpers. What is checked, and what the counts mean, is told in docs/emulator.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/plan.h"

namespace tilewright::runtime {

/// What can be wrong with a kernel.
enum class FindingKind : uint8_t {
  shared_race,        ///< two threads, one element of shared memory, no barrier between, one writes
  global_race,        ///< the same in a tensor, or two blocks
  divergent_barrier,  ///< a barrier that part of a block reaches
  deadlock,           ///< threads wait for each other
  out_of_bounds,      ///< an address outside of the tensors' spans and the block's shared memory
  misaligned,         ///< an address that is no multiple of the access's size
  unwritten_shared,   ///< shared memory read that nobody wrote
  unwritten_output,   ///< a result read that nobody wrote
  copy_in_flight,     ///< what an asynchronous copy writes, read or overwritten before its wait
  copy_pending,       ///< asynchronous work that nobody waited for when its thread ended
  operand_in_flight,  ///< what a product or a bulk store reads, overwritten before their wait
  product_in_flight,  ///< sums of a product, touched before its wait
  fence_missing,      ///< shared memory written by threads, used by asynchronous units, no fence
  warp_diverged,      ///< an operation of a whole warp that its lanes do not reach together
  barrier_misuse,     ///< an mbarrier not initialized, with too many arrivals, ..
  byte_count,         ///< an mbarrier that expects other bytes than come
  bad_operand,        ///< a bulk copy or a product that the hardware does not have
  bad_registers,      ///< a change of a warpgroup's registers that cannot be had
  block_ended,        ///< use of the shared memory of a block that has ended
  endless_loop,       ///< a while loop that goes on beyond the limit of iterations
};

std::string_view to_string(FindingKind kind);

/// One mistake, however often it happened.
struct Finding {
  FindingKind kind;
  std::string text;        ///< a sentence, then one line for each access: who, where, statement
  std::vector<int> lines;  ///< of the printed source, one for each access; 0: not known
  int64_t count = 0;       ///< how often
};

/// What the accesses of one line of the printed source cost, all blocks together.
struct StatementCounts {
  int line = 0;
  std::string text;             ///< the line
  int64_t shared_requests = 0;  ///< accesses of shared memory by a warp
  int64_t bank_conflicts = 0;   ///< times a warp had to go again beyond the fewest possible
  int64_t global_requests = 0;  ///< accesses of tensors by a warp
  int64_t global_bytes = 0;     ///< that its lanes asked for
  int64_t global_sectors = 0;   ///< of 32 bytes, that its lanes touched
};

/// What a run showed.
struct Emulation {
  std::vector<Finding> findings;            ///< the first kinds of mistake
  std::vector<StatementCounts> statements;  ///< by line, when asked for
  int64_t barriers = 0;                     ///< that blocks passed

  bool has(FindingKind kind) const;
  /// The findings as text to read; empty when there are none.
  std::string report() const;
};

/// The argument of one of a function's parameters.
struct EmulatorArgument {
  void* data = nullptr;  ///< a tensor's first element; null for scalars and empty tensors
  int64_t elements = 0;  ///< that a tensor spans, gaps between rows included
  DType dtype = DType::f32;
  bool tensor = true;
  bool defined = true;  ///< whether a tensor holds values already, as a kernel's results do not
  uint64_t bits = 0;    ///< a scalar's memory
};

struct EmulateOptions {
  int threads = 0;  ///< that blocks are spread over; 0: as the machine has
  /// That the device is said to have: a cooperative launch has as many blocks as fit these.
  int multiprocessors = 2;
  bool counts = false;  ///< fill Emulation::statements
  /// Flags for the C++ compiler, behind our own ones. A sanitizer among them replaces our checks of
  /// memory.
  std::vector<std::string> flags = {};
};

/// Whether this build can emulate (it needs Boost.Context).
bool emulator_available();

/// Runs all steps of a plan on host memory, one argument for each of the function's parameters. A
/// block's mistakes do not stop the others, except accesses out of bounds and deadlocks. Raises
/// emulator_missing, emulator_compiler, emulator_compile, grid_too_large.
Emulation emulate(const codegen::Plan& plan, std::span<const EmulatorArgument> arguments,
                  const EmulateOptions& options = {});

}  // namespace tilewright::runtime
