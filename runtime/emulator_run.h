// What the blocks of one emulated kernel have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/runtime/emulator_findings.h"
#include "tilewright/runtime/emulator_memory.h"
#include "tilewright/runtime/emulator_module.h"
#include "tilewright/runtime/emulator_order.h"

namespace tilewright::runtime {

/// A tensor map as emulated kernels get it: the memory of CUDA's, holding our own description.
struct alignas(64) EmulatedTensorMap {
  static constexpr uint64_t kMark = 0x70616d20726f736e;
  uint64_t mark = kMark;
  const codegen::TensorMapSpec* spec = nullptr;
  std::byte* base = nullptr;  ///< the tensor's first element
  uint64_t unused[13] = {};
};
static_assert(sizeof(EmulatedTensorMap) == 128);

/// A tw::device_assert that did not hold.
struct FailedAssertion {
  std::string message;
  Loc loc;
};

/// One launch of one kernel.
struct EmulatorRun {
  const EmulatorModule& module;
  EmulatorMemory& memory;
  Findings& findings;
  void** params = nullptr;  ///< what tw_entry takes
  int threads = 0;          ///< of a block
  int cluster = 1;          ///< blocks of a cluster
  int blocks_per_sm = 1;    ///< for which the kernel leaves registers
  int64_t shared_bytes = 0;
  int64_t grid = 0;       ///< blocks
  int64_t max_steps = 0;  ///< iterations of while loops that a thread may run
  bool counts = false;
  bool checked = true;  ///< the code is compiled with our checks of memory
  std::atomic<int64_t> next_cluster = 0;
  std::atomic<int64_t> barriers = 0;
  std::atomic<bool> stopped = false;  ///< by a mistake after which nothing sensible can run
  GridOrder order = {};
  std::mutex assertion_mutex = {};
  std::optional<FailedAssertion> assertion = {};  ///< the first that failed
};

}  // namespace tilewright::runtime
