// Runs blocks, one after the other, on fibers of one thread of the emulator.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/runtime/emulator_counts.h"
#include "tilewright/runtime/emulator_run.h"
#include "tilewright/runtime/emulator_shadow.h"
#include "tilewright/runtime/fiber.h"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::runtime {

/// Fills the table of hooks of a loaded kernel.
void fill_hooks(const SharedLibrary& library);

/// The threads of a block. Everything that emulated code calls acts on the one that runs on the
/// calling thread of the machine.
class EmulatedBlock {
 public:
  /// `slot`: which shared memory of EmulatorMemory. Raises host_out_of_memory.
  EmulatedBlock(EmulatorRun& run, int slot);
  ~EmulatedBlock();
  EmulatedBlock(const EmulatedBlock&) = delete;
  EmulatedBlock& operator=(const EmulatedBlock&) = delete;

  /// Runs blocks until the grid has none left or the run is stopped.
  void run_blocks();
  const AccessCounts& counts() const { return counts_; }

  // What hooks do, for the emulated thread that runs.
  static EmulatedBlock& current();
  void on_access(uintptr_t address, int64_t bytes, int kind, const void* pc);
  void on_barrier(int line, const void* pc);
  unsigned on_shuffle(unsigned word, int lane, bool exclusive_or, const void* pc);
  void on_copy(void* to, const void* from, int bytes, int read, const void* pc);
  void on_commit();
  void on_wait(int pending, const void* pc);
  std::byte* shared() const { return shared_; }
  unsigned thread() const { return static_cast<unsigned>(running_); }
  unsigned block() const { return static_cast<unsigned>(block_); }

 private:
  enum class State : uint8_t { ready, at_barrier, at_shuffle, ended };

  struct Copy {
    std::byte* to = nullptr;
    int bytes = 0, group = 0;
    uint32_t code = 0;
    unsigned char data[16] = {};
  };

  struct Thread : FiberStart {
    EmulatedBlock* block = nullptr;
    FiberContext context = nullptr;
    State state = State::ready;
    int line = 0;              // of the barrier
    uint32_t code = 0;         // of what it waits at
    int groups = 0;            // committed so far
    int arrived = 0;           // groups that have arrived
    std::vector<Copy> copies;  // in flight, oldest first
  };

  struct Warp {
    unsigned words[2][32] = {};
    int shuffles = 0;  // finished
    int waiting = 0;   // lanes at the next one
  };

  static void run_thread(FiberStart& self, FiberContext from);
  uint32_t code_of(const void* pc) const;
  void run_block(int64_t block);
  bool resume_ready();
  bool pass_barrier();
  void report_stuck();
  void suspend();
  [[noreturn]] void abandon();
  void check_ended(const Thread& thread);
  void flush_counts();
  void log(uintptr_t address, int64_t bytes, uint32_t code);

  EmulatorRun& run_;
  std::byte* shared_;
  BlockShadow shadow_;
  std::byte* stacks_ = nullptr;
  size_t stacks_bytes_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  FiberContext scheduler_ = nullptr;
  int running_ = 0;
  int64_t block_ = 0;
  bool abandoned_ = false;
  AccessCounts counts_;
  std::vector<std::vector<LaneAccess>> lanes_;
};

}  // namespace tilewright::runtime
