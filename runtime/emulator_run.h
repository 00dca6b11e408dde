// What the blocks of one emulated kernel have in common.
#pragma once

#include <atomic>
#include <cstdint>

#include "tilewright/runtime/emulator_findings.h"
#include "tilewright/runtime/emulator_memory.h"
#include "tilewright/runtime/emulator_module.h"

namespace tilewright::runtime {

/// One launch of one kernel.
struct EmulatorRun {
  const EmulatorModule& module;
  EmulatorMemory& memory;
  Findings& findings;
  void** params = nullptr;  ///< what tw_entry takes
  int threads = 0;          ///< of a block
  int64_t shared_bytes = 0;
  int64_t grid = 0;
  bool counts = false;
  std::atomic<int64_t> next_block = 0;
  std::atomic<int64_t> barriers = 0;
  std::atomic<bool> stopped = false;  ///< by a mistake after which nothing sensible can run
};

}  // namespace tilewright::runtime
